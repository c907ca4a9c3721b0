import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Draft, Secret } from "../../src/api/objects.ts";
import { secrets } from "../../src/api/objects.ts";
import type { JsonPatchOp, Kube } from "../../src/kube/client.ts";
import type { ApiProxy, Rule, Seen } from "../../src/testing/api-proxy.ts";
import { testNamespaces, uniqueName } from "../../src/testing/cluster.ts";
import { at } from "../../src/testing/objects.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import { isInjected, PodStream } from "../../src/testing/pod-stream.ts";
import { type Replica, Replicas, reviewBy, untilLeads } from "../../src/testing/replicas.ts";
import { createSecret, deleteSecret, theSecret } from "../../src/testing/secrets.ts";
import {
  changeSidecarSet,
  createInjectedPod,
  createPod,
  createPullSecret,
  createSidecarSet,
  labelsFor,
  literalName,
  type Pod,
  pod,
  pullSecretsOf,
  type SidecarSet,
  sidecarSets,
  storeSidecarSet,
  suffixedName,
  untilPullSecret,
  untilSetCondition,
} from "../../src/testing/sidecars.ts";
import { untilGone } from "../../src/testing/wait.ts";

const own = ownPlane(async () => {
  await replicas.start("first");
  await replicas.start("second");
});
const replicas = new Replicas(own);

interface Scene {
  readonly kube: Kube;
  readonly set: SidecarSet;
  readonly source: string;
  readonly team: string;
}

async function prepare(t: TestContext): Promise<Scene> {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  const source = `${vault}/pull`;
  await createPullSecret(kube, source);
  const set = await createSidecarSet(t, kube, { pullSecrets: [source] });
  return { kube, set, source, team };
}

/** What the replica itself makes of a Pod that is to be created. */
async function reviewPod(replica: Replica, draft: Draft<Pod>): Promise<Draft<Pod>> {
  const userInfo = { username: "somebody", groups: [] };
  const verdict = await reviewBy(replica, "/mutate/pods", {
    object: draft,
    namespace: draft.metadata.namespace,
    userInfo,
  });
  assert.equal(verdict.allowed, true);
  const patch = Buffer.from(verdict.patch ?? "", "base64").toString("utf8") || "[]";
  return (JSON.parse(patch) as JsonPatchOp[]).reduce(patched, draft);
}

/** Whole fields are what such a patch consists of. */
function patched(before: Draft<Pod>, { path, ...op }: JsonPatchOp): Draft<Pod> {
  const [, part = "", field = ""] = path.split("/");
  assert.ok((part === "metadata" || part === "spec") && "value" in op, path);
  return { ...before, [part]: { ...before[part], [field]: op.value } };
}

/** The same once the replica has heard that the SidecarSet is accepted. */
async function injectedBy(replica: Replica, { team, set }: Scene): Promise<Draft<Pod>> {
  const draft = pod(`${team}/${uniqueName("asked")}`, { labels: labelsFor(set) });
  for (const deadline = performance.now() + 60_000; ; await sleep(100)) {
    const reviewed = await reviewPod(replica, draft);
    if (isInjected(reviewed as Pod)) return reviewed;
    if (performance.now() > deadline) throw new Error(`${replica.name} puts nothing into a Pod`);
  }
}

const namesIn = (draft: Draft<Pod>) => pullSecretsOf(draft as Pod);
const creates =
  ({ team }: Scene) =>
  ({ method, path }: Seen) =>
    method === "POST" && path.includes(`/namespaces/${team}/secrets?`);
/** How many copies this replica has made there; of one that is there already the answer may still be under way. */
const madeBy = ({ proxy }: Replica, scene: Scene) =>
  proxy.requests.filter((asked) => creates(scene)(asked) && (asked.status ?? 201) === 201).length;
const secretNames = async ({ kube, team }: Scene) =>
  (await kube.list<Secret>(secrets, { namespace: team })).map(({ metadata }) => metadata.name).sort();

