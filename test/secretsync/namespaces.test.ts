import assert from "node:assert/strict";
import { test } from "node:test";
import { type KubeObject, namespaces as namespaceResource, type Resource } from "../../src/api/objects.ts";
import type { Kube } from "../../src/kube/client.ts";
import { auditPosition, operatorWrites } from "../../src/testing/audit.ts";
import { createNamespace, testNamespaces, uniqueName } from "../../src/testing/cluster.ts";
import { bothStrategies, configMaps, secretSyncs } from "../../src/testing/objects.ts";
import { refuseSecrets } from "../../src/testing/refusals.ts";
import { createSecret, deleteSecret, getSecret, setValues, theSecret } from "../../src/testing/secrets.ts";
import { createdSync, createSync } from "../../src/testing/syncs.ts";
import { until, untilCondition, untilGone, untilSecret, untilSynced } from "../../src/testing/wait.ts";

const quotas: Resource = {
  group: "",
  version: "v1",
  plural: "resourcequotas",
  kind: "ResourceQuota",
  namespaced: true,
};
const hold = "latchkey.test/hold";

/** Deletes a namespace and keeps it terminating until the returned function is called. */
async function terminate(kube: Kube, name: string): Promise<() => Promise<unknown>> {
  const held = { namespace: name, name: "held" };
  await kube.create(configMaps, { metadata: { ...held, finalizers: [hold] } });
  await kube.delete(namespaceResource, { name });
  const isTerminating = (seen?: KubeObject) => seen?.metadata.deletionTimestamp !== undefined;
  await until(kube, namespaceResource, { name }, "is terminating", isTerminating);
  return () => kube.patch(configMaps, held, { type: "merge", body: { metadata: { finalizers: null } } });
}

/** No more Secrets in this namespace. The status is the quota controller's, which does not run here: we write it. */
async function forbidSecrets(kube: Kube, namespace: string): Promise<void> {
  const hard = { "count/secrets": "0" };
  const name = "none";
  await kube.create<KubeObject & { spec: object }>(quotas, { metadata: { namespace, name }, spec: { hard } });
  const body = { status: { hard, used: hard } };
  await kube.patch(quotas, { namespace, name }, { type: "merge", body }, { subresource: "status" });
}

for (const { named, strategy } of bothStrategies) {
  test(`${named}: a missing namespace is served as soon as it exists, the others at once`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 2);
    const [vault, team] = namespaces;
    const later = uniqueName("later");
    await createSecret(kube, `${vault}/db`, { a: "1" });
    const sync = await createSync(t, kube, `${vault}/db`, { to: [`${later}/db`, `${team}/db`], strategy });
    const wanted = {
      status: "False",
      reason: "NamespaceNotFound",
      phase: "Pending",
      message: new RegExp(`${later}/db`),
    } as const;
    const { status } = await untilCondition(kube, sync, "Sync", wanted);
    assert.deepEqual(
      status?.targets?.map(({ state }) => state),
      ["NamespaceNotFound", "Synced"],
    );
    await untilSecret(kube, `${team}/db`, { a: "1" });
    await createNamespace(t, later);
    await untilSecret(kube, `${later}/db`, { a: "1" });
    await untilSynced(kube, sync);
  });
}

