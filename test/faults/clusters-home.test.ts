import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type KubeObject, namespaces as namespaceKind, secrets } from "../../src/api/objects.ts";
import type { Kube } from "../../src/kube/client.ts";
import { auditPosition, operatorWrites } from "../../src/testing/audit.ts";
import { testNamespaces } from "../../src/testing/cluster.ts";
import {
  changeCluster,
  copiesOf,
  createCluster,
  createKubeconfig,
  createSource,
  injectionIn,
  untilLabelled,
} from "../../src/testing/cluster-scenes.ts";
import { kubeconfigLike } from "../../src/testing/connections.ts";
import { EventsOf } from "../../src/testing/events.ts";
import { givenIn, untilGiven } from "../../src/testing/injection.ts";
import { at } from "../../src/testing/objects.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import { deleteSecret, getSecret, setValues, theSecret } from "../../src/testing/secrets.ts";
import { untilEvent } from "../../src/testing/served-clusters.ts";
import {
  createInjectedPod,
  createPod,
  createSidecarSet,
  dockerConfig,
  labelsFor,
  literalName,
  pods,
  pullSecretsOf,
  sidecarSets,
  untilPullSecret,
} from "../../src/testing/sidecars.ts";
import { type Cluster, clusters, untilCluster, userCluster } from "../../src/testing/user-clusters.ts";
import { untilGone } from "../../src/testing/wait.ts";
import { userClusterKubeconfig } from "../../tools/local/user-cluster.ts";

const user = userCluster();
const args = ["--sidecars-idle-copies=1s", "--cluster-cleanup-timeout=1m"];
const own = ownPlane(async (plane) => void (await plane.operator({ args })));

const policyObjects = ["policy", "binding", "record"];

async function serveHome(t: TestContext, kube: Kube, references: readonly string[], spec: Cluster["spec"] = {}) {
  const cluster = await createCluster(t, kube, { references, spec: { home: true, ...spec } });
  await untilCluster(kube, cluster.metadata.name, "Ready", { status: "True", reason: "Served" });
  return cluster;
}

async function deleteCluster(kube: Kube, { metadata: { name } }: Cluster): Promise<void> {
  await kube.delete(clusters, { name });
  await untilGone(kube, clusters, { name });
}

async function staying(kube: Kube): Promise<readonly string[]> {
  const all = await kube.list<KubeObject>(namespaceKind);
  return all.filter(({ metadata }) => !metadata.deletionTimestamp).map(({ metadata }) => metadata.name);
}

for (const way of ["home: true", "a kubeconfig that leads there"] as const) {
  test(`by ${way} the home is served like any cluster, and left like any cluster`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 1);
    const [app] = namespaces;
    const source = await createSource(t, kube);
    const name = literalName(source);
    const theirs = await createSource(t, kube, "theirs", "not-ours");
    const before = await theSecret(kube, theirs);
    const from = await auditPosition(kube, "default");
    const kubeconfig = way === "home: true" ? undefined : await userClusterKubeconfig(own.plane);
    const cluster = await createCluster(t, kube, {
      references: [source],
      ...(kubeconfig ? { kubeconfig: await createKubeconfig(kube, kubeconfig) } : { spec: { home: true } }),
    });
    const ready = await untilCluster(kube, cluster.metadata.name, "Ready", { status: "True", reason: "Served" });
    const system = await kube.get<KubeObject>(namespaceKind, { name: "kube-system" });
    assert.equal(ready.status?.clusterID, system?.metadata.uid);
    assert.equal(ready.status?.injection?.mode, "Policy");
    for (const namespace of await staying(kube)) await untilPullSecret(kube, `${namespace}/${name}`, "one");
    assert.deepEqual(await injectionIn(kube), policyObjects);
    await untilGiven(kube, app, [name]);
    const pod = await createPod(t, kube, `${app}/web`, { spec: { imagePullSecrets: [{ name: "mine" }] } });
    assert.deepEqual(pullSecretsOf(pod), ["mine", name]);

    const writes = (await operatorWrites(kube, "default", { from })).map(({ resource }) => resource);
    const copy = writes.indexOf("secrets", writes.indexOf("mutatingadmissionpolicybindings"));
    assert.ok(copy > 0, "copies come after the injection");
    assert.ok(writes.lastIndexOf("mutatingadmissionpolicybindings") < copy);

    const fresh = (await testNamespaces(t, 1)).namespaces[0];
    const { uid } = (await untilPullSecret(kube, `${fresh}/${name}`, "one")).metadata;
    await setValues(kube, source, dockerConfig("robot", "two"));
    assert.equal((await untilPullSecret(kube, `${fresh}/${name}`, "two")).metadata.uid, uid);
    await deleteSecret(kube, `${fresh}/${name}`);
    await untilPullSecret(kube, `${fresh}/${name}`, "two");

    const told = new EventsOf(t, kube, cluster);
    await deleteCluster(kube, cluster);
    assert.deepEqual(await injectionIn(kube), []);
    assert.equal((await copiesOf(kube, source)).size, 0, "running Pods keep a dangling name");
    assert.equal(told.inShort.includes("Warning CleanupIncomplete"), false);
    await untilLabelled(kube, source, false);
    assert.deepEqual(await theSecret(kube, theirs), before);
    assert.ok(await kube.get(pods, at(`${app}/web`)));
  });
}