test("a Pod that the standby admits has its copy, which the leader takes over", async (t) => {
  const { leader, standby } = await replicas.roles();
  const scene = await prepare(t);
  const { kube, set, source, team } = scene;
  const admitted = await injectedBy(standby, scene);
  assert.equal(namesIn(admitted)[0], literalName(source));
  const copy = await untilPullSecret(kube, `${team}/${literalName(source)}`);
  for (const replica of [leader, standby]) await untilNamed(replica, scene, literalName(source));

  const created = await createInjectedPod(t, kube, `${team}/web`, { labels: labelsFor(set) });
  assert.deepEqual(pullSecretsOf(created), [literalName(source)]);
  await untilSetCondition(kube, set, "Ready", { status: "True", message: /^1 Pod in 1 namespace, 1 copy$/ });
  assert.deepEqual([madeBy(standby, scene), madeBy(leader, scene)], [1, 0]);

  await deleteSecret(kube, `${team}/${literalName(source)}`);
  const again = await untilPullSecret(kube, `${team}/${literalName(source)}`);
  assert.notEqual(again.metadata.uid, copy.metadata.uid);
  assert.deepEqual([madeBy(standby, scene), madeBy(leader, scene)], [1, 1], "healed by the leader");
});

test("many Pods on both replicas at once: one copy, which all of them name", async (t) => {
  const { leader, standby } = await replicas.roles();
  const scene = await prepare(t);
  const { source } = scene;
  const asked = Array.from({ length: 20 }, () => [leader, standby]).flat();
  const admitted = await Promise.all(asked.map((replica) => injectedBy(replica, scene)));
  for (const draft of admitted) assert.equal(namesIn(draft)[0], literalName(source));
  await untilPullSecret(scene.kube, `${scene.team}/${literalName(source)}`);
  for (const replica of [leader, standby]) await untilNamed(replica, scene, literalName(source));
  assert.deepEqual(await secretNames(scene), [literalName(source)]);
  assert.equal(madeBy(leader, scene) + madeBy(standby, scene), 1);
});

const races = [
  { name: "the first name is free", foreign: false },
  { name: "somebody else has the first name", foreign: true },
] as const;

for (const { name, foreign } of races) {
  test(`both replicas are about to make the same copy while ${name}: one does, and both name it`, async (t) => {
    const { leader, standby } = await replicas.roles();
    const scene = await prepare(t);
    const { kube, source, team } = scene;
    const copyName = foreign ? suffixedName(source) : literalName(source);
    const theirs = foreign ? [await createSecret(kube, `${team}/${literalName(source)}`, { theirs: "yes" })] : [];
    const both = [leader, standby];
    const rules = both.map(({ proxy }) =>
      proxy.fault((asked) => (creates(scene)(asked) ? { kind: "hold" } : undefined)),
    );
    const reviews = both.map((replica) => injectedBy(replica, scene));
    await Promise.all(rules.map((rule) => rule.reached(1)));
    for (const rule of rules) rule.lift();
    for (const draft of await Promise.all(reviews)) assert.ok(namesIn(draft).includes(copyName));

    const copy = await untilPullSecret(kube, `${team}/${copyName}`);
    for (const replica of both) await untilNamed(replica, scene, copyName);
    assert.deepEqual(await theSecret(kube, `${team}/${copyName}`), copy);
    assert.deepEqual(await secretNames(scene), [copyName, ...theirs.map(({ metadata }) => metadata.name)].sort());
    for (const before of theirs) assert.deepEqual(await theSecret(kube, `${team}/${before.metadata.name}`), before);
    assert.equal(madeBy(leader, scene) + madeBy(standby, scene), 1);
  });
}

/** By this name alone: the replica has heard of the copy. */
async function untilNamed(replica: Replica, scene: Scene, name: string): Promise<void> {
  for (const deadline = performance.now() + 60_000; ; await sleep(100)) {
    const names = namesIn(await injectedBy(replica, scene));
    if (names.length === 1 && names[0] === name) return;
    if (performance.now() > deadline) throw new Error(`${replica.name} names ${names.join(", ")}`);
  }
}

const marksOf = ({ metadata }: Draft<Pod>) => metadata.annotations;

