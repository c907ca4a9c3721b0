import assert from "node:assert/strict";
import { test } from "node:test";
import { violationsOf } from "./layers.ts";

const cases = [
  { name: "to the left", from: "src/kube/client.ts", imports: "../api/objects.ts", isAllowed: true },
  { name: "to the right", from: "src/api/objects.ts", imports: "../kube/client.ts", isAllowed: false },
  { name: "in the same layer", from: "src/kube/client.ts", imports: "./errors.ts", isAllowed: true },
  {
    name: "runtime is beside replication",
    from: "src/runtime/queue.ts",
    imports: "../replication/plan.ts",
    isAllowed: false,
  },
  {
    name: "pull secrets from a feature",
    from: "src/features/a/x.ts",
    imports: "../../pullsecrets/asker.ts",
    isAllowed: true,
  },
  {
    name: "a feature from pull secrets",
    from: "src/pullsecrets/x.ts",
    imports: "../features/a/x.ts",
    isAllowed: false,
  },
  {
    name: "pull secrets are above replication",
    from: "src/replication/x.ts",
    imports: "../pullsecrets/names.ts",
    isAllowed: false,
  },
  { name: "what features share", from: "src/features/a/x.ts", imports: "../feature.ts", isAllowed: true },
  { name: "another feature", from: "src/features/a/x.ts", imports: "../b/x.ts", isAllowed: false },
  { name: "a feature from what they share", from: "src/features/feature.ts", imports: "./a/x.ts", isAllowed: false },
  { name: "another surface", from: "src/surfaces/cli/x.ts", imports: "../webhooks/x.ts", isAllowed: false },
  {
    name: "a feature from a surface",
    from: "src/surfaces/cli/x.ts",
    imports: "../../features/a/x.ts",
    isAllowed: true,
  },
  { name: "options from a feature", from: "src/features/feature.ts", imports: "../options.ts", isAllowed: true },
  { name: "options from kube", from: "src/kube/client.ts", imports: "../options.ts", isAllowed: false },
  { name: "everything from main", from: "src/main.ts", imports: "./surfaces/cli/x.ts", isAllowed: true },
  { name: "main from a surface", from: "src/surfaces/cli/x.ts", imports: "../../operator.ts", isAllowed: false },
  { name: "testing from the program", from: "src/kube/client.ts", imports: "../testing/wait.ts", isAllowed: false },
  { name: "testing from a test", from: "src/kube/client.test.ts", imports: "../testing/wait.ts", isAllowed: true },
  { name: "tools from the program", from: "src/kube/client.ts", imports: "../../tools/test.ts", isAllowed: false },
  { name: "a folder nobody knows", from: "src/misc/x.ts", imports: "../api/objects.ts", isAllowed: false },
] as const;

for (const { name, from, imports, isAllowed } of cases) {
  test(`layers: ${name}: ${isAllowed ? "allowed" : "refused"}`, () => {
    for (const text of [`import { x } from "${imports}";`, `const x = await import("${imports}");`]) {
      assert.equal(violationsOf([{ path: from, text }]).length, isAllowed ? 0 : 1);
    }
  });
}