test("in the home a reference that is removed takes its copies along, though Pods still name them", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [first, second] = [await createSource(t, kube), await createSource(t, kube)];
  const cluster = await serveHome(t, kube, [first, second]);
  await untilGiven(kube, namespaces[0], [literalName(first), literalName(second)]);
  await createPod(t, kube, `${namespaces[0]}/web`);
  await changeCluster(kube, cluster, { imagePullSecrets: [at(first)] });
  await untilGone(kube, secrets, at(`${namespaces[0]}/${literalName(second)}`));
  await untilLabelled(kube, second, false);
  assert.equal((await copiesOf(kube, second)).size, 0);
  await untilPullSecret(kube, `${namespaces[0]}/${literalName(first)}`, "one");
  await deleteCluster(kube, cluster);
});

test("in the home a reference that is removed while nobody serves takes its copies along afterwards", async (t) => {
  const { kube } = await testNamespaces(t, 1);
  const [first, second] = [await createSource(t, kube), await createSource(t, kube)];
  const cluster = await serveHome(t, kube, [first, second]);
  await changeCluster(kube, cluster, { pause: true });
  await untilCluster(kube, cluster.metadata.name, "Paused", { status: "True" });
  await changeCluster(kube, cluster, { imagePullSecrets: [at(first)] });
  // Longer than a reference that is removed keeps its copies.
  await sleep(4_000);
  assert.ok((await copiesOf(kube, second)).size > 0);
  await changeCluster(kube, cluster, { pause: false });
  await untilGone(kube, secrets, at(`default/${literalName(second)}`));
  await untilLabelled(kube, second, false);
  await deleteCluster(kube, cluster);
});

test("a kubeconfig that leads to the home gives nobody more rights there than it has", async (t) => {
  const { kube } = await testNamespaces(t, 1);
  const source = await createSource(t, kube);
  const weak = await userClusterKubeconfig(own.plane, { without: [{ verb: "create", resource: "secrets" }] });
  const cluster = await createCluster(t, kube, {
    references: [source],
    kubeconfig: await createKubeconfig(kube, weak),
  });
  const { name } = cluster.metadata;
  await untilCluster(kube, name, "Ready", {
    ...{ status: "False", reason: "Forbidden" },
    message: /^cannot create secrets: the kubeconfig's user lacks the verb create on secrets/,
  });
  assert.equal((await copiesOf(kube, source)).size, 0);
  assert.deepEqual(await injectionIn(kube), []);
  await userClusterKubeconfig(own.plane);
  await untilCluster(kube, name, "Ready", { status: "True", reason: "Served" });
  await deleteCluster(kube, cluster);
});

test("who merely claims to be the home is not believed", async (t) => {
  const { kube } = await testNamespaces(t, 1);
  const source = await createSource(t, kube);
  const system = await kube.getMetadata(namespaceKind, { name: "kube-system" });
  const liar = createServer((request, response) => {
    const isKnown = /kube-system|version/.test(request.url ?? "");
    response.writeHead(isKnown ? 200 : 404, { "content-type": "application/json" });
    response.end(JSON.stringify({ ...system, gitVersion: "v1.36.4" }));
  });
  liar.listen(0, "127.0.0.1");
  await once(liar, "listening");
  t.after(() => {
    liar.close();
    liar.closeAllConnections();
  });
  const server = `http://127.0.0.1:${(liar.address() as AddressInfo).port}`;
  const kubeconfig = kubeconfigLike(user.kubeconfig, { cluster: { server } });
  const cluster = await createCluster(t, kube, {
    references: [source],
    kubeconfig: await createKubeconfig(kube, kubeconfig),
  });
  await untilCluster(kube, cluster.metadata.name, "Reachable", {
    ...{ status: "False", reason: "Unauthorized" },
    message: "the home refuses the credentials of the kubeconfig",
  });
  assert.equal((await copiesOf(kube, source)).size, 0);
  assert.deepEqual(await injectionIn(kube), []);
});

