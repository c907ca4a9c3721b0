import assert from "node:assert/strict";
import { test } from "node:test";
import { namespaces } from "../api/objects.ts";
import { parseSettings } from "../settings.ts";
import { adminKube } from "../testing/cluster.ts";
import { installationId, openInstallation } from "./installation.ts";

test("the installation is named by the Namespace kube-system, or by its option", async () => {
  const kube = await adminKube();
  const named = async (env: Record<string, string>) =>
    openInstallation(kube, await parseSettings([installationId], { flags: {}, env }), {});
  const home = await kube.getMetadata(namespaces, { name: "kube-system" });
  assert.deepEqual(await named({}), { uid: home?.metadata.uid, title: "Installation", isInstallation: true });
  assert.equal((await named({ LATCHKEY_INSTALLATION_ID: "before-1" })).uid, "before-1");
});

const values = [
  { given: "before-1.x_y", isGood: true },
  { given: "x".repeat(63), isGood: true },
  { given: "x".repeat(64), isGood: false },
  { given: "", isGood: false },
  { given: "-x", isGood: false },
  { given: "a/b", isGood: false },
];
for (const { given, isGood } of values) {
  test(`--installation-id must be a label's value: ${JSON.stringify(given)}`, () => {
    if (isGood) assert.equal(installationId.parse(given), given);
    else assert.throws(() => installationId.parse(given), /is not the value of a label/);
  });
}
