import assert from "node:assert/strict";
import { test } from "node:test";
import { secrets } from "../api/objects.ts";
import { createNamespace, uniqueName } from "../testing/cluster.ts";
import { at, encoded } from "../testing/objects.ts";
import {
  barePlane,
  holding,
  type Replica,
  scene,
  served,
  TestAsker,
  untilAbsent,
  untilLabelled,
} from "../testing/pull-secrets.ts";
import { refuseSecrets } from "../testing/refusals.ts";
import { createSecret, deleteSecret, getSecret, patchSecret, theSecret } from "../testing/secrets.ts";
import { createPullSecret } from "../testing/sidecars.ts";
import { untilSecret } from "../testing/wait.ts";
import type { ResolveOptions } from "./resolve.ts";

barePlane();

const options: ResolveOptions = { dryRun: false, isReserved: () => false, signal: AbortSignal.timeout(600_000) };

function resolve(replica: Replica, source: string, namespace: string, more: Partial<ResolveOptions> = {}) {
  return replica.pullSecrets.resolve(at(source), namespace, { ...options, ...more });
}

test("however many ask at once, the copy is made once; later nobody is asked", async (t) => {
  const { kube, source, teamA, literal, start } = await scene(t);
  await createPullSecret(kube, source, "one");
  const replica = await start(new TestAsker(), { leads: false });
  replica.requests.length = 0;
  const answers = await Promise.all(Array.from({ length: 100 }, () => resolve(replica, source, teamA)));
  for (const answer of answers) assert.deepEqual(answer, { kind: "copy", name: literal });
  assert.deepEqual((await theSecret(kube, `${teamA}/${literal}`)).data, encoded(holding("one")));
  assert.equal(replica.count("create"), 1);
  assert.equal(replica.requests.length, 2);

  assert.deepEqual(await resolve(replica, source, teamA), { kind: "copy", name: literal });
  assert.deepEqual(await resolve(replica, source, teamA, { dryRun: true }), { kind: "copy", name: literal });
  assert.equal(replica.requests.length, 2);
});

test("a copy whose Pod never came is collected, on the replica that made it too", async (t) => {
  const { kube, source, teamA, teamB, literal, start } = await scene(t);
  await createPullSecret(kube, source, "one");
  const asker = new TestAsker();
  asker.idleMs = 500;
  const leader = await start(asker);
  const standby = await start(asker, { leads: false });
  leader.want(source, []);
  await untilLabelled(kube, source);
  for (const [replica, namespace] of [
    [leader, teamA],
    [standby, teamB],
  ] as const) {
    assert.deepEqual(await resolve(replica, source, namespace), { kind: "copy", name: literal });
    await untilAbsent(kube, `${namespace}/${literal}`);
  }
});

test("replicas that make the same copy at once agree, and the leader looks after it", async (t) => {
  const { kube, source, teamA, literal, start } = await scene(t);
  await createPullSecret(kube, source, "one");
  const asker = new TestAsker();
  const replicas = [await start(asker), await start(asker, { leads: false }), await start(asker, { leads: false })];
  asker.want(source, [teamA]);
  const answers = await Promise.all(replicas.map((replica) => resolve(replica, source, teamA)));
  for (const answer of answers) assert.deepEqual(answer, { kind: "copy", name: literal });
  await untilLabelled(kube, source);
  await deleteSecret(kube, `${teamA}/${literal}`);
  await untilSecret(kube, `${teamA}/${literal}`, holding("one"));
});

test("a name that is held by somebody else is noticed; where both are, the reference is left out", async (t) => {
  const { kube, source, teamA, teamB, literal, suffixed, start } = await scene(t);
  await createPullSecret(kube, source, "one");
  for (const key of [`${teamA}/${literal}`, `${teamB}/${literal}`, `${teamB}/${suffixed}`])
    await createSecret(kube, key);
  const replica = await start(new TestAsker(), { leads: false });
  const collision = { kind: "left-out", why: { kind: "collision" } };
  assert.deepEqual(await resolve(replica, source, teamA, { dryRun: true }), { kind: "copy", name: suffixed });
  assert.deepEqual(await resolve(replica, source, teamB, { dryRun: true }), collision);
  assert.equal(await getSecret(kube, `${teamA}/${suffixed}`), undefined);
  assert.deepEqual(await resolve(replica, source, teamA), { kind: "copy", name: suffixed });
  assert.deepEqual(await resolve(replica, source, teamB), collision);
  replica.requests.length = 0;
  assert.deepEqual(await resolve(replica, source, teamB), collision);
  assert.deepEqual(replica.requests, [], "a fresh refusal is not tried again");
});

