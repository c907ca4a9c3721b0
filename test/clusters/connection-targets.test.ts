import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type Secret, secrets } from "../../src/api/objects.ts";
import {
  type Connected,
  connectCluster,
  idOf,
  removeCluster,
  untilClusterStatus,
  untilOlder,
  writeKubeconfig,
} from "../../src/testing/connections.ts";
import { at, configMaps } from "../../src/testing/objects.ts";
import { getSecret, setValues } from "../../src/testing/secrets.ts";
import { copiesIn, copyAt, forgedMarks, refer, untilEvent } from "../../src/testing/served-clusters.ts";
import {
  createPullSecret,
  dockerConfig,
  literalName,
  suffixedName,
  untilPullSecret,
} from "../../src/testing/sidecars.ts";
import {
  createUserNamespace,
  dockerSecret,
  type UserCluster,
  untilCluster,
  userCluster,
} from "../../src/testing/user-clusters.ts";
import { conditionIn, untilGone } from "../../src/testing/wait.ts";

const user = userCluster();
const other = userCluster();

const ready = { status: "True", reason: "Served" } as const;
const duplicate = { status: "True", reason: "DuplicateTarget" } as const;
const record = at("kube-system/latchkey-pull-secrets");

const uidsIn = async (cluster: UserCluster) =>
  new Map([...(await copiesIn(cluster))].map(([key, { metadata }]) => [key, metadata.uid]));

test("a kubeconfig that comes to lead elsewhere is followed; the cluster it led to is left as it is", async (t) => {
  const { kube, name, kubeconfig, source, events } = await connectCluster(t, user.kubeconfig);
  await untilCluster(kube, name, "Ready", ready);
  const left = await uidsIn(user);
  assert.ok(left.size >= 4);
  const from = await user.position();

  await writeKubeconfig(kube, kubeconfig, other.kubeconfig);
  await untilPullSecret(other.kube, copyAt("kube-system", source));
  const id = await idOf(other.kube);
  await untilClusterStatus({ kube, name }, "tells which cluster it is", ({ clusterID }) => clusterID === id);
  await untilCluster(kube, name, "Ready", ready);
  await untilEvent(events, "Warning TargetChanged");
  const [message = ""] = events.messages.filter((each) => each.includes(id));
  assert.match(message, new RegExp(await idOf(user.kube)), "both are named");

  await setValues(kube, source, dockerConfig("robot", "two"));
  await untilPullSecret(other.kube, copyAt("kube-system", source), "two");
  await untilPullSecret(user.kube, copyAt("kube-system", source));
  assert.deepEqual(await uidsIn(user), left);
  assert.deepEqual(await user.writes({ from }), []);
  assert.ok(await user.kube.get(configMaps, record), "its Pods are still given the names");

  await t.test("a Cluster that leads there again finds what was left, and takes it away in the end", async (t) => {
    const again = await connectCluster(t, user.kubeconfig);
    await untilCluster(kube, again.name, "Ready", ready);
    await untilGone(user.kube, secrets, at(copyAt("default", source)));
    await removeCluster(kube, again.name);
    assert.equal((await copiesIn(user)).size, 0);
    assert.equal(await user.kube.get(configMaps, record), undefined);
  });
});

test("of two Clusters that lead to one cluster the older is served, and the other one waits", async (t) => {
  const older = await connectCluster(t, user.kubeconfig);
  const { kube } = older;
  await untilCluster(kube, older.name, "Ready", ready);
  const before = await uidsIn(user);
  const from = await user.position();

  await untilOlder(older.cluster);
  const younger = await connectCluster(t, user.kubeconfig);
  const told = await untilCluster(kube, younger.name, "Stalled", duplicate);
  assert.match(conditionIn(told, "Stalled")?.message ?? "", new RegExp(`Cluster ${older.name} `));
  assert.deepEqual(
    ["Ready", "Reachable"].map((type) => conditionIn(told, type)?.reason),
    ["DuplicateTarget", "Connected"],
  );
  assert.equal(conditionIn(told, "Ready")?.status, "False");
  assert.equal(told.status?.clusterID, await idOf(user.kube));

  await removeCluster(kube, younger.name);
  const app = await createUserNamespace(t, user);
  await untilPullSecret(user.kube, copyAt(app, older.source));
  const after = await uidsIn(user);
  for (const [key, uid] of before) assert.equal(after.get(key), uid, key);
  const writes = (await user.writes({ from })).filter(({ namespace, verb }) => namespace !== app && verb !== "patch");
  assert.deepEqual(writes, [], "nothing was made for the younger one, and nothing was cleaned up after it");
  await untilCluster(kube, older.name, "Ready", ready);
});

