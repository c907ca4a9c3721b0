import assert from "node:assert/strict";
import { test } from "node:test";
import { type KubeObject, secrets } from "../../src/api/objects.ts";
import { createNamespace, testNamespaces, uniqueName } from "../../src/testing/cluster.ts";
import { at, bothStrategies, rarePoll, secretSyncs } from "../../src/testing/objects.ts";
import { createSecret, deleteSecret, getSecret, patchSecret, setValues, theSecret } from "../../src/testing/secrets.ts";
import { changeSync, createdSync, createSync } from "../../src/testing/syncs.ts";
import { until, untilCondition, untilGone, untilMetadata, untilSecret, untilSynced } from "../../src/testing/wait.ts";

const label = "latchkey.dev/source";

test("watch: the source gets one label by server-side apply, under a manager of this SecretSync", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  const before = await createSecret(
    kube,
    `${vault}/db`,
    { a: "1" },
    { labels: { app: "db" }, annotations: { note: "x" } },
  );
  const sync = await createdSync(t, kube, `${vault}/db`, { to: [`${team}/db`] });

  const { metadata, data } = await theSecret(kube, `${vault}/db`);
  assert.deepEqual(metadata.labels, { app: "db", [label]: "true" });
  assert.deepEqual(metadata.annotations, { note: "x" });
  assert.equal(metadata.ownerReferences, undefined);
  assert.deepEqual(data, before.data);
  const manager = metadata.managedFields?.find((entry) => entry.manager?.includes(sync.metadata.uid));
  assert.equal(manager?.operation, "Apply");
  assert.deepEqual(manager?.fieldsV1, { "f:metadata": { "f:labels": { [`f:${label}`]: {} } } });
  assert.deepEqual([...(sync.metadata.finalizers ?? [])].sort(), ["latchkey.dev/copies", "latchkey.dev/source-label"]);
});

test("poll: the source is neither labelled nor written, and there is no finalizer for a label", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  const before = await createSecret(kube, `${vault}/db`, { a: "1" });
  const sync = await createdSync(t, kube, `${vault}/db`, { to: [`${team}/db`], strategy: rarePoll });
  assert.deepEqual(sync.metadata.finalizers, ["latchkey.dev/copies"]);
  await kube.delete(secretSyncs, sync.metadata);
  await untilGone(kube, secretSyncs, sync.metadata);
  assert.deepEqual(await theSecret(kube, `${vault}/db`), before);
});

test("the label stays while anybody reads the source, and goes with the last", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/db`, { a: "1" });
  const first = await createdSync(t, kube, `${vault}/db`, { to: [`${team}/first`] });
  const second = await createdSync(t, kube, `${vault}/db`, { to: [`${team}/second`] });

  await kube.delete(secretSyncs, first.metadata);
  await untilGone(kube, secretSyncs, first.metadata);
  assert.equal((await theSecret(kube, `${vault}/db`)).metadata.labels?.[label], "true");
  await setValues(kube, `${vault}/db`, { a: "2" });
  await untilSecret(kube, `${team}/second`, { a: "2" });

  await kube.delete(secretSyncs, second.metadata);
  await untilGone(kube, secretSyncs, second.metadata);
  const { metadata } = await theSecret(kube, `${vault}/db`);
  assert.equal(metadata.labels?.[label], undefined);
  assert.equal(
    metadata.managedFields?.some(({ manager }) => manager?.startsWith("latchkey-source")),
    false,
  );
});

test("a label that others had put there stays", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/db`, { a: "1" }, { labels: { [label]: "true" } });
  const sync = await createdSync(t, kube, `${vault}/db`, { to: [`${team}/db`] });
  await kube.delete(secretSyncs, sync.metadata);
  await untilGone(kube, secretSyncs, sync.metadata);
  assert.equal((await theSecret(kube, `${vault}/db`)).metadata.labels?.[label], "true");
});

for (const { name, value } of [
  { name: "taken off", value: null },
  { name: "set to something else", value: "false" },
]) {
  test(`a label ${name} by hand is put back, and the source is still followed`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 2);
    const [vault, team] = namespaces;
    await createSecret(kube, `${vault}/db`, { a: "1" });
    await createdSync(t, kube, `${vault}/db`, { to: [`${team}/db`] });
    await patchSecret(kube, `${vault}/db`, { metadata: { labels: { [label]: value } } });
    await untilMetadata(
      kube,
      `${vault}/db`,
      "has its label again",
      ({ metadata }) => metadata.labels?.[label] === "true",
    );
    await setValues(kube, `${vault}/db`, { a: "2" });
    await untilSecret(kube, `${team}/db`, { a: "2" });
  });
}