test("a SidecarSet and the home share their copies: the first who asks makes them, the last who needs them keeps them", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [team, other] = namespaces;
  const source = await createSource(t, kube);
  const name = literalName(source);
  await untilGiven(kube, team, []);
  const set = await createSidecarSet(t, kube, { pullSecrets: [source] });
  const sidecar = await createInjectedPod(t, kube, `${team}/web`, { labels: labelsFor(set) });
  assert.deepEqual(pullSecretsOf(sidecar), [name]);
  const { uid, resourceVersion } = (await untilPullSecret(kube, `${team}/${name}`, "one")).metadata;
  assert.equal(await getSecret(kube, `${other}/${name}`), undefined);

  const cluster = await serveHome(t, kube, [source]);
  await untilPullSecret(kube, `${other}/${name}`, "one");
  const shared = await theSecret(kube, `${team}/${name}`);
  assert.deepEqual([shared.metadata.uid, shared.metadata.resourceVersion], [uid, resourceVersion], "no write");
  const both = await createInjectedPod(t, kube, `${team}/both`, { labels: labelsFor(set) });
  assert.deepEqual(pullSecretsOf(both), [name], "once");

  await deleteCluster(kube, cluster);
  assert.deepEqual(await injectionIn(kube), []);
  await untilGone(kube, secrets, at(`${other}/${name}`));
  await setValues(kube, source, dockerConfig("robot", "two"));
  assert.equal((await untilPullSecret(kube, `${team}/${name}`, "two")).metadata.uid, uid);
  await untilLabelled(kube, source, true);
});

test("the home goes on with the copies of a SidecarSet that is deleted", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const source = await createSource(t, kube);
  const copy = `${namespaces[0]}/${literalName(source)}`;
  const set = await createSidecarSet(t, kube, { pullSecrets: [source] });
  await createInjectedPod(t, kube, `${namespaces[0]}/web`, { labels: labelsFor(set) });
  const cluster = await serveHome(t, kube, [source]);
  const { uid } = (await untilPullSecret(kube, copy, "one")).metadata;
  await kube.delete(sidecarSets, { name: set.metadata.name });
  await kube.delete(pods, at(`${namespaces[0]}/web`));
  await setValues(kube, source, dockerConfig("robot", "two"));
  assert.equal((await untilPullSecret(kube, copy, "two")).metadata.uid, uid);
  await deleteCluster(kube, cluster);
  assert.equal((await copiesOf(kube, source)).size, 0);
});

test("Retain: copies at home outlive their source, but not where a SidecarSet lists it, nor on a cluster with Delete", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [kept, revoked] = [await createSource(t, kube), await createSource(t, kube)];
  const kubeconfig = await createKubeconfig(kube, user.kubeconfig);
  const remote = await createCluster(t, kube, { references: [kept, revoked], kubeconfig });
  await serveHome(t, kube, [kept, revoked], { onSourceDeleted: "Retain" });
  await untilCluster(kube, remote.metadata.name, "Ready", { status: "True" });
  await createSidecarSet(t, kube, { pullSecrets: [revoked] });
  const before = await copiesOf(kube, kept);
  for (const source of [kept, revoked]) await deleteSecret(kube, source);
  await untilGone(kube, secrets, at(`${namespaces[0]}/${literalName(revoked)}`));
  for (const source of [kept, revoked]) await untilGone(user.kube, secrets, at(`kube-system/${literalName(source)}`));
  assert.equal((await copiesOf(kube, revoked)).size, 0);
  const after = await copiesOf(kube, kept);
  for (const [namespace, copy] of before) assert.deepEqual(after.get(namespace), copy, namespace);
  assert.deepEqual(await givenIn(kube, namespaces[0]), [literalName(kept), literalName(revoked)], "injected on");
});

