import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type KubeObject, type Secret, secrets } from "../../src/api/objects.ts";
import type { Kube } from "../../src/kube/client.ts";
import { uniqueName } from "../../src/testing/cluster.ts";
import {
  copiesOf,
  createCluster,
  createKubeconfig,
  createSource,
  injectionIn,
  proxyTo,
  uidsOf,
  untilLabelled,
} from "../../src/testing/cluster-scenes.ts";
import { EventsOf } from "../../src/testing/events.ts";
import { createAccount, givenIn, listOf, type ServiceAccount, untilListed } from "../../src/testing/injection.ts";
import { configMaps } from "../../src/testing/objects.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import { createSecret, deleteSecret, setValues, theSecret } from "../../src/testing/secrets.ts";
import { untilEvent } from "../../src/testing/served-clusters.ts";
import {
  dockerConfig,
  literalName,
  serviceAccounts,
  suffixedName,
  untilPullSecret,
} from "../../src/testing/sidecars.ts";
import {
  type Cluster,
  clusters,
  createUserNamespace,
  type UserCluster,
  untilCluster,
  userCluster,
} from "../../src/testing/user-clusters.ts";
import { until, untilGone } from "../../src/testing/wait.ts";
import type { Operator } from "../../tools/local/operator.ts";
import { userClusterKubeconfig } from "../../tools/local/user-cluster.ts";

const user = userCluster();
const old = userCluster({ emulatedVersion: "1.33" });
const timeoutMs = 8_000;
const args = [`--cluster-cleanup-timeout=${timeoutMs / 1000}s`];
let operator: Operator;
const own = ownPlane(async (plane) => {
  operator = await plane.operator({ args });
});

interface Served {
  readonly kube: Kube;
  readonly source: string;
  readonly cluster: Cluster;
  readonly told: EventsOf;
}

async function served(
  t: TestContext,
  where: Pick<UserCluster, "kubeconfig">,
  { name = uniqueName("cluster"), source }: { readonly name?: string; readonly source?: string } = {},
): Promise<Served> {
  const kube = await own.kube;
  const reference = source ?? (await createSource(t, kube));
  const kubeconfig = await createKubeconfig(kube, where.kubeconfig);
  const cluster = await createCluster(t, kube, { name, references: [reference], kubeconfig });
  await untilCluster(kube, name, "Ready", { status: "True", reason: "Served" });
  return { kube, source: reference, cluster, told: new EventsOf(t, kube, cluster) };
}

/** How long that takes, by the clock of the API server. */
async function deleteCluster({ kube, cluster: { metadata } }: Served): Promise<number> {
  const { name } = metadata;
  await kube.delete(clusters, { name });
  const going = await until<Cluster>(kube, clusters, { name }, "is going", (seen) => {
    return !seen || seen.metadata.deletionTimestamp !== undefined;
  });
  await untilGone(kube, clusters, { name });
  return Date.now() - Date.parse(going?.metadata.deletionTimestamp ?? new Date().toISOString());
}

/** Things of others that look like ours in one way or another. */
async function createForeign(t: TestContext, where: UserCluster, source: string) {
  const { kube } = where;
  const app = await createUserNamespace(t, where);
  const labels = { "app.kubernetes.io/managed-by": "latchkey", "latchkey.dev/source-hash": "0123456789" };
  const all: readonly KubeObject[] = [
    await createSecret(kube, `${app}/${literalName(source)}`, { held: "by others" }),
    await createSecret(kube, `${app}/marked`, {}, { labels: { ...labels, "latchkey.dev/owner-uid": "somebody-else" } }),
    await kube.create<KubeObject>(configMaps, { metadata: { namespace: app, name: "latchkey-pull-secrets" } }),
  ];
  await createAccount(kube, `${app}/robot`, { names: ["theirs"], annotations: { note: "keep" } });
  return { app, all };
}

