import assert from "node:assert/strict";
import { test } from "node:test";
import { type KubeObject, namespaces as namespaceResource } from "../../src/api/objects.ts";
import { kubectl, testNamespaces } from "../../src/testing/cluster.ts";
import { at, bothStrategies, encoded, rarePoll, secretSyncs, watchStrategy } from "../../src/testing/objects.ts";
import { type Asked, refuseSecrets } from "../../src/testing/refusals.ts";
import { createSecret, deleteSecret, getSecret, patchSecret, setValues, theSecret } from "../../src/testing/secrets.ts";
import { changeSync, createdSync, createSync } from "../../src/testing/syncs.ts";
import { until, untilCondition, untilGone, untilSecret } from "../../src/testing/wait.ts";

for (const { named, strategy } of bothStrategies) {
  for (const propagationPolicy of ["Background", "Foreground"] as const) {
    test(`${named}: deleting by ${propagationPolicy} removes copies and label and lets everything else be`, async (t) => {
      const { kube, namespaces } = await testNamespaces(t, 3);
      const [vault, teamA, teamB] = namespaces;
      await createSecret(kube, `${vault}/db`, { a: "1" }, { labels: { app: "db" } });
      const bystander = await createSecret(kube, `${teamA}/bystander`);
      const to = [`${teamA}/db`, `${teamB}/db`, `${teamA}/edited`];
      const sync = await createdSync(t, kube, `${vault}/db`, { to, strategy });
      await patchSecret(kube, `${teamA}/edited`, { metadata: { labels: { mine: "too" } } });

      await kube.delete(secretSyncs, sync.metadata, { propagationPolicy });
      await untilGone(kube, secretSyncs, sync.metadata);
      for (const copy of to) assert.equal(await getSecret(kube, copy), undefined, "gone before the SecretSync");
      assert.deepEqual((await theSecret(kube, `${vault}/db`)).metadata.labels, { app: "db" });
      assert.deepEqual(await theSecret(kube, `${teamA}/bystander`), bystander);
    });
  }

  test(`${named}: kubectl delete --cascade=orphan leaves the copies without any mark of ours`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 3);
    const [vault, teamA, teamB] = namespaces;
    await createSecret(kube, `${vault}/db`, { a: "1" });
    const to = [`${teamA}/db`, `${teamB}/db`];
    const sync = await createdSync(t, kube, `${vault}/db`, { to, strategy });
    const uids = await Promise.all(to.map(async (copy) => (await theSecret(kube, copy)).metadata.uid));
    await patchSecret(kube, `${teamA}/db`, { metadata: { labels: { mine: "too" }, annotations: { mine: "too" } } });

    const { code, stderr } = await kubectl([
      "delete",
      "secretsync",
      sync.metadata.name,
      "--cascade=orphan",
      "--wait=false",
    ]);
    assert.equal(code, 0, stderr);
    await untilGone(kube, secretSyncs, sync.metadata);
    const left = await Promise.all(to.map((copy) => theSecret(kube, copy)));
    assert.deepEqual(
      left.map(({ metadata }) => metadata.uid),
      uids,
    );
    assert.deepEqual(
      left.map(({ data }) => data),
      [encoded({ a: "1" }), encoded({ a: "1" })],
    );
    assert.deepEqual(
      left.map(({ metadata }) => metadata.labels ?? {}),
      [{ mine: "too" }, {}],
    );
    assert.deepEqual(
      left.map(({ metadata }) => metadata.annotations ?? {}),
      [{ mine: "too" }, {}],
    );
    assert.deepEqual(
      left.map(({ metadata }) => metadata.ownerReferences ?? []),
      [[], []],
    );
    assert.deepEqual((await theSecret(kube, `${vault}/db`)).metadata.labels ?? {}, {});
  });

  test(`${named}: a removed destination loses its copy, a renamed one moves`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 3);
    const [vault, teamA, teamB] = namespaces;
    await createSecret(kube, `${vault}/db`, { a: "1" });
    const to = [`${teamA}/db`, `${teamB}/db`, `${teamB}/stays`];
    const sync = await createdSync(t, kube, `${vault}/db`, { to, strategy });
    const dest = [`${teamA}/renamed`, `${teamB}/stays`].map(at);
    const changed = await changeSync(kube, sync, { spec: { dest } });
    await untilSecret(kube, `${teamA}/renamed`, { a: "1" });
    const { status } = await untilCondition(kube, changed, "Sync", {
      message: `2 copies of ${vault}/db are up to date`,
    });
    assert.deepEqual(
      status?.targets?.map(({ namespace, name }) => ({ namespace, name })),
      dest,
    );
    assert.equal(await getSecret(kube, `${teamA}/db`), undefined, "gone before the status says so");
    assert.equal(await getSecret(kube, `${teamB}/db`), undefined, "gone before the status says so");
  });

  test(`${named}: a copy that was taken over survives the removal of its destination and of the SecretSync`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 3);
    const [vault, teamA, teamB] = namespaces;
    await createSecret(kube, `${vault}/db`, { a: "1" });
    const to = [`${teamA}/db`, `${teamB}/db`, `${teamB}/ours`];
    const sync = await createdSync(t, kube, `${vault}/db`, { to, strategy });
    const none = { "app.kubernetes.io/managed-by": null, "latchkey.dev/owner-uid": null };
    for (const copy of to.slice(0, 2)) {
      const annotations = (await theSecret(kube, copy)).metadata.annotations ?? {};
      const unmarked = Object.fromEntries(Object.keys(annotations).map((key) => [key, null]));
      await patchSecret(kube, copy, { metadata: { labels: none, annotations: unmarked, ownerReferences: null } });
    }
    await untilCondition(kube, sync, "Sync", {
      reason: "Conflict",
      message: new RegExp(`${teamA}/db.*${teamB}/db`, "s"),
    });
    const theirs = await Promise.all(to.slice(0, 2).map((copy) => theSecret(kube, copy)));

    const changed = await changeSync(kube, sync, { spec: { dest: to.slice(1).map(at) } });
    await untilCondition(kube, changed, "Sync", { reason: "Conflict" });
    await kube.delete(secretSyncs, sync.metadata);
    await untilGone(kube, secretSyncs, sync.metadata);
    assert.deepEqual(await Promise.all(to.slice(0, 2).map((copy) => theSecret(kube, copy))), theirs);
    assert.equal(await getSecret(kube, `${teamB}/ours`), undefined);
  });
}

