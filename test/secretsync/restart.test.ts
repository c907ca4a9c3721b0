import assert from "node:assert/strict";
import { test } from "node:test";
import { secrets } from "../../src/api/objects.ts";
import { createNamespace, testNamespaces, uniqueName } from "../../src/testing/cluster.ts";
import { at, rarePoll, secretSyncs } from "../../src/testing/objects.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import { createSecret, deleteSecret, getSecret, setValues, theSecret } from "../../src/testing/secrets.ts";
import { changeSync, createdSync, createSync } from "../../src/testing/syncs.ts";
import { untilCondition, untilGone, untilSecret, untilSynced } from "../../src/testing/wait.ts";
import type { Operator } from "../../tools/local/operator.ts";

let operator: Operator;
const own = ownPlane(async (plane) => {
  operator = await plane.operator();
});

const restarts = [
  { how: "stopped", end: () => operator.stop() },
  { how: "killed", end: () => operator.kill() },
];
for (const { how, end } of restarts) {
  test(`operator ${how} while things change: it converges after its start`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 2);
    const [vault, team] = namespaces;
    const later = uniqueName("later");
    await createSecret(kube, `${vault}/db`, { a: "1" });
    await createSecret(kube, `${vault}/gone`, { a: "1" });
    const foreign = await createSecret(kube, `${team}/taken`, { a: "theirs" });
    const to = ["edited", "deleted", "taken", "dropped"].map((name) => `${team}/${name}`);
    const sync = await createSync(t, kube, `${vault}/db`, { to: [...to, `${later}/db`] });
    await untilCondition(kube, sync, "Sync", { reason: "Conflict" });
    const polling = await createdSync(t, kube, `${vault}/db`, { to: [`${team}/polled`], strategy: rarePoll });
    const deleted = await createdSync(t, kube, `${vault}/db`, { to: [`${team}/of-deleted`] });
    const orphaned = await createdSync(t, kube, `${vault}/db`, { to: [`${team}/of-orphaned`] });
    const losing = await createdSync(t, kube, `${vault}/gone`, { to: [`${team}/kept`] });

    await end();
    await setValues(kube, `${vault}/db`, { a: "2" });
    await setValues(kube, `${team}/edited`, { a: "by hand" });
    await deleteSecret(kube, `${team}/deleted`);
    await deleteSecret(kube, `${team}/taken`);
    await createNamespace(t, later);
    await deleteSecret(kube, `${vault}/gone`);
    // Nothing of this adds anything, so it passes although nobody answers for admission.
    const dest = [...to.slice(0, 3), `${later}/db`].map(at);
    const changed = await changeSync(kube, sync, { spec: { dest } });
    await kube.delete(secretSyncs, deleted.metadata);
    await kube.delete(secretSyncs, orphaned.metadata, { propagationPolicy: "Orphan" });
    assert.ok(await kube.get(secretSyncs, deleted.metadata), "its finalizers wait for us");

    operator = await own.operator();
    for (const { namespace, name } of dest) await untilSecret(kube, `${namespace}/${name}`, { a: "2" });
    await untilGone(kube, secrets, at(`${team}/dropped`));
    await untilSynced(kube, changed);
    await untilSecret(kube, `${team}/polled`, { a: "2" });
    await untilSynced(kube, polling);
    await untilGone(kube, secretSyncs, deleted.metadata);
    assert.equal(await getSecret(kube, `${team}/of-deleted`), undefined);
    await untilGone(kube, secretSyncs, orphaned.metadata);
    assert.equal((await theSecret(kube, `${team}/of-orphaned`)).metadata.ownerReferences, undefined);
    await untilCondition(kube, losing, "Sync", { reason: "SourceNotFound", phase: "Degraded" });
    await untilSecret(kube, `${team}/kept`, { a: "1" });
    assert.notEqual((await theSecret(kube, `${team}/taken`)).metadata.uid, foreign.metadata.uid);
  });
}

test("a cold start over what is in sync writes nothing", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/db`, { a: "1" });
  const to = [`${team}/x`, `${team}/y`];
  const sync = await createdSync(t, kube, `${vault}/db`, { to });
  const polling = await createdSync(t, kube, `${vault}/db`, { to: [`${team}/polled`], strategy: rarePoll });
  const seen = () => Promise.all([`${vault}/db`, ...to, `${team}/polled`].map((key) => theSecret(kube, key)));
  const stored = () => Promise.all([sync, polling].map(({ metadata }) => kube.get(secretSyncs, metadata)));
  const [copies, syncs] = [await seen(), await stored()];
  await operator.stop();
  operator = await own.operator();
  // The marker: a new one is served after all those that were there at the start.
  await createdSync(t, kube, `${vault}/db`, { to: [`${team}/marker`] });
  assert.deepEqual((await seen()).slice(1), copies.slice(1));
  assert.deepEqual(await stored(), syncs);
});