for (const [mode, where] of [
  ["Policy", user],
  ["ServiceAccount", old],
] as const) {
  test(`mode ${mode}: a Cluster that is deleted takes along everything of ours, and nothing else`, async (t) => {
    const kube = await own.kube;
    const source = await createSource(t, kube);
    const { app, all } = await createForeign(t, where, source);
    const scene = await served(t, where, { source });
    await untilPullSecret(where.kube, `${app}/${suffixedName(source)}`, "one");
    if (mode === "ServiceAccount") await untilListed(where.kube, `${app}/robot`, ["theirs", suffixedName(source)]);

    await deleteCluster(scene);
    assert.deepEqual(await givenIn(where.kube, app), [], "Pods are clean from now on");
    assert.deepEqual(await injectionIn(where.kube), []);
    assert.equal((await copiesOf(where.kube, source)).size, 0);
    assert.equal(scene.told.inShort.includes("Warning CleanupIncomplete"), false);
    await untilLabelled(kube, source, false);
    for (const { metadata } of all) {
      const kind = metadata.name === "latchkey-pull-secrets" ? configMaps : secrets;
      const seen = await where.kube.get<KubeObject>(kind, { ...metadata });
      assert.equal(seen?.metadata.resourceVersion, metadata.resourceVersion, metadata.name);
    }
    const account = await where.kube.get<ServiceAccount>(serviceAccounts, { namespace: app, name: "robot" });
    assert.deepEqual(account && listOf(account), ["theirs"]);
    assert.deepEqual(account?.metadata.annotations, { note: "keep" });
  });
}

test("a Cluster whose server is down is released when its time is up, and one of its name goes on with what it left", async (t) => {
  const scene = await served(t, user);
  const { kube, source, told, cluster } = scene;
  const name = literalName(source);
  const before = uidsOf(await copiesOf(user.kube, source));
  await user.plane.components.apiserver.kill();
  const tookMs = await deleteCluster(scene);
  assert.ok(tookMs >= timeoutMs - 1_000, `released after ${tookMs} ms`);
  assert.ok(tookMs < timeoutMs + 15_000, `released after ${tookMs} ms`);
  await untilEvent(told, "Warning CleanupIncomplete");
  assert.match(told.messages.at(-1) ?? "", /; what Latchkey made there stays there$/);
  await user.plane.components.apiserver.start();
  assert.deepEqual(uidsOf(await copiesOf(user.kube, source)), before);
  assert.deepEqual(await injectionIn(user.kube), ["policy", "binding", "record"]);

  await setValues(kube, source, dockerConfig("robot", "two"));
  const again = await served(t, user, { name: cluster.metadata.name, source });
  for (const namespace of Object.keys(before)) await untilPullSecret(user.kube, `${namespace}/${name}`, "two");
  assert.deepEqual(uidsOf(await copiesOf(user.kube, source)), before);
  await deleteCluster(again);
  assert.equal((await copiesOf(user.kube, source)).size, 0);
});

test("a server that does not answer at all delays the release by no more than it takes to notice", async (t) => {
  const scene = await served(t, user);
  user.plane.components.apiserver.pause();
  try {
    const tookMs = await deleteCluster(scene);
    assert.ok(tookMs < timeoutMs + 30_000, `released after ${tookMs} ms`);
    await untilEvent(scene.told, "Warning CleanupIncomplete");
  } finally {
    user.plane.components.apiserver.resume();
  }
  await deleteCluster(await served(t, user, { source: scene.source }));
  assert.equal((await copiesOf(user.kube, scene.source)).size, 0);
});

test("a server that comes back in time is cleaned up", async (t) => {
  const { proxy, kubeconfig } = await proxyTo(user);
  const scene = await served(t, { kubeconfig });
  const down = proxy.fault(() => ({ kind: "cut" }));
  proxy.cut();
  const { name } = scene.cluster.metadata;
  await scene.kube.delete(clusters, { name });
  await down.reached(3);
  down.lift();
  await untilGone(scene.kube, clusters, { name });
  assert.equal((await copiesOf(user.kube, scene.source)).size, 0);
  assert.deepEqual(await injectionIn(user.kube), []);
  assert.equal(scene.told.inShort.includes("Warning CleanupIncomplete"), false);
});

test("a Cluster whose kubeconfig is gone is released when its time is up", async (t) => {
  const scene = await served(t, user);
  const { namespace, name = "" } = scene.cluster.spec.kubeconfigSecretRef ?? { namespace: "" };
  await deleteSecret(scene.kube, `${namespace}/${name}`);
  await untilCluster(scene.kube, scene.cluster.metadata.name, "Reachable", { reason: "KubeconfigMissing" });
  const tookMs = await deleteCluster(scene);
  assert.ok(tookMs >= timeoutMs - 1_000, `released after ${tookMs} ms`);
  await untilEvent(scene.told, "Warning CleanupIncomplete");
  assert.match(scene.told.messages.at(-1) ?? "", /no kubeconfig in Secret/);
  await deleteCluster(await served(t, user, { source: scene.source }));
});