test("a Pod gets the same marks from every replica, before the status tells of the generation and after", async (t) => {
  const { leader, standby } = await replicas.roles();
  const scene = await prepare(t);
  const { kube, set } = scene;
  assert.deepEqual(marksOf(await injectedBy(leader, scene)), marksOf(await injectedBy(standby, scene)));

  const ofStatus = ({ isWrite, path }: Seen) => isWrite && path.includes(`/sidecarsets/${set.metadata.name}/status`);
  const rule = leader.proxy.fault((asked) => (ofStatus(asked) ? { kind: "hold" } : undefined));
  const image = "registry.example.com/sidecar:2";
  const changed = await changeSidecarSet(kube, set, { spec: { containers: [{ name: set.metadata.name, image }] } });
  const early = await untilImage(leader, scene, image);
  assert.deepEqual(await generationsTold(kube, set), [1], "admission alone has judged it");
  rule.lift();
  await untilSetCondition(kube, changed, "Accepted", { status: "True" });
  for (const replica of [leader, standby]) {
    assert.deepEqual(marksOf(await untilImage(replica, scene, image)), marksOf(early), replica.name);
  }
});

async function untilImage(replica: Replica, scene: Scene, image: string): Promise<Draft<Pod>> {
  for (const deadline = performance.now() + 60_000; ; await sleep(100)) {
    const draft = await injectedBy(replica, scene);
    if (draft.spec.containers.some((container) => container.image === image)) return draft;
    if (performance.now() > deadline) throw new Error(`${replica.name} does not put ${image} into Pods`);
  }
}

/** Of which the status tells. */
async function generationsTold(kube: Kube, { metadata }: SidecarSet): Promise<readonly (number | undefined)[]> {
  const found = await kube.get<SidecarSet>(sidecarSets, { name: metadata.name });
  return [...new Set(found?.status?.conditions?.map(({ observedGeneration }) => observedGeneration))];
}

const imageIn = ({ spec }: Draft<Pod>, { metadata }: SidecarSet) =>
  spec.containers.find(({ name }) => name === metadata.name)?.image;

test("no Pod comes without its sidecar in the moment after a change, whichever replica is asked", async (t) => {
  const { leader, standby } = await replicas.roles();
  const scene = await prepare(t);
  const { kube, set, team } = scene;
  for (const replica of [leader, standby]) await injectedBy(replica, scene);
  const draft = () => pod(`${team}/${uniqueName("asked")}`, { labels: labelsFor(set) });
  const ofStatus = ({ isWrite, path }: Seen) => isWrite && path.includes(`/sidecarsets/${set.metadata.name}/status`);
  for (let round = 2; round < 6; round++) {
    const rule = leader.proxy.fault((asked) => (ofStatus(asked) ? { kind: "hold" } : undefined));
    const image = `registry.example.com/sidecar:${round}`;
    await changeSidecarSet(kube, set, { spec: { containers: [{ name: set.metadata.name, image }] } });
    // One of them was not asked about the change.
    const asked = [0, 20, 50, 100, 200].flatMap((ms) =>
      [leader, standby].map(async (replica) => {
        await sleep(ms);
        const startedAt = performance.now();
        const reviewed = await reviewPod(replica, draft());
        return { image: imageIn(reviewed, set), ms: performance.now() - startedAt };
      }),
    );
    setTimeout(() => rule.lift(), 150);
    // On a busy machine the verdict may come too late for all the waiting.
    for (const { image: found, ms } of await Promise.all(asked)) assert.ok(found || ms > 600, `bare after ${ms} ms`);
    for (const replica of [leader, standby]) await untilImage(replica, scene, image);
  }
});

test("what one replica puts into a Pod the other leaves, marks and all, whatever it knows", async (t) => {
  const { leader, standby } = await replicas.roles();
  const scene = await prepare(t);
  const { kube, set, source } = scene;
  for (const replica of [leader, standby]) await untilNamed(replica, scene, literalName(source));
  const ofStatus = ({ isWrite, path }: Seen) => isWrite && path.includes(`/sidecarsets/${set.metadata.name}/status`);
  const rule = leader.proxy.fault((asked) => (ofStatus(asked) ? { kind: "hold" } : undefined));
  t.after(() => rule.lift());
  const image = "registry.example.com/sidecar:2";
  await changeSidecarSet(kube, set, { spec: { containers: [{ name: set.metadata.name, image }] } });
  const both = [leader, standby];
  const first = await Promise.any(both.map((replica) => untilImage(replica, scene, image)));
  for (const replica of both) assert.deepEqual(await reviewPod(replica, first), first, replica.name);
});

