import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { namespaces as namespaceKind } from "../../src/api/objects.ts";
import { auditPosition, operatorWrites, type Write } from "../../src/testing/audit.ts";
import {
  copiesOf,
  createCluster,
  createKubeconfig,
  createSource,
  injectionIn,
  proxyTo,
  uidsOf,
  versionOf,
} from "../../src/testing/cluster-scenes.ts";
import { sampleIn } from "../../src/testing/metrics.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import { Replicas, untilLeads } from "../../src/testing/replicas.ts";
import { setValues } from "../../src/testing/secrets.ts";
import { dockerConfig, literalName, untilPullSecret } from "../../src/testing/sidecars.ts";
import { clusters, createUserNamespace, untilCluster, userCluster } from "../../src/testing/user-clusters.ts";
import { untilGone } from "../../src/testing/wait.ts";
import { ask } from "../../tools/local/http.ts";

const user = userCluster();
const own = ownPlane(async () => {
  await replicas.start("first");
  await replicas.start("second");
});
const replicas = new Replicas(own);

async function served(t: TestContext) {
  const kube = await own.kube;
  const source = await createSource(t, kube);
  const { proxy, kubeconfig } = await proxyTo(user);
  const secret = await createKubeconfig(kube, kubeconfig);
  const [remote, home] = [
    await createCluster(t, kube, { references: [source], kubeconfig: secret }),
    await createCluster(t, kube, { references: [source], spec: { home: true } }),
  ];
  for (const { metadata } of [remote, home]) await untilCluster(kube, metadata.name, "Ready", { status: "True" });
  return { kube, source, name: literalName(source), proxy, remote, home };
}

const inShort = ({ verb, resource, namespace }: Write) => `${verb} ${resource} ${namespace}`;

/** Changes the source and waits for all copies; tells what was written. */
async function rotate({ kube, source, name }: Awaited<ReturnType<typeof served>>, token: string) {
  const from = [await user.position(), await auditPosition(kube, "default")] as const;
  const copies = [await copiesOf(user.kube, source), await copiesOf(kube, source)] as const;
  await setValues(kube, source, dockerConfig("robot", token));
  for (const namespace of copies[0].keys()) await untilPullSecret(user.kube, `${namespace}/${name}`, token);
  for (const namespace of copies[1].keys()) await untilPullSecret(kube, `${namespace}/${name}`, token);
  const writes = [await user.writes({ from: from[0] }), await operatorWrites(kube, "default", { from: from[1] })];
  assert.deepEqual(uidsOf(await copiesOf(user.kube, source)), uidsOf(copies[0]));
  // A namespace that came before may be told of in a status only now.
  const toldLess = writes.map((each) => each.filter(({ resource }) => resource !== "clusters"));
  return { writes: toldLess.map((each) => each.map(inShort).sort()), copies };
}

function assertOneWriteEach({ writes, copies }: Awaited<ReturnType<typeof rotate>>): void {
  for (const [index, each] of copies.entries()) {
    assert.deepEqual(writes[index], [...each.keys()].map((namespace) => `patch secrets ${namespace}`).sort());
  }
}

test("of two replicas one follows and serves user clusters, the other does not even call them", async (t) => {
  const { leader, standby } = await replicas.roles();
  const scene = await served(t);
  assertOneWriteEach(await rotate(scene, "two"));
  const from = await user.position();
  const app = await createUserNamespace(t, user);
  await untilPullSecret(user.kube, `${app}/${scene.name}`, "two");
  assertOneWriteEach(await rotate(scene, "three"));
  const created = (await user.writes({ from })).filter(({ verb }) => verb === "create");
  assert.deepEqual(created.map(inShort), [`create secrets ${app}`]);
  assert.equal(scene.proxy.requests.filter(({ isWatch }) => isWatch).length, 6, "of one replica");

  const labels = { cluster: scene.remote.metadata.name, kind: "namespaces" };
  for (const [replica, isServing] of [
    [leader, true],
    [standby, false],
  ] as const) {
    const { body } = await ask(`${replica.operator.metricsUrl}/metrics`);
    const isThere = sampleIn(body, "latchkey_cluster_last_event_age_seconds", labels) !== undefined;
    assert.equal(isThere, isServing, replica.name);
    assert.equal(sampleIn(body, "latchkey_cluster_reachable", { cluster: labels.cluster }), 1, replica.name);
    assert.equal((await ask(`${replica.operator.metricsUrl}/readyz`)).status, 200);
  }
});

test("a leader that freezes is replaced, and writes nothing when it wakes up", async (t) => {
  const { leader, standby } = await replicas.roles();
  const scene = await served(t);
  const { kube, source, name } = scene;
  leader.operator.pause();
  await untilLeads(standby, true);
  const app = await createUserNamespace(t, user);
  await untilPullSecret(user.kube, `${app}/${name}`, "one");
  assertOneWriteEach(await rotate(scene, "two"));
  leader.operator.resume();
  await untilLeads(leader, false);
  assertOneWriteEach(await rotate(scene, "three"));
  await user.kube.delete(namespaceKind, { name: app });
  await kube.delete(clusters, { name: scene.remote.metadata.name });
  await untilGone(kube, clusters, { name: scene.remote.metadata.name });
  assert.equal((await copiesOf(user.kube, source)).size, 0);
});

test("when the leader is killed the other goes on with what there is, and catches up", async (t) => {
  const { leader, standby } = await replicas.roles();
  const scene = await served(t);
  const { kube, source, name, remote, home } = scene;
  const before = await copiesOf(user.kube, source);
  await leader.operator.kill();
  const from = await user.position();
  const app = await createUserNamespace(t, user);
  await untilLeads(standby, true);
  await untilPullSecret(user.kube, `${app}/${name}`, "one");
  assert.deepEqual((await user.writes({ from })).map(inShort), [`create secrets ${app}`]);
  const after = await copiesOf(user.kube, source);
  for (const [namespace, copy] of before) assert.equal(versionOf(after.get(namespace)!), versionOf(copy));

  await replicas.start("third");
  assertOneWriteEach(await rotate(scene, "two"));
  for (const { metadata } of [remote, home]) {
    await kube.delete(clusters, { name: metadata.name });
    await untilGone(kube, clusters, { name: metadata.name });
  }
  for (const each of [kube, user.kube]) {
    assert.deepEqual(await injectionIn(each), []);
    assert.equal((await copiesOf(each, source)).size, 0);
  }
});
