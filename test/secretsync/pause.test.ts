import assert from "node:assert/strict";
import { test } from "node:test";
import { secrets } from "../../src/api/objects.ts";
import { auditPosition, operatorWrites } from "../../src/testing/audit.ts";
import { testNamespaces } from "../../src/testing/cluster.ts";
import { at, bothStrategies, encoded, secretSyncs } from "../../src/testing/objects.ts";
import { createSecret, deleteSecret, getSecret, patchSecret, setValues, theSecret } from "../../src/testing/secrets.ts";
import { changeSync, createdSync, createSync } from "../../src/testing/syncs.ts";
import { conditionIn, untilCondition, untilGone, untilSecret, untilSynced } from "../../src/testing/wait.ts";

for (const { named, strategy } of bothStrategies) {
  test(`${named}: created paused leaves no trace but the status, and goes at once`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 2);
    const [vault, team] = namespaces;
    const source = await createSecret(kube, `${vault}/db`, { a: "1" });
    const from = await auditPosition(kube, vault);
    const sync = await createSync(t, kube, `${vault}/db`, { to: [`${team}/db`], strategy, paused: true });
    const seen = await untilCondition(kube, sync, "Paused", {
      status: "True",
      reason: "SpecSaysPaused",
      phase: "Paused",
    });
    const { status, reason } = conditionIn(seen, "Sync") ?? {};
    assert.deepEqual({ status, reason }, { status: "Unknown", reason: "Paused" });
    assert.deepEqual(seen.metadata.finalizers ?? [], []);

    await kube.delete(secretSyncs, sync.metadata);
    assert.equal(await kube.get(secretSyncs, sync.metadata), undefined, "no finalizer holds it");
    assert.deepEqual(await theSecret(kube, `${vault}/db`), source);
    assert.equal(await getSecret(kube, `${team}/db`), undefined);
    const writes = (await operatorWrites(kube, vault, { from })).filter(({ name }) => name === sync.metadata.name);
    assert.deepEqual([...new Set(writes.map(({ subresource }) => subresource))], ["status"]);
  });

  test(`${named}: created paused and unpaused later is synced at once`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 2);
    const [vault, team] = namespaces;
    await createSecret(kube, `${vault}/db`, { a: "1" });
    const sync = await createSync(t, kube, `${vault}/db`, { to: [`${team}/db`], strategy, paused: true });
    await untilCondition(kube, sync, "Paused", { status: "True" });
    const changed = await changeSync(kube, sync, { spec: { paused: false } });
    await untilSecret(kube, `${team}/db`, { a: "1" });
    const seen = await untilSynced(kube, changed);
    const { status, reason } = conditionIn(seen, "Paused") ?? {};
    assert.deepEqual({ status, reason }, { status: "False", reason: "SpecSaysUnpaused" });
    assert.equal(seen.status?.phase, "Synced");
  });

  test(`${named}: while paused nothing is written, unpausing makes up for all of it`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 2);
    const [vault, team] = namespaces;
    await createSecret(kube, `${vault}/db`, { a: "1" });
    const to = [`${team}/db`, `${team}/edited`, `${team}/deleted`, `${team}/dropped`];
    const sync = await createdSync(t, kube, `${vault}/db`, { to, strategy });
    const paused = await changeSync(kube, sync, { spec: { paused: true } });
    const seen = await untilCondition(kube, paused, "Paused", { status: "True", phase: "Paused" });
    const { status, reason } = conditionIn(seen, "Sync") ?? {};
    assert.deepEqual({ status, reason }, { status: "True", reason: "Synced" }, "Sync stays as it was");
    const from = await auditPosition(kube, vault);

    await setValues(kube, `${vault}/db`, { a: "2" });
    await patchSecret(kube, `${team}/edited`, { data: encoded({ a: "by hand" }) });
    await deleteSecret(kube, `${team}/deleted`);
    const dest = ["db", "edited", "deleted", "added"].map((name) => at(`${team}/${name}`));
    const changed = await changeSync(kube, paused, { spec: { dest } });
    await untilCondition(kube, changed, "Paused", { status: "True" });
    // Another reader of the same source has seen the change, so this one has been told of it as well.
    await createdSync(t, kube, `${vault}/db`, { to: [`${team}/marker`] });
    await untilSecret(kube, `${team}/marker`, { a: "2" });

    assert.deepEqual((await theSecret(kube, `${team}/db`)).data, encoded({ a: "1" }));
    assert.deepEqual((await theSecret(kube, `${team}/edited`)).data, encoded({ a: "by hand" }));
    assert.deepEqual((await theSecret(kube, `${team}/dropped`)).data, encoded({ a: "1" }));
    assert.equal(await getSecret(kube, `${team}/deleted`), undefined);
    assert.equal(await getSecret(kube, `${team}/added`), undefined);
    const others = (await operatorWrites(kube, vault, { from })).filter(
      (write) => write.namespace === team && write.name !== "marker",
    );
    assert.deepEqual(others, []);

    const unpaused = await changeSync(kube, changed, { spec: { paused: false } });
    for (const { namespace, name } of dest) await untilSecret(kube, `${namespace}/${name}`, { a: "2" });
    await untilGone(kube, secrets, at(`${team}/dropped`));
    await untilSynced(kube, unpaused);
  });

  test(`${named}: deletion works while paused`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 2);
    const [vault, team] = namespaces;
    await createSecret(kube, `${vault}/db`, { a: "1" });
    const sync = await createdSync(t, kube, `${vault}/db`, { to: [`${team}/db`], strategy });
    const paused = await changeSync(kube, sync, { spec: { paused: true } });
    await untilCondition(kube, paused, "Paused", { status: "True" });
    await kube.delete(secretSyncs, sync.metadata);
    await untilGone(kube, secretSyncs, sync.metadata);
    assert.equal(await getSecret(kube, `${team}/db`), undefined);
    assert.equal((await theSecret(kube, `${vault}/db`)).metadata.labels?.["latchkey.dev/source"], undefined);
  });
}

test("paused while out of sync: Sync stays as it was, with its own reason", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  const sync = await createSync(t, kube, `${vault}/db`, { to: [`${team}/db`] });
  await untilCondition(kube, sync, "Sync", { reason: "SourceNotFound", phase: "Pending" });
  const paused = await changeSync(kube, sync, { spec: { paused: true } });
  const seen = await untilCondition(kube, paused, "Paused", { status: "True", phase: "Paused" });
  assert.equal(conditionIn(seen, "Sync")?.reason, "SourceNotFound");
  await createSecret(kube, `${vault}/db`, { a: "1" });
  const unpaused = await changeSync(kube, paused, { spec: { paused: false } });
  await untilSynced(kube, unpaused);
});

test("a pause in between makes no first sync of an incomplete one: still Pending afterwards", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/db`);
  await createSecret(kube, `${team}/taken`);
  const sync = await createSync(t, kube, `${vault}/db`, { to: [`${team}/db`, `${team}/taken`] });
  await untilCondition(kube, sync, "Sync", { reason: "Conflict", phase: "Pending" });
  const paused = await changeSync(kube, sync, { spec: { paused: true } });
  await untilCondition(kube, paused, "Paused", { status: "True" });
  const unpaused = await changeSync(kube, paused, { spec: { paused: false } });
  const seen = await untilCondition(kube, unpaused, "Sync", { reason: "Conflict" });
  assert.equal(seen.status?.phase, "Pending");
});