test("the leader is killed: the other one revokes, heals, and answers for Pods, of which none is refused", async (t) => {
  const { leader, standby } = await replicas.roles();
  const revoked = await prepare(t);
  const healed = await prepare(t);
  const { kube } = healed;
  const copyOf = ({ team, source }: Scene) => `${team}/${literalName(source)}`;
  for (const { set, team } of [revoked, healed]) {
    await createInjectedPod(t, kube, `${team}/web`, { labels: labelsFor(set) });
  }
  for (const scene of [revoked, healed]) await untilPullSecret(kube, copyOf(scene));
  const stream = await PodStream.start(kube, healed.team, { labels: labelsFor(healed.set) });
  t.after(() => stream.stop());

  // Within the moment in which the source may come back.
  await deleteSecret(kube, revoked.source);
  await leader.operator.kill();
  await deleteSecret(kube, copyOf(healed));
  await untilLeads(standby, true);
  await untilGone(kube, secrets, at(copyOf(revoked)));
  await untilPullSecret(kube, copyOf(healed));
  await untilSetCondition(kube, revoked.set, "PullSecretsReady", { status: "False", reason: "SourceMissing" });
  await stream.untilInjected();
  await stream.stop();
  assert.deepEqual(stream.refusals, []);
  await replicas.start("third");
});

/** Would be refused in any Pod. */
const badContainer = (name: string) => ({
  name,
  image: "registry.example.com/sidecar:bad",
  resources: { limits: { cpu: "abc" } },
});

test("what got in while all were away is put into no Pod until it is judged, and never if it is bad", async (t) => {
  const { leader, standby } = await replicas.roles();
  const changed = await prepare(t);
  const { kube, team } = changed;
  await createInjectedPod(t, kube, `${team}/before`, { labels: labelsFor(changed.set) });
  await Promise.all([leader, standby].map(({ operator }) => operator.kill()));

  const selector = { matchLabels: { app: uniqueName("away") } };
  const [bad, good] = [uniqueName("bad"), uniqueName("good")];
  await storeSidecarSet(t, kube, { name: bad, spec: { selector, containers: [badContainer(bad)] } });
  await storeSidecarSet(t, kube, { name: good, spec: { selector } });
  await changeSidecarSet(kube, changed.set, { spec: { containers: [badContainer(changed.set.metadata.name)] } });
  const labels = selector.matchLabels;
  assertBare(await createPod(t, kube, `${team}/away`, { labels }));

  const rules: Rule[] = [];
  const judging = ({ method, path }: Seen) => method === "POST" && path.includes("/namespaces/latchkey-system/pods?");
  const hold = (proxy: ApiProxy) =>
    void rules.push(proxy.fault((asked) => (judging(asked) ? { kind: "hold" } : undefined)));
  const started = [await replicas.start("fourth", hold), await replicas.start("fifth", hold)];
  await Promise.any(rules.map((rule) => rule.reached(3)));
  const stream = await PodStream.start(kube, team, { labels });
  t.after(() => stream.stop());
  for (const created of await stream.more(5)) assertBare(created);
  const draft = pod(`${team}/asked`, { labels });
  for (const replica of started) assert.deepEqual(await reviewPod(replica, draft), draft, replica.name);
  assertBare(await createPod(t, kube, `${team}/unjudged`, { labels: labelsFor(changed.set) }));

  for (const rule of rules) rule.lift();
  await stream.untilInjected();
  await stream.stop();
  const words = /quantities must match/;
  for (const name of [bad, changed.set.metadata.name]) {
    const rejected = { status: "False", reason: "InvalidContainers", message: words } as const;
    await untilSetCondition(kube, { metadata: { name } }, "Accepted", rejected);
  }
  await untilSetCondition(kube, { metadata: { name: good } }, "Accepted", { status: "True" });
  const containers = new Set(stream.created.flatMap(({ spec }) => spec.containers.map(({ name }) => name)));
  assert.deepEqual([...containers].sort(), ["app", good]);
  assert.deepEqual(stream.refusals, []);
  assertBare(await createPod(t, kube, `${team}/judged`, { labels: labelsFor(changed.set) }));
  await untilPullSecret(kube, `${team}/${literalName(changed.source)}`);
});

function assertBare(created: Pod): void {
  assert.deepEqual(
    created.spec.containers.map(({ name }) => name),
    ["app"],
  );
  assert.equal(isInjected(created), false);
}