test("a namespace that is deleted and comes back is served again", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/db`, { a: "1" });
  const sync = await createdSync(t, kube, `${vault}/db`, { to: [`${team}/db`] });
  await kube.delete(namespaceResource, { name: team });
  await untilCondition(kube, sync, "Sync", { reason: "NamespaceNotFound", phase: "Degraded" });
  await untilGone(kube, namespaceResource, { name: team });
  await createNamespace(t, team);
  await untilSecret(kube, `${team}/db`, { a: "1" });
  await untilSynced(kube, sync);
});

test("a terminating namespace is reported, not hammered, and can terminate; deletion does not wait for it", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 3);
  const [vault, going, team] = namespaces;
  await createSecret(kube, `${vault}/db`, { a: "1" });
  const letGo = await terminate(kube, going);
  const sync = await createSync(t, kube, `${vault}/db`, { to: [`${going}/db`, `${team}/db`] });
  const message = new RegExp(`${going}/db`);
  await untilCondition(kube, sync, "Sync", { status: "False", reason: "NamespaceTerminating", message });
  const from = await auditPosition(kube, vault);
  // Each change of the source is a pass of its own; none of them may turn into a series of attempts.
  const changes = ["2", "3", "4"];
  for (const a of changes) {
    await setValues(kube, `${vault}/db`, { a });
    await untilSecret(kube, `${team}/db`, { a });
  }
  const attempts = (await operatorWrites(kube, vault, { from })).filter(({ namespace }) => namespace === going);
  assert.ok(attempts.length <= changes.length, `${attempts.length} attempts in a terminating namespace`);

  await letGo();
  await untilGone(kube, namespaceResource, { name: going });
  await untilCondition(kube, sync, "Sync", { reason: "NamespaceNotFound" });
  await kube.delete(secretSyncs, sync.metadata);
  await untilGone(kube, secretSyncs, sync.metadata);
});

test("a quota refuses: its words are reported, the others are served, a namespace change is a new attempt", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 3);
  const [vault, full, team] = namespaces;
  await createSecret(kube, `${vault}/db`, { a: "1" });
  await forbidSecrets(kube, full);
  const sync = await createSync(t, kube, `${vault}/db`, { to: [`${full}/db`, `${team}/db`] });
  const message = new RegExp(`${full}/db\\b.*exceeded quota: none`);
  const { status } = await untilCondition(kube, sync, "Sync", {
    reason: "DestinationRefused",
    phase: "Pending",
    message,
  });
  assert.deepEqual(
    status?.targets?.map(({ state }) => state),
    ["Refused", "Synced"],
  );
  await untilSecret(kube, `${team}/db`, { a: "1" });

  await kube.delete(quotas, { namespace: full, name: "none" });
  await untilCreatable(kube, full);
  const body = { metadata: { labels: { quota: "lifted" } } };
  await kube.patch(namespaceResource, { name: full }, { type: "merge", body });
  await untilSecret(kube, `${full}/db`, { a: "1" });
  await untilSynced(kube, sync);
});

/** The quota plugin has a cache of its own: somebody else must succeed before we say that the operator can. */
async function untilCreatable(kube: Kube, namespace: string): Promise<void> {
  for (const deadline = performance.now() + 60_000; ; ) {
    try {
      await createSecret(kube, `${namespace}/attempt`);
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

test("every bad destination at once: the good ones are served, the gravest is the reason, the message lists all", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 6);
  const [vault, foreign, refused, full, going, good] = namespaces;
  const missing = uniqueName("missing");
  await createSecret(kube, `${vault}/db`, { a: "1" });
  const immutable = await createSecret(kube, `${foreign}/db`, { a: "theirs" }, { immutable: true });
  await refuseSecrets(t, kube, [refused], () => "not in my namespace");
  await forbidSecrets(kube, full);
  const letGo = await terminate(kube, going);
  t.after(letGo);

  const order = [good, missing, going, full, refused, foreign];
  const to = [...order.map((namespace) => `${namespace}/db`), `${good}/last`];
  const sync = await createSync(t, kube, `${vault}/db`, { to });
  const wanted = ["Synced", "NamespaceNotFound", "NamespaceTerminating", "Refused", "Refused", "Conflict", "Synced"];
  const { status } = await untilCondition(kube, sync, "Sync", { status: "False", reason: "Conflict" });
  assert.deepEqual(
    status?.targets?.map(({ state }) => state),
    wanted,
  );
  const message = status?.conditions?.find(({ type }) => type === "Sync")?.message ?? "";
  for (const namespace of [missing, going, full, refused, foreign])
    assert.match(message, new RegExp(`${namespace}/db`));
  assert.match(message, /not in my namespace/);
  assert.match(message, /exceeded quota/);
  assert.doesNotMatch(message, new RegExp(`${good}/db`));

  await setValues(kube, `${vault}/db`, { a: "2" });
  await untilSecret(kube, `${good}/db`, { a: "2" });
  await untilSecret(kube, `${good}/last`, { a: "2" });
  assert.deepEqual(await theSecret(kube, `${foreign}/db`), immutable);

  // One after the other is put right, and each time the next gravest reason shows.
  await deleteSecret(kube, `${foreign}/db`);
  await untilSecret(kube, `${foreign}/db`, { a: "2" });
  await untilCondition(kube, sync, "Sync", { reason: "DestinationRefused" });
  await kube.delete(secretSyncs, sync.metadata);
  await untilGone(kube, secretSyncs, sync.metadata);
  assert.equal(await getSecret(kube, `${good}/db`), undefined);
});
