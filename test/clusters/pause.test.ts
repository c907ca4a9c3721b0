import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { namespaces as namespaceKind, type Secret, secrets } from "../../src/api/objects.ts";
import { adminKube } from "../../src/testing/cluster.ts";
import { changeCluster, copiesOf, createSource, injectionIn, uidsOf } from "../../src/testing/cluster-scenes.ts";
import { EventsOf } from "../../src/testing/events.ts";
import { bindingObject, policyObject, recordObject, untilGiven } from "../../src/testing/injection.ts";
import { at } from "../../src/testing/objects.ts";
import { deleteSecret, getSecret, setValues, theSecret } from "../../src/testing/secrets.ts";
import {
  createPullSecret,
  dockerConfig,
  literalName,
  serviceAccounts,
  untilPullSecret,
} from "../../src/testing/sidecars.ts";
import {
  type Cluster,
  clusters,
  createUserNamespace,
  serveCluster,
  type UserCluster,
  untilCluster,
  userCluster,
} from "../../src/testing/user-clusters.ts";
import { conditionIn, until, untilGone } from "../../src/testing/wait.ts";

const user = userCluster();
const old = userCluster({ emulatedVersion: "1.33" });
/** Never paused: what has arrived there would have arrived in the others. */
const witness = userCluster();

const modes = [
  ["Policy", user],
  ["ServiceAccount", old],
] as const;

async function served(t: TestContext, where: UserCluster, { isWitnessed = true } = {}) {
  const kube = await adminKube();
  const source = await createSource(t, kube);
  const other = isWitnessed ? await serveCluster(t, { user: witness, references: [source] }) : undefined;
  const { cluster } = await serveCluster(t, { user: where, references: [source] });
  for (const each of [other?.cluster, cluster]) {
    if (each) await untilCluster(kube, each.metadata.name, "Ready", { status: "True" });
  }
  return { kube, source, cluster, name: literalName(source) };
}

const statusOf = (cluster: Cluster, type: string) => {
  const { status, reason, message } = conditionIn(cluster, type) ?? {};
  return { status, reason, message };
};

