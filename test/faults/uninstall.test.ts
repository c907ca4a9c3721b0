import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import {
  crds,
  type KubeObject,
  leases,
  namespaces as namespaceResource,
  type Resource,
  secrets,
} from "../../src/api/objects.ts";
import type { Kube } from "../../src/kube/client.ts";
import { createNamespace, testNamespaces, uniqueName } from "../../src/testing/cluster.ts";
import { rarePoll, type SecretSync, secretSync, secretSyncs } from "../../src/testing/objects.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import { createSecret, getSecret, theSecret } from "../../src/testing/secrets.ts";
import { createdSync } from "../../src/testing/syncs.ts";
import { untilGone, untilSecret } from "../../src/testing/wait.ts";

const own = ownPlane();

const webhooks: readonly Resource[] = (["Validating", "Mutating"] as const).map((type) => ({
  group: "admissionregistration.k8s.io",
  version: "v1",
  plural: `${type.toLowerCase()}webhookconfigurations`,
  kind: `${type}WebhookConfiguration`,
  namespaced: false,
}));
const system = "latchkey-system";
const nothing = { labels: undefined, annotations: undefined, ownerReferences: undefined };

async function prepare(t: TestContext) {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [vault] = namespaces;
  const team = uniqueName("team");
  await createNamespace(t, team);
  await createSecret(kube, `${vault}/db`, { v: "1" }, { labels: { mine: "yes" } });
  await createSecret(kube, `${team}/theirs`, { v: "theirs" });
  const watching = await createdSync(t, kube, `${vault}/db`, { to: [`${team}/a`, `${team}/b`] });
  const polling = await createdSync(t, kube, `${vault}/db`, { to: [`${team}/c`], strategy: rarePoll });
  return { kube, vault, team, syncs: [watching, polling] };
}

async function webhookNames(kube: Kube): Promise<readonly string[]> {
  const found = await Promise.all(webhooks.map((kind) => kube.list<KubeObject>(kind)));
  return found.flat().map(({ metadata }) => metadata.name);
}

async function assertNothingLeft({ kube, vault, syncs }: Awaited<ReturnType<typeof prepare>>): Promise<void> {
  assert.deepEqual(await webhookNames(kube), []);
  for (const { metadata } of syncs) {
    const sync = await kube.get<SecretSync>(secretSyncs, metadata);
    assert.deepEqual(sync?.metadata.finalizers ?? [], []);
  }
  assert.deepEqual((await theSecret(kube, `${vault}/db`)).metadata.labels, { mine: "yes" });
  assert.equal(await getSecret(kube, `${system}/latchkey-admission`), undefined);
  assert.equal(await kube.get(leases, { namespace: system, name: "latchkey" }), undefined);
}

test("uninstall refuses beside a running operator, then takes everything back and blocks nobody", async (t) => {
  const operator = await own.operator();
  const scene = await prepare(t);
  const { kube, vault, team, syncs } = scene;
  const refused = await own.latchkey("uninstall");
  assert.equal(refused.code, 1, refused.stderr);
  assert.match(refused.stdout, /The operator is running \(solo holds the Lease/);
  assert.ok((await webhookNames(kube)).includes("latchkey-secretsync"));
  assert.equal((await kube.get(secretSyncs, syncs[0]!.metadata))?.metadata.finalizers?.length, 2);

  await operator.stop();
  const done = await own.latchkey("uninstall");
  assert.equal(done.code, 0, done.stderr);
  await assertNothingLeft(scene);
  for (const name of ["a", "b", "c"]) await untilSecret(kube, `${team}/${name}`, { v: "1" });
  const again = await own.latchkey("uninstall");
  assert.equal(again.code, 0, again.stderr);

  // Nobody is asked, nobody is waited for.
  const name = uniqueName("sync");
  await kube.create(secretSyncs, secretSync(name, `${vault}/db`, { to: [`${team}/d`] }));
  for (const metadata of [{ name }, ...syncs.map((sync) => sync.metadata)]) {
    await kube.delete(secretSyncs, metadata);
    await untilGone(kube, secretSyncs, metadata);
  }
  await kube.delete(namespaceResource, { name: team });
  await untilGone(kube, namespaceResource, { name: team });
});

test("uninstall --copies=delete after a crash: the copies go, and nothing else", async (t) => {
  const operator = await own.operator();
  const scene = await prepare(t);
  const { kube, team } = scene;
  await operator.kill();
  const done = await own.latchkey("uninstall", "--copies=delete");
  assert.equal(done.code, 0, done.stderr);
  await assertNothingLeft(scene);
  const left = await kube.listMetadata(secrets, { namespace: team });
  assert.deepEqual(
    left.map(({ metadata }) => metadata.name),
    ["theirs"],
  );
  await untilSecret(kube, `${team}/theirs`, { v: "theirs" });
});

test("uninstall --crds=delete: the SecretSyncs go, and their copies stay as Secrets like any other", async (t) => {
  const operator = await own.operator();
  const { kube, team, vault } = await prepare(t);
  await operator.stop();
  const done = await own.latchkey("uninstall", "--crds=delete");
  assert.equal(done.code, 0, done.stderr);
  await untilGone(kube, crds, { name: "secretsyncs.package-operator.run" });
  for (const name of ["a", "b", "c"]) {
    const { metadata } = await untilSecret(kube, `${team}/${name}`, { v: "1" });
    const { labels, annotations, ownerReferences } = metadata;
    assert.deepEqual({ labels, annotations, ownerReferences }, nothing, name);
  }
  assert.deepEqual((await theSecret(kube, `${vault}/db`)).metadata.labels, { mine: "yes" });
  // For the cleaning up after the test.
  await own.latchkey("crds", "--apply");
});

test("uninstall where the CRD is gone: the label goes from the source all the same", async (t) => {
  const operator = await own.operator();
  const { kube, team, vault, syncs } = await prepare(t);
  await operator.stop();
  for (const { metadata } of syncs) {
    await kube.patch(secretSyncs, metadata, { type: "merge", body: { metadata: { finalizers: null } } });
  }
  await kube.delete(crds, { name: "secretsyncs.package-operator.run" });
  await untilGone(kube, crds, { name: "secretsyncs.package-operator.run" });
  const done = await own.latchkey("uninstall");
  assert.equal(done.code, 0, done.stderr);
  assert.deepEqual(await webhookNames(kube), []);
  assert.deepEqual((await theSecret(kube, `${vault}/db`)).metadata.labels, { mine: "yes" });
  await untilSecret(kube, `${team}/theirs`, { v: "theirs" });
  // For the cleaning up after the test.
  await own.latchkey("crds", "--apply");
});