test("when the older of two Clusters goes the younger one takes over", async (t) => {
  const older = await connectCluster(t, user.kubeconfig);
  const { kube } = older;
  await untilCluster(kube, older.name, "Ready", ready);
  await untilOlder(older.cluster);
  const younger = await connectCluster(t, user.kubeconfig);
  await untilCluster(kube, younger.name, "Stalled", duplicate);
  const shared = `${older.namespace}/shared`;
  await createPullSecret(kube, shared);
  await refer(older, [older.source, shared]);
  await refer(younger, [younger.source, shared]);
  const before = await untilPullSecret(user.kube, copyAt("default", shared));
  const from = await user.position();

  await removeCluster(kube, older.name);
  const told = await untilCluster(kube, younger.name, "Ready", ready);
  assert.equal(conditionIn(told, "Stalled"), undefined);
  await untilPullSecret(user.kube, copyAt("default", younger.source));
  await untilGone(user.kube, secrets, at(copyAt("default", older.source)));
  await untilEvent(younger.events, "Normal Served");
  const after = await untilPullSecret(user.kube, copyAt("default", shared));
  assert.equal(after.metadata.uid, before.metadata.uid, "what both want has been there all the time");
  const deleted = (await user.writes({ from })).filter(({ verb }) => verb === "delete");
  assert.deepEqual(new Set(deleted.map(({ name }) => name)), new Set([literalName(older.source)]));
});

test("of two Clusters that were created in the same second the first by name is served", async (t) => {
  const pair = await twins(t);
  const [first, second] = pair.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  assert.ok(first && second);
  const { kube } = first;
  await untilCluster(kube, second.name, "Stalled", duplicate);
  await untilCluster(kube, first.name, "Ready", ready);
  await untilPullSecret(user.kube, copyAt("default", first.source));
  await untilGone(user.kube, secrets, at(copyAt("default", second.source)));
});

async function twins(t: TestContext): Promise<readonly Connected[]> {
  for (;;) {
    const pair = await Promise.all([connectCluster(t, user.kubeconfig), connectCluster(t, user.kubeconfig)]);
    const [one, two] = pair.map(({ cluster }) => cluster.metadata.creationTimestamp);
    if (one === two) return pair;
    for (const { kube, name } of pair) await removeCluster(kube, name);
  }
}

test("a Cluster whose kubeconfig comes to lead where an older one leads stops serving", async (t) => {
  const older = await connectCluster(t, user.kubeconfig);
  const { kube } = older;
  await untilOlder(older.cluster);
  const younger = await connectCluster(t, other.kubeconfig);
  await untilCluster(kube, older.name, "Ready", ready);
  await untilCluster(kube, younger.name, "Ready", ready);
  await writeKubeconfig(kube, younger.kubeconfig, user.kubeconfig);
  await untilCluster(kube, younger.name, "Stalled", duplicate);
  await untilEvent(younger.events, "Warning TargetChanged");
  await untilPullSecret(other.kube, copyAt("default", younger.source));
  assert.equal(await getSecret(user.kube, copyAt("default", younger.source)), undefined);

  await t.test("and the other way round it is free again", async () => {
    await writeKubeconfig(kube, older.kubeconfig, other.kubeconfig);
    await untilCluster(kube, younger.name, "Ready", ready);
    await untilPullSecret(user.kube, copyAt("default", younger.source));
    await untilCluster(kube, older.name, "Ready", ready);
    await untilPullSecret(other.kube, copyAt("default", older.source));
    await untilGone(other.kube, secrets, at(copyAt("default", younger.source)));
  });
});

test("what another installation has in a cluster is a collision, which is named and left alone", async (t) => {
  const { kube, name, kubeconfig, source } = await connectCluster(t, "not yet");
  const stranger = "3f0c1a52-0000-4000-8000-00000000beef";
  const labels = { "app.kubernetes.io/managed-by": "latchkey", "latchkey.dev/owner-uid": stranger };
  await user.kube.create(configMaps, { metadata: { ...record, labels } });
  t.after(() => user.kube.delete(configMaps, record));
  const app = await createUserNamespace(t, user);
  const names = [literalName(source), suffixedName(source)];
  const keys = names.map((each) => `${app}/${each}`);
  for (const key of keys) {
    const theirs = dockerSecret(key, { password: "theirs", ...forgedMarks(key, source, stranger) });
    await user.kube.create<Secret>(secrets, theirs);
  }

  await writeKubeconfig(kube, kubeconfig, user.kubeconfig);
  const told = await untilCluster(kube, name, "Injection", { status: "False", reason: "Collision" });
  const holder = `ConfigMap kube-system/latchkey-pull-secrets belongs to the Latchkey installation ${stranger}`;
  assert.equal(conditionIn(told, "Injection")?.message, holder);
  const message = `${app}: ${names.join(" and ")} are held by Secrets that are not ours`;
  await untilCluster(kube, name, "PullSecretsReady", { status: "False", reason: "Collision", message });
  await untilPullSecret(user.kube, copyAt("default", source));
  for (const key of keys) await untilPullSecret(user.kube, key, "theirs");

  await removeCluster(kube, name);
  assert.deepEqual([...(await copiesIn(user)).keys()].sort(), keys.sort(), "theirs are left, and no other");
  assert.ok(await user.kube.get(configMaps, record));
});