for (const [mode, where] of modes) {
  test(`mode ${mode}: while a Cluster is paused nothing is written there, whatever happens, and afterwards all is made up for`, async (t) => {
    const { kube, source, cluster, name } = await served(t, where);
    const [kept, edited, deleted] = [
      await createUserNamespace(t, where),
      await createUserNamespace(t, where),
      await createUserNamespace(t, where),
    ];
    const { uid } = (await untilPullSecret(where.kube, `${kept}/${name}`, "one")).metadata;
    for (const namespace of [edited, deleted]) await untilPullSecret(where.kube, `${namespace}/${name}`, "one");
    const second = await createSource(t, kube, "second");

    await changeCluster(kube, cluster, { pause: true, pauseReason: "moving the data centre" });
    const paused = await untilCluster(kube, cluster.metadata.name, "Paused", { status: "True" });
    const told = { status: "True", reason: "SpecSaysPaused", message: "moving the data centre" };
    assert.deepEqual(statusOf(paused, "Paused"), told);
    assert.deepEqual(statusOf(paused, "Ready"), { ...told, status: "False" });
    assert.equal(statusOf(paused, "Reachable").status, "True");
    assert.equal(paused.status?.namespaces?.failed, 0, "what was last seen stays");

    const from = await where.position();
    const fresh = await createUserNamespace(t, where);
    const opted = { metadata: { labels: { "latchkey.dev/inject": "false" } } };
    await where.kube.patch(namespaceKind, { name: kept }, { type: "merge", body: opted });
    await setValues(where.kube, `${edited}/${name}`, dockerConfig("robot", "by hand"));
    await deleteSecret(where.kube, `${deleted}/${name}`);
    if (mode === "Policy") {
      await where.kube.delete(bindingObject.resource, bindingObject.ref);
      const body = { data: { names: "" } };
      await where.kube.patch(recordObject.resource, recordObject.ref, { type: "merge", body });
    } else {
      const body = { imagePullSecrets: [] };
      await where.kube.patch(serviceAccounts, { namespace: kept, name: "default" }, { type: "merge", body });
    }
    await changeCluster(kube, cluster, { imagePullSecrets: [at(source), at(second)], excludedNamespaces: [edited] });
    await changeCluster(kube, cluster, { injection: { mode: "None" } });
    await setValues(kube, source, dockerConfig("robot", "two"));
    await untilPullSecret(witness.kube, `default/${name}`, "two");
    const seen = await untilCluster(kube, cluster.metadata.name, "Paused", { status: "True" });
    assert.equal(seen.status?.observedGeneration, seen.metadata.generation);
    assert.deepEqual(await where.writes({ from }), []);

    await changeCluster(kube, cluster, { pause: false, pauseReason: null, injection: null });
    await untilCluster(kube, cluster.metadata.name, "Ready", { status: "True", reason: "Served" });
    const unpaused = await untilCluster(kube, cluster.metadata.name, "Paused", { status: "False" });
    assert.equal(statusOf(unpaused, "Paused").reason, "SpecSaysUnpaused");
    for (const namespace of [deleted, fresh, "kube-system"]) {
      await untilPullSecret(where.kube, `${namespace}/${name}`, "two");
      await untilPullSecret(where.kube, `${namespace}/${literalName(second)}`, "second");
    }
    for (const namespace of [kept, edited]) await untilGone(where.kube, secrets, { namespace, name });
    await where.kube.patch(
      namespaceKind,
      { name: kept },
      {
        type: "merge",
        body: { metadata: { labels: { "latchkey.dev/inject": null } } },
      },
    );
    const again = await untilPullSecret(where.kube, `${kept}/${name}`, "two");
    assert.notEqual(again.metadata.uid, uid, "it had opted out");
    if (mode !== "Policy") return;
    await untilGiven(where.kube, deleted, [name, literalName(second)]);
  });

  test(`mode ${mode}: a source that is deleted, vetoed or referenced no longer while its Cluster is paused keeps its copies until then`, async (t) => {
    const { kube, source, cluster, name } = await served(t, where);
    const [vetoed, removed] = [await createSource(t, kube), await createSource(t, kube)];
    await changeCluster(kube, cluster, { imagePullSecrets: [source, vetoed, removed].map(at) });
    const sources = [source, vetoed, removed];
    for (const each of sources) await untilPullSecret(where.kube, `kube-system/${literalName(each)}`, "one");
    await untilCluster(kube, cluster.metadata.name, "Ready", { status: "True" });
    await changeCluster(kube, cluster, { pause: true });
    await untilCluster(kube, cluster.metadata.name, "Paused", { status: "True", message: "spec.pause is true" });

    const from = await where.position();
    const body = { metadata: { annotations: { "latchkey.dev/no-copy": "true" } } };
    await kube.patch<Secret>(secrets, at(vetoed), { type: "merge", body });
    await changeCluster(kube, cluster, { imagePullSecrets: [source, vetoed].map(at) });
    await deleteSecret(kube, source);
    await untilGone(witness.kube, secrets, { namespace: "default", name });
    assert.deepEqual(await where.writes({ from }), []);
    for (const each of sources) assert.ok(await getSecret(where.kube, `kube-system/${literalName(each)}`), each);

    await changeCluster(kube, cluster, { pause: false });
    for (const each of sources) await untilGone(where.kube, secrets, at(`kube-system/${literalName(each)}`));
    const message = new RegExp(`Secret ${source} does not exist`);
    await untilCluster(kube, cluster.metadata.name, "Ready", { status: "False", message });
  });

  test(`mode ${mode}: a Cluster that is paused and deleted is released at once, and one of its name goes on with what it left`, async (t) => {
    const { kube, source, cluster, name } = await served(t, where, { isWitnessed: false });
    const told = new EventsOf(t, kube, cluster);
    await changeCluster(kube, cluster, { pause: true });
    await untilCluster(kube, cluster.metadata.name, "Paused", { status: "True" });
    const [before, injection] = [await copiesOf(where.kube, source), await injectionIn(where.kube)];
    assert.ok(before.size >= 4);
    const from = await where.position();
    await kube.delete(clusters, { name: cluster.metadata.name });
    await untilGone(kube, clusters, { name: cluster.metadata.name });
    for (const reason of ["Normal Served", "Warning CleanupSkipped"]) {
      while (!told.inShort.includes(reason)) await told.until(told.inShort.length + 1);
    }
    assert.deepEqual(await where.writes({ from }), []);
    assert.deepEqual(await injectionIn(where.kube), injection);
    assert.deepEqual(await copiesOf(where.kube, source), before);

    const { kubeconfigSecretRef, imagePullSecrets } = cluster.spec;
    const draft = { metadata: { name: cluster.metadata.name }, spec: { kubeconfigSecretRef, imagePullSecrets } };
    await kube.create<Cluster>(clusters, draft as unknown as Cluster);
    await untilCluster(kube, cluster.metadata.name, "Ready", { status: "True", reason: "Served" });
    assert.deepEqual(await where.writes({ from }), [], "there was nothing to do");
    await setValues(kube, source, dockerConfig("robot", "two"));
    for (const [namespace, { metadata }] of before) {
      const copy = await untilPullSecret(where.kube, `${namespace}/${name}`, "two");
      assert.equal(copy.metadata.uid, metadata.uid);
    }
    assert.deepEqual(await injectionIn(where.kube), injection);
  });
}