test("of a source that two clusters reference, the label goes with the last one", async (t) => {
  const { kube } = await testNamespaces(t, 1);
  const source = await createSource(t, kube);
  const name = literalName(source);
  const kubeconfig = await createKubeconfig(kube, user.kubeconfig);
  const remote = await createCluster(t, kube, { references: [source], kubeconfig });
  const home = await serveHome(t, kube, [source]);
  await untilCluster(kube, remote.metadata.name, "Ready", { status: "True" });
  await setValues(kube, source, dockerConfig("robot", "two"));
  for (const each of [kube, user.kube]) await untilPullSecret(each, `kube-public/${name}`, "two");

  await deleteCluster(kube, home);
  assert.deepEqual(await injectionIn(kube), []);
  await untilGone(kube, secrets, { namespace: "kube-public", name });
  await setValues(kube, source, dockerConfig("robot", "three"));
  await untilPullSecret(user.kube, `kube-public/${name}`, "three");
  await untilLabelled(kube, source, true);
  await deleteCluster(kube, remote);
  await untilLabelled(kube, source, false);
  assert.equal((await copiesOf(user.kube, source)).size, 0);
});

test("a home that is paused is left as it is, whatever becomes of its sources, and caught up with afterwards", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const sources = [await createSource(t, kube), await createSource(t, kube), await createSource(t, kube)] as const;
  const [rotated, deleted, vetoed] = sources;
  const kubeconfig = await createKubeconfig(kube, user.kubeconfig);
  const remote = await createCluster(t, kube, { references: sources, kubeconfig });
  const cluster = await serveHome(t, kube, sources);
  await untilCluster(kube, remote.metadata.name, "Ready", { status: "True" });
  await changeCluster(kube, cluster, { pause: true });
  await untilCluster(kube, cluster.metadata.name, "Ready", { status: "False", reason: "SpecSaysPaused" });
  const before = await Promise.all(sources.map((source) => copiesOf(kube, source)));

  await setValues(kube, rotated, dockerConfig("robot", "two"));
  await untilPullSecret(user.kube, `default/${literalName(rotated)}`, "two");
  await deleteSecret(kube, deleted);
  const veto = { metadata: { annotations: { "latchkey.dev/no-copy": "true" } } };
  await kube.patch(secrets, at(vetoed), { type: "merge", body: veto });
  const fresh = (await testNamespaces(t, 1)).namespaces[0];
  for (const source of [deleted, vetoed]) await untilGone(user.kube, secrets, at(`default/${literalName(source)}`));
  assert.deepEqual(await Promise.all(sources.map((source) => copiesOf(kube, source))), before);
  assert.equal(await getSecret(kube, `${fresh}/${literalName(rotated)}`), undefined);
  assert.deepEqual(await givenIn(kube, namespaces[0]), sources.map(literalName));

  await changeCluster(kube, cluster, { pause: false });
  for (const namespace of [fresh, "kube-system"]) {
    await untilPullSecret(kube, `${namespace}/${literalName(rotated)}`, "two");
  }
  for (const source of [deleted, vetoed]) await untilGone(kube, secrets, at(`kube-system/${literalName(source)}`));
});

test("a home that is paused and deleted keeps what was made there, and the next Cluster goes on with it", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const source = await createSource(t, kube);
  const marker = await createSource(t, kube);
  const cluster = await serveHome(t, kube, [source]);
  const told = new EventsOf(t, kube, cluster);
  await changeCluster(kube, cluster, { pause: true });
  await untilCluster(kube, cluster.metadata.name, "Paused", { status: "True" });
  const before = await copiesOf(kube, source);
  await deleteCluster(kube, cluster);
  await untilEvent(told, "Warning CleanupSkipped");
  const kubeconfig = await createKubeconfig(kube, user.kubeconfig);
  const remote = await createCluster(t, kube, { references: [marker], kubeconfig });
  await untilCluster(kube, remote.metadata.name, "Ready", { status: "True" });
  // Longer than a reference that is removed keeps its copies.
  await sleep(4_000);
  assert.deepEqual(await copiesOf(kube, source), before);
  assert.deepEqual(await injectionIn(kube), policyObjects);

  const next = await serveHome(t, kube, [source]);
  for (const [namespace, copy] of await copiesOf(kube, source)) {
    if (before.has(namespace)) assert.deepEqual(copy, before.get(namespace));
  }
  assert.deepEqual(await givenIn(kube, namespaces[0]), [literalName(source)]);
  await deleteCluster(kube, next);
  assert.equal((await copiesOf(kube, source)).size, 0);
});
