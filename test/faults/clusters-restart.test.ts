import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type KubeObject, secrets } from "../../src/api/objects.ts";
import type { Kube } from "../../src/kube/client.ts";
import { afterwards, type Fault, type Seen } from "../../src/testing/api-proxy.ts";
import { auditPosition, operatorWrites, type Write } from "../../src/testing/audit.ts";
import { testNamespaces } from "../../src/testing/cluster.ts";
import {
  changeCluster,
  copiesOf,
  createCluster,
  createKubeconfig,
  createSource,
  injectionIn,
  proxyTo,
  uidsOf,
} from "../../src/testing/cluster-scenes.ts";
import { configMaps } from "../../src/testing/objects.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import { deleteSecret, setValues } from "../../src/testing/secrets.ts";
import { createPod, dockerConfig, literalName, untilPullSecret } from "../../src/testing/sidecars.ts";
import {
  type Cluster,
  type ClusterSpec,
  clusters,
  createUserNamespace,
  untilCluster,
  userCluster,
} from "../../src/testing/user-clusters.ts";
import { untilGone } from "../../src/testing/wait.ts";
import type { Operator } from "../../tools/local/operator.ts";

const user = userCluster();
const old = userCluster({ emulatedVersion: "1.33" });
let operator: Operator;
const own = ownPlane(async (plane) => {
  operator = await plane.operator();
});

/** Outside a cluster it listens elsewhere each time, and has to say so. */
const describe = (writes: readonly Write[]): readonly string[] =>
  writes
    .filter(({ resource }) => !resource.endsWith("webhookconfigurations"))
    .map(({ verb, resource, subresource, namespace }) =>
      [verb, resource, subresource, namespace].filter(Boolean).join(" "),
    );

async function allClusters(kube: Kube): Promise<readonly string[]> {
  const all = await kube.list<Cluster>(clusters);
  return all.map(
    ({ metadata: { name, resourceVersion }, status }) => `${name} ${resourceVersion} ${JSON.stringify(status)}`,
  );
}

/** A home, a cluster in each mode, one that is paused, one without kubeconfig, with sources of all kinds. */
async function everything(t: TestContext) {
  const kube = await own.kube;
  const [source, retained, vetoed] = [
    await createSource(t, kube),
    await createSource(t, kube),
    await createSource(t, kube),
  ];
  const missing = source.replace("/quay", "/missing");
  const serve = async (name: string, kubeconfig: string | undefined, references: string[], spec: ClusterSpec = {}) => {
    const at = kubeconfig && (await createKubeconfig(kube, kubeconfig));
    return createCluster(t, kube, { name, references, spec, ...(at && { kubeconfig: at }) });
  };
  await serve("home", undefined, [source, retained], { home: true, onSourceDeleted: "Retain" });
  await serve("policy", user.kubeconfig, [source, retained], { onSourceDeleted: "Retain" });
  await serve("accounts", old.kubeconfig, [vetoed, source, missing]);
  await serve("the-paused", user.kubeconfig, [source], { pause: true });
  await serve("lost", undefined, [source]);
  for (const name of ["home", "policy"]) await untilCluster(kube, name, "Ready", { status: "True" });
  await deleteSecret(kube, retained);
  const veto = { metadata: { annotations: { "latchkey.dev/no-copy": "true" } } };
  const [namespace = "", name = ""] = vetoed.split("/");
  await kube.patch(secrets, { namespace, name }, { type: "merge", body: veto });
  for (const each of ["home", "policy"]) await untilCluster(kube, each, "Ready", { reason: "SourceMissing" });
  await untilCluster(kube, "accounts", "Ready", { reason: "SourceVetoed" });
  await untilCluster(kube, "the-paused", "Ready", { reason: "SpecSaysPaused" });
  await untilCluster(kube, "lost", "Ready", { reason: "KubeconfigMissing" });
  // What is left to tell comes together, within the second.
  await sleep(3_000);
  return { kube, source };
}

test("started again with nothing changed, it writes nothing, at home or anywhere else", async (t) => {
  const { kube, source } = await everything(t);
  const before = await allClusters(kube);
  for (const end of ["stop", "kill"] as const) {
    await operator[end]();
    const from = [await auditPosition(kube, "default"), await user.position(), await old.position()] as const;
    operator = await own.operator();
    // All have been looked at once what is missing in each of them is there again.
    const name = literalName(source);
    const restored = [kube, user.kube, old.kube].map(async (each) => {
      await deleteSecret(each, `kube-public/${name}`);
      await untilPullSecret(each, `kube-public/${name}`, "one");
    });
    await Promise.all(restored);
    // Whoever has waited for two seconds for the end of something tells of it.
    await sleep(4_000);
    const writes = [
      ...(await operatorWrites(kube, "default", { from: from[0] })),
      ...(await user.writes({ from: from[1] })),
      ...(await old.writes({ from: from[2] })),
    ];
    assert.deepEqual(describe(writes), Array(3).fill("create secrets kube-public"), end);
    assert.deepEqual(await allClusters(kube), before);
  }
});