test("a Cluster that is created paused is looked at and not touched, until it is unpaused", async (t) => {
  const kube = await adminKube();
  const source = await createSource(t, kube);
  const from = await user.position();
  const spec = { pause: true, pauseReason: "not yet" };
  const { cluster } = await serveCluster(t, { user, references: [source], spec });
  const { metadata } = cluster;
  const paused = await untilCluster(kube, metadata.name, "Ready", { status: "False", reason: "SpecSaysPaused" });
  assert.equal(statusOf(paused, "Ready").message, "not yet");
  assert.equal(statusOf(paused, "Reachable").status, "True");
  assert.ok(paused.status?.clusterID);
  const other = await serveCluster(t, { user: witness, references: [source] });
  await untilCluster(kube, other.cluster.metadata.name, "Ready", { status: "True" });
  assert.deepEqual(await user.writes({ from }), []);
  assert.equal((await copiesOf(user.kube, source)).size, 0);
  assert.deepEqual(await injectionIn(user.kube), []);

  await changeCluster(kube, cluster, { pause: false });
  await untilCluster(kube, metadata.name, "Ready", { status: "True", reason: "Served" });
  await untilPullSecret(user.kube, `kube-system/${literalName(source)}`, "one");
  assert.deepEqual(await injectionIn(user.kube), ["policy", "binding", "record"]);
});

test("references that change with the edit that pauses their Cluster wait until it is unpaused", async (t) => {
  const { kube, source, cluster, name } = await served(t, user);
  const second = await createSource(t, kube);
  const policy = await user.kube.get(policyObject.resource, policyObject.ref);
  const before = uidsOf(await copiesOf(user.kube, source));
  const from = await user.position();
  await changeCluster(kube, cluster, { pause: true, imagePullSecrets: [at(second)], excludedNamespaces: ["default"] });
  await untilCluster(kube, cluster.metadata.name, "Paused", { status: "True" });
  await setValues(kube, source, dockerConfig("robot", "two"));
  await untilPullSecret(witness.kube, `default/${name}`, "two");
  assert.deepEqual(await user.writes({ from }), []);
  assert.deepEqual(uidsOf(await copiesOf(user.kube, source)), before);
  assert.deepEqual(await user.kube.get(policyObject.resource, policyObject.ref), policy);
});

test("a paused Cluster whose kubeconfig is missing says both, and is released when it is deleted", async (t) => {
  const kube = await adminKube();
  const source = await createSource(t, kube);
  const { cluster } = await serveCluster(t, {
    ...{ user, references: [source] },
    spec: { pause: true, kubeconfigSecretRef: { namespace: at(source).namespace, name: "not-there" } },
  });
  const { name } = cluster.metadata;
  const told = new EventsOf(t, kube, cluster);
  const paused = await untilCluster(kube, name, "Reachable", { status: "False", reason: "KubeconfigMissing" });
  assert.equal(statusOf(paused, "Ready").reason, "SpecSaysPaused");
  await kube.delete(clusters, { name });
  await untilGone(kube, clusters, { name });
  while (!told.inShort.includes("Warning CleanupSkipped")) await told.until(told.inShort.length + 1);
  await until(kube, clusters, { name }, "is gone", (seen) => seen === undefined);
  assert.equal((await theSecret(kube, source)).metadata.labels?.["latchkey.dev/source"], undefined);
});

test("pausing in the middle of a first pass stops it, and unpausing goes on", async (t) => {
  const kube = await adminKube();
  const namespaces = await Promise.all(Array.from({ length: 30 }, () => createUserNamespace(t, user)));
  const namespace = at(await createSource(t, kube)).namespace;
  const sources = Array.from({ length: 8 }, (_, index) => `${namespace}/many-${index}`);
  for (const each of sources) await createPullSecret(kube, each, "one");
  const { cluster } = await serveCluster(t, { user, references: sources });
  await until(user.kube, recordObject.resource, recordObject.ref, "is written", (seen) => seen !== undefined);
  await changeCluster(kube, cluster, { pause: true });
  await untilCluster(kube, cluster.metadata.name, "Paused", { status: "True" });
  const from = await user.position();
  const before = (await Promise.all(sources.map((each) => copiesOf(user.kube, each)))).map(uidsOf);
  await changeCluster(kube, cluster, { pauseReason: "another look at it" });
  await untilCluster(kube, cluster.metadata.name, "Paused", { message: "another look at it" });
  assert.deepEqual(await user.writes({ from }), []);

  await changeCluster(kube, cluster, { pause: false });
  await untilCluster(kube, cluster.metadata.name, "Ready", { status: "True" });
  for (const [index, each] of sources.entries()) {
    const copies = uidsOf(await copiesOf(user.kube, each));
    for (const name of namespaces) assert.ok(copies[name], `${each} in ${name}`);
    assert.deepEqual({ ...copies, ...before[index] }, copies, "what was there stayed");
  }
});