test("a dry run gives the same answer and writes nothing", async (t) => {
  const { kube, source, teamA, literal, start } = await scene(t);
  await createPullSecret(kube, source, "one");
  const replica = await start(new TestAsker(), { leads: false });
  replica.requests.length = 0;
  assert.deepEqual(await resolve(replica, source, teamA, { dryRun: true }), { kind: "copy", name: literal });
  assert.equal(replica.count("create", "patch", "apply", "delete"), 0);
  assert.equal(await getSecret(kube, `${teamA}/${literal}`), undefined);
});

test("a missing source: the name that its copy will have", async (t) => {
  const { kube, source, teamA, teamB, literal, suffixed, start } = await scene(t);
  const asker = new TestAsker();
  const replica = await start(asker, { leads: false });
  const isReserved = (name: string) => name === literal;
  assert.deepEqual(await resolve(replica, source, teamA), { kind: "missing", name: literal });
  assert.deepEqual(await resolve(replica, source, teamA, { isReserved }), { kind: "missing", name: suffixed });
  asker.want(source, [teamA], [suffixed]);
  assert.deepEqual(await resolve(replica, source, teamA), { kind: "missing", name: suffixed });
  await createSecret(kube, `${teamB}/${literal}`);
  assert.deepEqual(await resolve(replica, source, teamB), { kind: "missing", name: suffixed });
  await createSecret(kube, `${teamB}/${suffixed}`);
  assert.deepEqual(await resolve(replica, source, teamB), { kind: "left-out", why: { kind: "collision" } });
});

test("a source that may not be copied is left out, read live or known by its label", async (t) => {
  const { kube, source, teamA, replica, copies } = await served(t);
  const vetoed = { kind: "left-out", why: { kind: "vetoed" } };
  await patchSecret(kube, source, { metadata: { annotations: { "latchkey.dev/no-copy": "true" } } });
  await replica.report(source, ({ state }) => state.kind === "vetoed");
  await replica.quiet();
  assert.deepEqual(await resolve(replica, source, teamA), vetoed);
  assert.deepEqual(replica.requests, []);
  assert.equal(await getSecret(kube, copies[0]), undefined);

  const other = source.replace("registry", "other");
  await createSecret(kube, other);
  const rejected = { kind: "left-out", why: { kind: "type-rejected", type: "Opaque" } };
  assert.deepEqual(await resolve(replica, other, teamA), rejected);
});

test("who cannot wait gets no answer, and the copy is made all the same", async (t) => {
  const { kube, source, teamA, literal, start } = await scene(t);
  await createPullSecret(kube, source, "one");
  const replica = await start(new TestAsker(), { leads: false });
  const patient = resolve(replica, source, teamA);
  assert.deepEqual(await resolve(replica, source, teamA, { signal: AbortSignal.abort() }), { kind: "unknown" });
  assert.deepEqual(await patient, { kind: "copy", name: literal });
});

test("a namespace that the cache has not seen yet is no obstacle", async (t) => {
  const { kube, source, literal, start } = await scene(t);
  await createPullSecret(kube, source, "one");
  const replica = await start(new TestAsker(), { leads: false });
  for (let round = 0; round < 5; round++) {
    const namespace = uniqueName("test");
    await createNamespace(t, namespace);
    assert.deepEqual(await resolve(replica, source, namespace), { kind: "copy", name: literal });
  }
  assert.deepEqual(await resolve(replica, source, "there-is-none"), { kind: "unknown" });
});

test("a refusal is told with the name, and not asked for again at once", async (t) => {
  const { kube, source, teamA, literal, start } = await scene(t);
  await createPullSecret(kube, source, "one");
  const refusal = await refuseSecrets(t, kube, [teamA], () => "no");
  const replica = await start(new TestAsker(), { leads: false });
  assert.deepEqual(await resolve(replica, source, teamA), { kind: "refused", name: literal });
  replica.requests.length = 0;
  assert.deepEqual(await resolve(replica, source, teamA), { kind: "refused", name: literal });
  assert.deepEqual(replica.requests, []);
  await refusal.stop();
});

test("the end waits for what is under way, and afterwards there are no answers", async (t) => {
  const { kube, source, teamA, teamB, literal, start } = await scene(t);
  await createPullSecret(kube, source, "one");
  const replica = await start(new TestAsker(), { leads: false });
  const answer = resolve(replica, source, teamA);
  await replica.pullSecrets[Symbol.asyncDispose]();
  assert.deepEqual(await answer, { kind: "unknown" });
  assert.deepEqual(await resolve(replica, source, teamB), { kind: "unknown" });
  const left = await kube.listMetadata(secrets, { namespace: teamB });
  assert.ok(!left.some(({ metadata }) => metadata.name === literal));
});