test("while deleting, a copy with our marks but without our reference counts as orphaned", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 3);
  const [vault, teamA, teamB] = namespaces;
  await createSecret(kube, `${vault}/db`, { a: "1" });
  // Paused, so that the missing reference is not healed before we delete.
  const sync = await createdSync(t, kube, `${vault}/db`, { to: [`${teamA}/db`, `${teamB}/db`] });
  const paused = await changeSync(kube, sync, { spec: { paused: true } });
  await untilCondition(kube, paused, "Paused", { status: "True" });
  await patchSecret(kube, `${teamA}/db`, { metadata: { ownerReferences: null } });

  await kube.delete(secretSyncs, sync.metadata);
  await untilGone(kube, secretSyncs, sync.metadata);
  const orphan = await theSecret(kube, `${teamA}/db`);
  assert.deepEqual(orphan.data, encoded({ a: "1" }));
  assert.equal(orphan.metadata.labels?.["latchkey.dev/owner-uid"], undefined);
  assert.deepEqual(orphan.metadata.annotations ?? {}, {});
  assert.equal(await getSecret(kube, `${teamB}/db`), undefined);
});

for (const strategy of [watchStrategy, rarePoll]) {
  test(`${Object.keys(strategy)[0]}: deletion works without the source and without a destination's namespace`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 3);
    const [vault, going, team] = namespaces;
    await createSecret(kube, `${vault}/db`, { a: "1" });
    const to = [`${going}/db`, `${team}/db`];
    const sync = await createdSync(t, kube, `${vault}/db`, { to, strategy });
    await deleteSecret(kube, `${vault}/db`);
    await kube.delete(namespaceResource, { name: going });
    await kube.delete(secretSyncs, sync.metadata);
    await untilGone(kube, secretSyncs, sync.metadata);
    assert.equal(await getSecret(kube, `${team}/db`), undefined);
  });
}

test("a source that is foreign to us after it was recreated keeps its own labels", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/db`, { a: "1" });
  const sync = await createSync(t, kube, `${vault}/db`, { to: [`${team}/db`] });
  await untilSecret(kube, `${team}/db`, { a: "1" });
  await deleteSecret(kube, `${vault}/db`);
  await createSecret(kube, `${vault}/db`, { a: "2" }, { labels: { app: "db" } });
  await untilSecret(kube, `${team}/db`, { a: "2" });
  await setValues(kube, `${vault}/db`, { a: "3" });
  await untilSecret(kube, `${team}/db`, { a: "3" });
  await kube.delete(secretSyncs, sync.metadata);
  await untilGone(kube, secretSyncs, sync.metadata);
  assert.deepEqual((await theSecret(kube, `${vault}/db`)).metadata.labels, { app: "db" });
});

test("a finalizer of somebody else holds the SecretSync, and nothing of ours comes back meanwhile", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/db`, { a: "1" });
  const sync = await createdSync(t, kube, `${vault}/db`, { to: [`${team}/db`] });
  const finalizers = [...(sync.metadata.finalizers ?? []), "latchkey.test/hold"];
  await changeSync(kube, sync, { metadata: { finalizers } });
  await kube.delete(secretSyncs, sync.metadata);
  const isHeld = (seen?: KubeObject) => seen?.metadata.finalizers?.join() === "latchkey.test/hold";
  await until(kube, secretSyncs, sync.metadata, "has no finalizer but the other one", isHeld);
  await setValues(kube, `${vault}/db`, { a: "2" });
  await createdSync(t, kube, `${vault}/db`, { to: [`${team}/marker`] });
  await setValues(kube, `${vault}/db`, { a: "3" });
  await untilSecret(kube, `${team}/marker`, { a: "3" });
  assert.equal(await getSecret(kube, `${team}/db`), undefined);
  await changeSync(kube, sync, { metadata: { finalizers: null } });
  await untilGone(kube, secretSyncs, sync.metadata);
});

test("a removed destination whose copy may not be deleted is reported, and the others are served", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 3);
  const [vault, team, refused] = namespaces;
  await createSecret(kube, `${vault}/db`, { a: "1" });
  const sync = await createdSync(t, kube, `${vault}/db`, { to: [`${team}/db`, `${refused}/db`] });
  const refuse = ({ operation, username }: Asked) =>
    operation === "DELETE" && username.includes("latchkey") ? "keep it" : undefined;
  const { stop } = await refuseSecrets(t, kube, [refused], refuse);
  const changed = await changeSync(kube, sync, { spec: { dest: [at(`${team}/db`), at(`${team}/new`)] } });
  await untilSecret(kube, `${team}/new`, { a: "1" });
  const wanted = { status: "False", reason: "DestinationRefused", phase: "Degraded", message: /keep it/ } as const;
  await untilCondition(kube, changed, "Sync", wanted);
  await setValues(kube, `${vault}/db`, { a: "2" });
  await untilSecret(kube, `${team}/new`, { a: "2" });
  await stop();
});
