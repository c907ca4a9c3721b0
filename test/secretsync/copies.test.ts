import assert from "node:assert/strict";
import { test } from "node:test";
import { controllerOf } from "../../src/api/objects.ts";
import { testNamespaces } from "../../src/testing/cluster.ts";
import { bothStrategies, encoded, secretSyncs } from "../../src/testing/objects.ts";
import { createSecret, deleteSecret, getSecret, patchSecret, setValues, theSecret } from "../../src/testing/secrets.ts";
import { createdSync, createSync } from "../../src/testing/syncs.ts";
import { untilCondition, untilGone, untilSecret, untilSynced } from "../../src/testing/wait.ts";

const everyByte = Uint8Array.from({ length: 256 }, (_, index) => index);

const contents = [
  { name: "several keys", type: "Opaque", values: { user: "admin", password: "s3cret" } },
  { name: "every byte", type: "Opaque", values: { binary: everyByte, empty: "", "dotted.key_1-2": "x" } },
  { name: "nothing at all", type: "Opaque", values: {} },
  { name: "a type of somebody's own", type: "example.com/own", values: { a: "1" } },
  { name: "a bootstrap token", type: "bootstrap.kubernetes.io/token", values: { "token-id": "abcdef" } },
  { name: "TLS", type: "kubernetes.io/tls", values: { "tls.crt": "certificate", "tls.key": "key" } },
  { name: "pull secret", type: "kubernetes.io/dockerconfigjson", values: { ".dockerconfigjson": '{"auths":{}}' } },
];

for (const { named, strategy } of bothStrategies) {
  test(`${named}: data and type are copied byte for byte, whatever they are`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 3);
    const [vault, teamA, teamB] = namespaces;
    await Promise.all(
      contents.map(async ({ type, values }, index) => {
        const source = await createSecret(kube, `${vault}/s${index}`, values, { type });
        const to = [`${teamA}/s${index}`, `${teamB}/other-name-${index}`, `${vault}/beside-${index}`];
        await createdSync(t, kube, `${vault}/s${index}`, { to, strategy });
        for (const copy of to) {
          const found = await untilSecret(kube, copy, values, { type });
          assert.deepEqual(found.data, source.data);
        }
      }),
    );
  });
}

test("a copy has its source's data and type and nothing else of it, and says whose it is", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  const marks = { labels: { app: "vault" }, annotations: { "kubectl.kubernetes.io/last-applied-configuration": "{}" } };
  await createSecret(kube, `${vault}/db`, { a: "1" }, { ...marks, immutable: true });
  const sync = await createdSync(t, kube, `${vault}/db`, { to: [`${team}/db`] });

  const { immutable, metadata } = await theSecret(kube, `${team}/db`);
  assert.equal(immutable, undefined);
  assert.equal(metadata.labels?.app, undefined);
  assert.equal(metadata.annotations?.["kubectl.kubernetes.io/last-applied-configuration"], undefined);
  assert.equal(metadata.labels?.["app.kubernetes.io/managed-by"], "latchkey");
  assert.equal(metadata.labels?.["latchkey.dev/owner-uid"], sync.metadata.uid);
  assert.equal(metadata.ownerReferences?.length, 1);
  const controller = controllerOf({ metadata });
  assert.equal(controller?.kind, "SecretSync");
  assert.equal(controller?.uid, sync.metadata.uid);
  assert.deepEqual(metadata.finalizers ?? [], []);
});

test("watch: every change of the source reaches all copies in place, removed keys vanish", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 3);
  const [vault, teamA, teamB] = namespaces;
  await createSecret(kube, `${vault}/db`, { a: "1", b: "2" });
  const to = [`${teamA}/db`, `${teamB}/db`];
  await createdSync(t, kube, `${vault}/db`, { to });
  const uids = await Promise.all(to.map(async (copy) => (await theSecret(kube, copy)).metadata.uid));

  const changes = [
    { body: { data: encoded({ a: "changed" }) }, values: { a: "changed", b: "2" } },
    { body: { data: { b: null, ...encoded({ c: "3" }) } }, values: { a: "changed", c: "3" } },
    { body: { data: null }, values: {} },
    { body: { data: encoded({ again: "yes" }) }, values: { again: "yes" } },
  ];
  for (const { body, values } of changes) {
    await patchSecret(kube, `${vault}/db`, body);
    for (const copy of to) await untilSecret(kube, copy, values);
  }
  const after = await Promise.all(to.map(async (copy) => (await theSecret(kube, copy)).metadata.uid));
  assert.deepEqual(after, uids, "the kubelet counts on the UID");
});

