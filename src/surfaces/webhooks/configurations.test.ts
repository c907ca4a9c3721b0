import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { type TestContext, test } from "node:test";
import { managedByLabel, managedByValue } from "../../api/marks.ts";
import { secretSyncHook } from "../../features/secretsync/admission.ts";
import { secretSync } from "../../features/secretsync/entry.ts";
import type { Kube } from "../../kube/client.ts";
import { webhookConfigurationOf } from "../../runtime/admission.ts";
import { adminKube } from "../../testing/cluster.ts";
import { removeConfigurations } from "./configurations.ts";
import { validatingWebhookConfigurations as kind } from "./registration-plan.ts";

async function createConfiguration(t: TestContext, kube: Kube, labels: Readonly<Record<string, string>>) {
  const name = webhookConfigurationOf(`test-${randomBytes(5).toString("hex")}`);
  t.after(() => kube.delete(kind, { name }));
  await kube.create(kind, { metadata: { name, labels } });
  return name;
}

test("only what has both our name and our label is removed", async (t) => {
  const kube = await adminKube();
  const ours = { [managedByLabel]: managedByValue };
  const stale = await createConfiguration(t, kube, ours);
  const unlabelled = await createConfiguration(t, kube, {});
  const another = await createConfiguration(t, kube, ours);
  assert.deepEqual(await removeConfigurations(kube, [stale, unlabelled], {}), [stale]);
  assert.equal(await kube.getMetadata(kind, { name: stale }), undefined);
  assert.ok(await kube.getMetadata(kind, { name: unlabelled }));
  assert.ok(await kube.getMetadata(kind, { name: another }));
});

test("a feature's hook is registered under the name that is swept", async () => {
  assert.equal(secretSyncHook(await adminKube()).configuration, webhookConfigurationOf(secretSync.name));
});