test("a start that takes long changes nothing at home either", async (t) => {
  const { kube, source } = await everything(t);
  const before = await allClusters(kube);
  const copies = await copiesOf(kube, source);
  await operator.stop();
  const from = await auditPosition(kube, "default");
  const proxy = await own.proxy();
  const isSlow = ({ path }: Seen) => /\/mutatingadmissionpolicies\?/.test(path);
  const slow = proxy.fault((request) => (isSlow(request) ? { kind: "hold" } : undefined));
  operator = await own.operator({ through: proxy });
  await slow.reached(1);
  // Longer than the copies wait for the injection.
  await sleep(7_000);
  assert.deepEqual(describe(await operatorWrites(kube, "default", { from })), []);
  slow.lift();
  await deleteSecret(kube, `kube-public/${literalName(source)}`);
  await untilPullSecret(kube, `kube-public/${literalName(source)}`, "one");
  await sleep(4_000);
  const writes = await operatorWrites(kube, "default", { from });
  assert.deepEqual(describe(writes), ["create secrets kube-public"]);
  for (const [namespace, copy] of await copiesOf(kube, source)) {
    if (namespace !== "kube-public") assert.deepEqual(copy, copies.get(namespace));
  }
  assert.deepEqual(await allClusters(kube), before);
  await operator.stop();
  operator = await own.operator();
});

