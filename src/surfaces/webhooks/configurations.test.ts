import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { type TestContext, test } from "node:test";
import { managedByLabel, managedByValue } from "../../api/marks.ts";
import { secretSyncHook } from "../../features/secretsync/admission.ts";
import { secretSync } from "../../features/secretsync/entry.ts";
import type { Kube } from "../../kube/client.ts";
import { type Hook, webhookConfigurationOf } from "../../runtime/admission.ts";
import { adminKube } from "../../testing/cluster.ts";
import { listConfigurations, removeConfigurations, removeStale } from "./configurations.ts";
import { webhookConfigurations } from "./registration-plan.ts";

const kinds = ["validating", "mutating"] as const;
const ours = { [managedByLabel]: managedByValue };
const newName = () => webhookConfigurationOf(`test-${randomBytes(5).toString("hex")}`);

async function create(t: TestContext, kube: Kube, kind: Hook["kind"], name: string, labels = {}): Promise<void> {
  t.after(() => kube.delete(webhookConfigurations[kind], { name }));
  await kube.create(webhookConfigurations[kind], { metadata: { name, labels } });
}

const isThere = async (kube: Kube, kind: Hook["kind"], name: string) =>
  (await kube.getMetadata(webhookConfigurations[kind], { name })) !== undefined;

for (const kind of kinds) {
  test(`of the ${kind} ones only what has both our name and our label is removed`, async (t) => {
    const kube = await adminKube();
    const [stale, unlabelled, another] = [newName(), newName(), newName()];
    await create(t, kube, kind, stale, ours);
    await create(t, kube, kind, unlabelled);
    await create(t, kube, kind, another, ours);
    const removed = await removeConfigurations(kube, [stale, unlabelled], {});
    assert.deepEqual(removed, [`${webhookConfigurations[kind].kind} ${stale}`]);
    assert.equal(await isThere(kube, kind, stale), false);
    assert.ok(await isThere(kube, kind, unlabelled));
    assert.ok(await isThere(kube, kind, another));
  });
}

test("one name may be stale in one kind and wanted in the other", async (t) => {
  const kube = await adminKube();
  const name = newName();
  for (const kind of kinds) await create(t, kube, kind, name, ours);
  await removeStale(kube, (kind) => (kind === "mutating" ? [name] : []), {});
  assert.deepEqual([await isThere(kube, "validating", name), await isThere(kube, "mutating", name)], [true, false]);
});

test("both kinds are listed", async (t) => {
  const kube = await adminKube();
  const name = newName();
  for (const kind of kinds) await create(t, kube, kind, name, ours);
  const listed = (await listConfigurations(kube, {})).filter((each) => each.name === name);
  assert.deepEqual(
    listed,
    kinds.map((kind) => ({ name, kind, leadsTo: "nowhere" })),
  );
});

test("a feature's hook is registered under the name that is swept", async () => {
  assert.equal(secretSyncHook(await adminKube()).configuration, webhookConfigurationOf(secretSync.name));
});