test("a source recreated with another type: copies are deleted and created again", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/db`, { a: "1" });
  const sync = await createdSync(t, kube, `${vault}/db`, { to: [`${team}/db`] });
  const { uid } = (await theSecret(kube, `${team}/db`)).metadata;

  await deleteSecret(kube, `${vault}/db`);
  await createSecret(kube, `${vault}/db`, { a: "1" }, { type: "example.com/other" });
  const copy = await untilSecret(kube, `${team}/db`, { a: "1" }, { type: "example.com/other" });
  assert.notEqual(copy.metadata.uid, uid);
  await untilSynced(kube, sync);
});

test("a source of 1 MiB is copied, and a change of it as well", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  const [half, other] = ["a", "b"].map((letter) => letter.repeat(512 * 1024)) as [string, string];
  await createSecret(kube, `${vault}/big`, { first: half, second: half });
  await createdSync(t, kube, `${vault}/big`, { to: [`${team}/big`] });
  await untilSecret(kube, `${team}/big`, { first: half, second: half });
  await setValues(kube, `${vault}/big`, { second: other });
  await untilSecret(kube, `${team}/big`, { first: half, second: other });
});

test("32 destinations are served, and reported in the order of the spec", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/db`, { a: "1" });
  // Not sorted by name: the order must be the user's.
  const names = Array.from({ length: 32 }, (_, index) => `copy-${(index * 7) % 32}`);
  const sync = await createSync(t, kube, `${vault}/db`, { to: names.map((name) => `${team}/${name}`) });
  const message = `32 copies of ${vault}/db are up to date`;
  const { status } = await untilCondition(kube, sync, "Sync", { status: "True", reason: "Synced", message });
  assert.deepEqual(
    status?.targets?.map(({ namespace, name, state }) => ({ namespace, name, state })),
    names.map((name) => ({ namespace: team, name, state: "Synced" })),
  );
});

test("a service account token is refused: its copies would be wiped by Kubernetes", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/token`, { a: "1" });
  const sync = await createdSync(t, kube, `${vault}/token`, { to: [`${team}/token`] });
  const copy = await theSecret(kube, `${team}/token`);

  await deleteSecret(kube, `${vault}/token`);
  await kube.create(serviceAccounts, { metadata: { namespace: vault, name: "robot" } });
  const annotations = { "kubernetes.io/service-account.name": "robot" };
  await createSecret(kube, `${vault}/token`, {}, { type: "kubernetes.io/service-account-token", annotations });
  await untilCondition(kube, sync, "Sync", { status: "False", reason: "UnsupportedType", phase: "Degraded" });
  assert.deepEqual(await theSecret(kube, `${team}/token`), copy, "what is there stays as it is");

  await deleteSecret(kube, `${vault}/token`);
  await createSecret(kube, `${vault}/token`, { a: "2" });
  await untilSecret(kube, `${team}/token`, { a: "2" });
  await untilSynced(kube, sync);
});

test("a service account token from the start: nothing is copied, and deletion works", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await kube.create(serviceAccounts, { metadata: { namespace: vault, name: "robot" } });
  const annotations = { "kubernetes.io/service-account.name": "robot" };
  await createSecret(kube, `${vault}/token`, {}, { type: "kubernetes.io/service-account-token", annotations });
  const sync = await createSync(t, kube, `${vault}/token`, { to: [`${team}/token`] });
  await untilCondition(kube, sync, "Sync", { status: "False", reason: "UnsupportedType", phase: "Pending" });
  assert.equal(await getSecret(kube, `${team}/token`), undefined);
  await kube.delete(secretSyncs, sync.metadata);
  await untilGone(kube, secretSyncs, sync.metadata);
});

const serviceAccounts = {
  group: "",
  version: "v1",
  plural: "serviceaccounts",
  kind: "ServiceAccount",
  namespaced: true,
};
