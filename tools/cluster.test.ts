import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { parseCommand } from "./cluster.ts";
import { runningCluster } from "./local/clusters.ts";

const run = promisify(execFile);
const defaults = { name: "latchkey", nodes: 0, emulatedVersion: undefined };

const cases = [
  { args: ["up"], command: { verb: "up", ...defaults } },
  { args: ["down", "--name", "b"], command: { verb: "down", ...defaults, name: "b" } },
  {
    args: ["up", "--nodes=3", "--emulated-version", "1.33"],
    command: { verb: "up", ...defaults, nodes: 3, emulatedVersion: "1.33" },
  },
  { args: ["--help"], command: { verb: "help", ...defaults } },
];
for (const { args, command } of cases) {
  test(`parseCommand: ${args.join(" ")}`, () => assert.deepEqual(parseCommand(args), command));
}

for (const args of [[], ["sideways"], ["up", "up"], ["up", "--nodes=many"], ["up", "--name=../x"], ["up", "--color"]]) {
  test(`parseCommand refuses "${args.join(" ")}"`, () => assert.equal(typeof parseCommand(args), "string"));
}

test("a cluster is up until it is taken down, and up tells only its kubeconfig", async (t) => {
  const state = mkdtempSync(join(tmpdir(), "latchkey-clusters-"));
  const env = { ...process.env, XDG_STATE_HOME: state };
  const cluster = (...args: string[]) =>
    run(process.execPath, [join(import.meta.dirname, "cluster.ts"), ...args], { env });
  t.after(async () => {
    await cluster("down", "--name", "one");
    rmSync(state, { recursive: true, force: true });
  });

  const [{ stdout: path }, { stdout: samePath }] = await Promise.all([
    cluster("up", "--name", "one"),
    cluster("up", "--name", "one"),
  ]);
  assert.match(path, /^\/[^\n]+\n$/);
  assert.equal(samePath, path, "a second start finds the first");
  assert.equal((await cluster("list")).stdout, `one\t${path}`);
  await run(process.env.LATCHKEY_TEST_KUBECTL ?? "kubectl", ["--kubeconfig", path.trim(), "get", "namespaces"]);

  await cluster("down", "--name", "one");
  assert.equal((await cluster("list")).stdout, "");
  assert.equal(runningCluster("one", env), undefined);
});