test("a right that is missing is named when the time is up, and the rest is removed", async (t) => {
  const scene = await served(t, user);
  await userClusterKubeconfig(user.plane, { without: [{ verb: "delete", resource: "secrets" }] });
  await deleteCluster(scene);
  await untilEvent(scene.told, "Warning CleanupIncomplete");
  assert.match(scene.told.messages.at(-1) ?? "", /lacks the verb delete on secrets/);
  assert.deepEqual(await injectionIn(user.kube), []);
  assert.ok((await copiesOf(user.kube, scene.source)).size > 0);
  await userClusterKubeconfig(user.plane);
  await deleteCluster(await served(t, user, { source: scene.source }));
  assert.equal((await copiesOf(user.kube, scene.source)).size, 0);
});

test("a right that is missing for the injection does not keep the credentials there", async (t) => {
  const scene = await served(t, user);
  const resource = "mutatingadmissionpolicybindings";
  await userClusterKubeconfig(user.plane, { without: [{ verb: "delete", resource }] });
  await deleteCluster(scene);
  await untilEvent(scene.told, "Warning CleanupIncomplete");
  assert.match(scene.told.messages.at(-1) ?? "", new RegExp(`lacks the verb delete on ${resource}`));
  assert.deepEqual(await injectionIn(user.kube), ["binding"]);
  assert.equal((await copiesOf(user.kube, scene.source)).size, 0);
  await userClusterKubeconfig(user.plane);
  await deleteCluster(await served(t, user, { source: scene.source }));
  assert.deepEqual(await injectionIn(user.kube), []);
});

test("a Cluster that was deleted long ago, while nobody was there, is cleaned up all the same", async (t) => {
  const scene = await served(t, user);
  const { kube, source, cluster } = scene;
  await operator.stop();
  await kube.delete(clusters, { name: cluster.metadata.name });
  const going = await kube.get<Cluster>(clusters, { name: cluster.metadata.name });
  const deletedAtMs = Date.parse(going?.metadata.deletionTimestamp ?? "");
  while (Date.now() < deletedAtMs + timeoutMs) await new Promise((resolve) => setTimeout(resolve, 500));
  await deleteSecret(user.kube, `kube-public/${literalName(source)}`);
  const from = await user.position();
  operator = await own.operator({ args });
  await untilGone(kube, clusters, { name: cluster.metadata.name });
  const made = (await user.writes({ from })).filter(({ verb }) => verb !== "delete");
  assert.deepEqual(made, [], "it is seen off, not served");
  assert.equal((await copiesOf(user.kube, source)).size, 0);
  assert.deepEqual(await injectionIn(user.kube), []);
  await untilLabelled(kube, source, false);
});

test("a finalizer of somebody else keeps a Cluster, cleaned up, and does not bring it back", async (t) => {
  const kube = await own.kube;
  const source = await createSource(t, kube);
  const kubeconfig = await createKubeconfig(kube, user.kubeconfig);
  const finalizers = ["example.com/stays"];
  const { metadata } = await createCluster(t, kube, { references: [source], kubeconfig, finalizers });
  await untilCluster(kube, metadata.name, "Ready", { status: "True" });
  await kube.delete(clusters, { name: metadata.name });
  const released = await until<Cluster>(kube, clusters, { name: metadata.name }, "is released by us", (seen) => {
    return !seen?.metadata.finalizers?.includes("latchkey.dev/clusters");
  });
  assert.deepEqual(released?.metadata.finalizers, finalizers);
  assert.equal((await copiesOf(user.kube, source)).size, 0);
  const from = await user.position();
  await setValues(kube, source, dockerConfig("robot", "two"));
  const marker = await served(t, old);
  await untilPullSecret(old.kube, `default/${literalName(marker.source)}`, "one");
  assert.deepEqual(await user.writes({ from }), []);
  await kube.patch(clusters, { name: metadata.name }, { type: "merge", body: { metadata: { finalizers: null } } });
  await untilGone(kube, clusters, { name: metadata.name });
  assert.equal((await theSecret(kube, source)).metadata.labels?.["latchkey.dev/source"], undefined);
  assert.deepEqual(await kube.list<Secret>(secrets, { labelSelector: "latchkey.dev/source-hash" }), []);
});