test("a label taken off in the same write that changes the data: both are noticed", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/db`, { a: "1" });
  await createdSync(t, kube, `${vault}/db`, { to: [`${team}/db`] });
  await kube.replace(secrets, {
    ...(await theSecret(kube, `${vault}/db`)),
    metadata: { ...(await theSecret(kube, `${vault}/db`)).metadata, labels: {} },
    data: { a: Buffer.from("2").toString("base64") },
  });
  await untilSecret(kube, `${team}/db`, { a: "2" });
  await untilMetadata(
    kube,
    `${vault}/db`,
    "has its label again",
    ({ metadata }) => metadata.labels?.[label] === "true",
  );
});

for (const { named, strategy } of bothStrategies) {
  test(`${named}: a missing source is reported and never created`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 2);
    const [vault, team] = namespaces;
    const sync = await createSync(t, kube, `${vault}/db`, { to: [`${team}/db`], strategy });
    await untilCondition(kube, sync, "Sync", { status: "False", reason: "SourceNotFound", phase: "Pending" });
    assert.equal(await getSecret(kube, `${vault}/db`), undefined);
    assert.equal(await getSecret(kube, `${team}/db`), undefined);
    await kube.delete(secretSyncs, sync.metadata);
    await untilGone(kube, secretSyncs, sync.metadata);
  });
}

test("watch: a missing source is synced as soon as it appears", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  const sync = await createSync(t, kube, `${vault}/db`, { to: [`${team}/db`] });
  await untilCondition(kube, sync, "Sync", { reason: "SourceNotFound" });
  await createSecret(kube, `${vault}/db`, { a: "1" });
  await untilSecret(kube, `${team}/db`, { a: "1" });
  await untilSynced(kube, sync);
});

test("watch: even the namespace of the source may appear later", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [team] = namespaces;
  const vault = uniqueName("later");
  const sync = await createSync(t, kube, `${vault}/db`, { to: [`${team}/db`] });
  await untilCondition(kube, sync, "Sync", { reason: "SourceNotFound" });
  await createNamespace(t, vault);
  await createSecret(kube, `${vault}/db`, { a: "1" });
  await untilSecret(kube, `${team}/db`, { a: "1" });
});

test("watch: a deleted source leaves the copies as they are; a new one under its name is copied", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 3);
  const [vault, teamA, teamB] = namespaces;
  await createSecret(kube, `${vault}/db`, { a: "1" });
  const sync = await createdSync(t, kube, `${vault}/db`, { to: [`${teamA}/db`, `${teamB}/db`] });
  const kept = await theSecret(kube, `${teamA}/db`);

  await deleteSecret(kube, `${vault}/db`);
  await untilCondition(kube, sync, "Sync", { status: "False", reason: "SourceNotFound", phase: "Degraded" });
  assert.deepEqual(await theSecret(kube, `${teamA}/db`), kept);

  await changeSync(kube, sync, { spec: { dest: [at(`${teamA}/db`)] } });
  await untilGone(kube, secrets, at(`${teamB}/db`));
  assert.deepEqual(await theSecret(kube, `${teamA}/db`), kept);

  await createSecret(kube, `${vault}/db`, { a: "2" });
  await untilSecret(kube, `${teamA}/db`, { a: "2" });
  await untilSynced(kube, sync);
  assert.equal((await theSecret(kube, `${vault}/db`)).metadata.labels?.[label], "true");

  await deleteSecret(kube, `${vault}/db`);
  await untilCondition(kube, sync, "Sync", { reason: "SourceNotFound" });
  await kube.delete(secretSyncs, sync.metadata);
  await untilGone(kube, secretSyncs, sync.metadata);
  assert.equal(await getSecret(kube, `${teamA}/db`), undefined);
});

for (const { named, strategy } of bothStrategies) {
  test(`${named}: copies follow a changed src at once`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 2);
    const [vault, team] = namespaces;
    await createSecret(kube, `${vault}/old`, { a: "old" });
    await createSecret(kube, `${vault}/new`, { a: "new" }, { type: "example.com/other" });
    const sync = await createdSync(t, kube, `${vault}/old`, { to: [`${team}/db`], strategy });
    const changed = await changeSync(kube, sync, { spec: { src: at(`${vault}/new`) } });
    await untilSecret(kube, `${team}/db`, { a: "new" }, { type: "example.com/other" });
    await untilCondition(kube, changed, "Sync", { message: `1 copy of ${vault}/new is up to date` });
    await untilMetadata(kube, `${vault}/old`, "has lost our label", ({ metadata }) => !metadata.labels?.[label]);
  });
}

test("many readers of one source, all at once: each is served, and the label goes with the last", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/db`, { a: "1" });
  const names = Array.from({ length: 12 }, (_, index) => `copy-${index}`);
  const syncs = await Promise.all(names.map((name) => createSync(t, kube, `${vault}/db`, { to: [`${team}/${name}`] })));
  for (const sync of syncs) await untilSynced(kube, sync);
  await setValues(kube, `${vault}/db`, { a: "2" });
  for (const name of names) await untilSecret(kube, `${team}/${name}`, { a: "2" });
  await Promise.all(syncs.map(({ metadata }) => kube.delete(secretSyncs, metadata)));
  for (const { metadata } of syncs) await untilGone(kube, secretSyncs, metadata);
  assert.equal((await theSecret(kube, `${vault}/db`)).metadata.labels?.[label], undefined);
});

test("finalizers taken off by hand are put back", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/db`, { a: "1" });
  const sync = await createdSync(t, kube, `${vault}/db`, { to: [`${team}/db`] });
  await changeSync(kube, sync, { metadata: { finalizers: null } });
  const isHeld = (seen?: KubeObject) => seen?.metadata.finalizers?.length === 2;
  await until(kube, secretSyncs, sync.metadata, "has its finalizers again", isHeld);
});