const to = (method: string, part: RegExp) => (request: Seen) => request.method === method && part.test(request.path);
const copyCreated = to("POST", /\/secrets\?/);
const copyChanged = to("PATCH", /\/secrets\//);
const copyDeleted = to("DELETE", /\/secrets\//);
const bindingWritten = to("POST", /mutatingadmissionpolicybindings/);

test("killed in the middle of a first pass, of a rotation and of a deletion, it goes on where it was", async (t) => {
  const kube = await own.kube;
  const source = await createSource(t, kube);
  const name = literalName(source);
  const namespaces = await Promise.all(Array.from({ length: 60 }, () => createUserNamespace(t, user)));
  const { proxy, kubeconfig } = await proxyTo(user);
  /** Kills it when so many requests have passed; those under way never arrive, arrive late, or are not answered. */
  const dieAt = async (pick: (request: Seen) => Fault | undefined, act: () => Promise<unknown>, isLate = false) => {
    const moment = proxy.fault(pick);
    await act();
    await moment.reached(1);
    await operator.kill();
    if (isLate) moment.lift();
    else moment.discard();
  };
  const live = async () => {
    operator = await own.operator();
  };
  let cluster: Cluster | undefined;
  await dieAt(afterwards(0, bindingWritten, { kind: "hold" }), async () => {
    const secret = await createKubeconfig(kube, kubeconfig);
    cluster = await createCluster(t, kube, { references: [source], kubeconfig: secret });
  });
  await dieAt(afterwards(20, copyCreated, { kind: "hold" }), live, true);
  await dieAt(afterwards(10, copyCreated, { kind: "lose" }), live);
  const early = uidsOf(await copiesOf(user.kube, source));
  assert.ok(Object.keys(early).length >= 20);
  await live();
  const clusterName = cluster?.metadata.name ?? "";
  await untilCluster(kube, clusterName, "Ready", { status: "True", reason: "Served" });
  const uids = uidsOf(await copiesOf(user.kube, source));
  assert.deepEqual({ ...uids, ...early }, uids, "no copy was made twice");
  for (const namespace of namespaces) assert.ok(uids[namespace], namespace);

  await dieAt(afterwards(15, copyChanged, { kind: "hold" }), () =>
    setValues(kube, source, dockerConfig("robot", "two")),
  );
  await dieAt(afterwards(20, copyChanged, { kind: "lose" }), live);
  await live();
  for (const namespace of namespaces) await untilPullSecret(user.kube, `${namespace}/${name}`, "two");
  assert.deepEqual(uidsOf(await copiesOf(user.kube, source)), uids);
  await untilCluster(kube, clusterName, "Ready", { status: "True" });

  await dieAt(afterwards(15, copyDeleted, { kind: "hold" }), () => kube.delete(clusters, { name: clusterName }), true);
  await dieAt(afterwards(15, copyDeleted, { kind: "lose" }), live);
  await live();
  await untilGone(kube, clusters, { name: clusterName });
  assert.equal((await copiesOf(user.kube, source)).size, 0);
  assert.deepEqual(await injectionIn(user.kube), []);
});

test("killed while it serves accounts, it lists no name twice and forgets none", async (t) => {
  const kube = await own.kube;
  const source = await createSource(t, kube);
  const namespaces = await Promise.all(Array.from({ length: 20 }, () => createUserNamespace(t, old)));
  const { proxy, kubeconfig } = await proxyTo(old);
  const accountChanged = to("PATCH", /\/serviceaccounts\//);
  const moment = proxy.fault(afterwards(10, accountChanged, { kind: "lose" }));
  const secret = await createKubeconfig(kube, kubeconfig);
  const { metadata } = await createCluster(t, kube, { references: [source], kubeconfig: secret });
  await moment.reached(1);
  await operator.kill();
  moment.discard();
  operator = await own.operator();
  await untilCluster(kube, metadata.name, "Ready", { status: "True", reason: "Served" });
  const accounts = { group: "", version: "v1", plural: "serviceaccounts", kind: "ServiceAccount", namespaced: true };
  const listed = await old.kube.list<KubeObject & { imagePullSecrets?: { name: string }[] }>(accounts);
  for (const account of listed.filter((each) => namespaces.includes(each.metadata.namespace ?? ""))) {
    assert.deepEqual(account.imagePullSecrets, [{ name: literalName(source) }], account.metadata.namespace);
  }
  await kube.delete(clusters, { name: metadata.name });
  await untilGone(kube, clusters, { name: metadata.name });
  assert.deepEqual(await injectionIn(old.kube), []);
});

test("what changed at home while nobody was there is made up for", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [app, excluded] = namespaces;
  const [kept, gone] = [await createSource(t, kube), await createSource(t, kube)];
  const cluster = await createCluster(t, kube, { references: [kept, gone], spec: { home: true } });
  await untilCluster(kube, cluster.metadata.name, "Ready", { status: "True" });
  const { uid } = (await untilPullSecret(kube, `${app}/${literalName(kept)}`, "one")).metadata;
  await operator.stop();
  await setValues(kube, kept, dockerConfig("robot", "two"));
  await deleteSecret(kube, gone);
  await deleteSecret(kube, `default/${literalName(kept)}`);
  await kube.patch(
    configMaps,
    { namespace: "kube-system", name: "latchkey-pull-secrets" },
    {
      type: "merge",
      body: { data: { names: "" } },
    },
  );
  await kube.patch(
    clusters,
    { name: cluster.metadata.name },
    {
      type: "merge",
      body: { spec: { excludedNamespaces: [excluded] } },
    },
  );
  operator = await own.operator();
  const fresh = (await testNamespaces(t, 1)).namespaces[0];
  for (const namespace of ["default", fresh]) await untilPullSecret(kube, `${namespace}/${literalName(kept)}`, "two");
  assert.equal((await untilPullSecret(kube, `${app}/${literalName(kept)}`, "two")).metadata.uid, uid);
  await untilGone(kube, secrets, { namespace: app, name: literalName(gone) });
  await untilGone(kube, secrets, { namespace: excluded, name: literalName(kept) });
  await untilCluster(kube, cluster.metadata.name, "Ready", { reason: "SourceMissing" });
  assert.deepEqual(await injectionIn(kube), ["policy", "binding", "record"]);
});

for (const mode of ["Policy", "ServiceAccount"] as const) {
  test(`mode ${mode}: a home that was paused and deleted keeps its copies over a restart, until a Cluster is the home again`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 1);
    const source = await createSource(t, kube);
    const marker = await createSource(t, kube);
    const spec = { home: true, injection: { mode } };
    const cluster = await createCluster(t, kube, { references: [source], spec });
    await untilCluster(kube, cluster.metadata.name, "Ready", { status: "True" });
    await changeCluster(kube, cluster, { pause: true });
    await untilCluster(kube, cluster.metadata.name, "Paused", { status: "True" });
    const before = await copiesOf(kube, source);
    await kube.delete(clusters, { name: cluster.metadata.name });
    await untilGone(kube, clusters, { name: cluster.metadata.name });
    await operator.stop();
    operator = await own.operator();
    const kubeconfig = await createKubeconfig(kube, user.kubeconfig);
    const remote = await createCluster(t, kube, { references: [marker], kubeconfig });
    await untilCluster(kube, remote.metadata.name, "Ready", { status: "True" });
    assert.deepEqual(await copiesOf(kube, source), before);

    const next = await createCluster(t, kube, { references: [source], spec });
    await untilCluster(kube, next.metadata.name, "Ready", { status: "True" });
    const after = await copiesOf(kube, source);
    for (const [namespace, copy] of before) if (after.has(namespace)) assert.deepEqual(after.get(namespace), copy);
    await createPod(t, kube, `${namespaces[0]}/web`);

    // Nobody is there when it is deleted, and a Pod names what has to go.
    await operator.stop();
    await kube.delete(clusters, { name: next.metadata.name });
    operator = await own.operator();
    await untilGone(kube, clusters, { name: next.metadata.name });
    assert.equal((await copiesOf(kube, source)).size, 0);
    assert.deepEqual(await injectionIn(kube), []);
  });
}
