import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { fingerprintAnnotation } from "../api/marks.ts";
import { printOf, sealedPrint } from "../replication/seal.ts";
import { at, encoded } from "../testing/objects.ts";
import {
  barePlane,
  forgedMarks,
  holding,
  isPlaced,
  served,
  TestAsker,
  untilAbsent,
  untilLabelled,
  untilUnlabelled,
} from "../testing/pull-secrets.ts";
import { refuseSecrets } from "../testing/refusals.ts";
import { createSecret, deleteSecret, getSecret, patchSecret, setValues, theSecret } from "../testing/secrets.ts";
import { createPullSecret } from "../testing/sidecars.ts";
import { untilSecret } from "../testing/wait.ts";

barePlane();

test("a source that goes takes its copies along, three seconds later", async (t) => {
  const { kube, source, replica, copies, teamA } = await served(t);
  replica.want(source, [teamA]);
  await replica.quiet();
  await deleteSecret(kube, source);
  const goneAt = performance.now();
  await replica.report(source, ({ state, places }) => state.kind === "missing" && places.size === 0);
  for (const copy of copies) assert.ok(await getSecret(kube, copy));
  await Promise.all(copies.map((copy) => untilAbsent(kube, copy)));
  const tookMs = performance.now() - goneAt;
  assert.ok(tookMs > 2900, `took ${tookMs} ms`);

  await createPullSecret(kube, source, "again");
  await untilSecret(kube, copies[0], holding("again"));
  assert.equal(await getSecret(kube, copies[1]), undefined);
});

test("a source that is back in time is an update", async (t) => {
  const { kube, source, replica, copies } = await served(t);
  const before = await Promise.all(copies.map((copy) => theSecret(kube, copy)));
  await deleteSecret(kube, source);
  await replica.report(source, ({ state }) => state.kind === "missing");
  await createPullSecret(kube, source, "back");
  for (const [index, copy] of copies.entries()) {
    const { metadata } = await untilSecret(kube, copy, holding("back"));
    assert.equal(metadata.uid, before[index]?.metadata.uid);
  }
  await untilLabelled(kube, source);
  await sleep(3500);
  for (const [index, copy] of copies.entries()) {
    assert.equal((await theSecret(kube, copy)).metadata.uid, before[index]?.metadata.uid);
  }
});

test("what went while nobody was there is revoked after the start, listed or not", async (t) => {
  const { kube, source, replica, copies, start } = await served(t);
  await replica.stop();
  await deleteSecret(kube, source);
  const later = new TestAsker();
  for (const copy of copies) later.inUse.add(copy);
  await start(later);
  await Promise.all(copies.map((copy) => untilAbsent(kube, copy)));
});

test("a veto, or a type that is not accepted, is acted on at once, whoever lists the source", async (t) => {
  const { kube, source, replica, copies } = await served(t);
  for (const copy of copies) replica.asker.inUse.add(copy);
  await patchSecret(kube, source, { metadata: { annotations: { "latchkey.dev/no-copy": "true" } } });
  await Promise.all(copies.map((copy) => untilAbsent(kube, copy)));
  await replica.report(source, ({ state, places }) => state.kind === "vetoed" && places.size === 0);
  await patchSecret(kube, source, { metadata: { annotations: { "latchkey.dev/no-copy": null } } });
  for (const copy of copies) await untilSecret(kube, copy, holding("one"));

  replica.unlist(source);
  await patchSecret(kube, source, { metadata: { annotations: { "latchkey.dev/no-copy": "true" } } });
  await Promise.all(copies.map((copy) => untilAbsent(kube, copy)));
  await untilUnlabelled(kube, source);

  await deleteSecret(kube, source);
  await createSecret(kube, source);
  replica.want(source, []);
  await replica.report(source, ({ state }) => isDeepStrictEqual(state, { kind: "type-rejected", type: "Opaque" }));
  await untilLabelled(kube, source);
});

test("a deletion that is refused stops no other, and is tried again", async (t) => {
  const { kube, source, teamA, replica, copies } = await served(t);
  let isRefusing = true;
  const refusal = await refuseSecrets(t, kube, [teamA], ({ operation }) =>
    isRefusing && operation === "DELETE" ? "not this one" : undefined,
  );
  await deleteSecret(kube, source);
  await untilAbsent(kube, copies[1]);
  await replica.report(source, ({ state }) => state.kind === "missing");
  assert.ok(await getSecret(kube, copies[0]));
  isRefusing = false;
  await untilAbsent(kube, copies[0]);
  await refusal.stop();
});

test("an idle copy stays for its grace, equal to the source, and goes if nobody uses it", async (t) => {
  const { kube, source, teamA, literal, replica, copies } = await served(t);
  replica.want(source, [teamA]);
  await setValues(kube, source, holding("two"));
  for (const copy of copies) await untilSecret(kube, copy, holding("two"));

  replica.asker.idleMs = 300;
  replica.asker.inUse.add(copies[1]);
  replica.pullSecrets.wake(source);
  await sleep(1000);
  assert.ok(await getSecret(kube, copies[1]), "somebody uses it");
  replica.asker.inUse.clear();
  replica.pullSecrets.wake(source);
  await untilAbsent(kube, copies[1]);
  assert.ok(await getSecret(kube, `${teamA}/${literal}`));
  await sleep(500);
  assert.equal(await getSecret(kube, copies[1]), undefined);
});

test("a copy that stays beyond its grace stays as it is, also one that was put back", async (t) => {
  const { kube, source, teamA, teamB, replica, copies } = await served(t);
  const [wanted, lapsed] = copies;
  replica.asker.inUse.add(lapsed);
  replica.asker.idleMs = 300;
  replica.want(source, [teamA]);
  await sleep(800);
  await setValues(kube, source, holding("two"));
  await untilSecret(kube, wanted, holding("two"));
  await replica.quiet();
  const { metadata, data, type } = await theSecret(kube, lapsed);
  assert.deepEqual(data, encoded(holding("one")));

  const { labels = {}, annotations = {} } = metadata;
  replica.asker.idleMs = 1500;
  await deleteSecret(kube, lapsed);
  await replica.quiet();
  await createSecret(kube, lapsed, holding("one"), { labels, annotations, type: type ?? "" });
  await setValues(kube, source, holding("three"));
  await untilSecret(kube, wanted, holding("three"));
  await replica.quiet();
  assert.deepEqual((await theSecret(kube, lapsed)).data, encoded(holding("one")));

  replica.want(source, [teamA, teamB]);
  await untilSecret(kube, lapsed, holding("three"));
});

test("an idle copy follows a source that changed while nobody was there", async (t) => {
  const { kube, source, teamA, replica, copies, start } = await served(t);
  await replica.stop();
  await setValues(kube, source, holding("two"));
  const asker = new TestAsker();
  asker.want(source, [teamA]);
  const { uid } = (await theSecret(kube, copies[1])).metadata;
  await start(asker);
  for (const copy of copies) await untilSecret(kube, copy, holding("two"));
  assert.equal((await theSecret(kube, copies[1])).metadata.uid, uid);
});

test("a copy that is in use again begins its grace anew", async (t) => {
  const { source, teamA, teamB, kube, replica, copies } = await served(t);
  replica.asker.idleMs = 6000;
  replica.want(source, [teamA]);
  await sleep(3500);
  replica.asker.want(source, [teamA, teamB]);
  replica.pullSecrets.noteWanted(source, teamB);
  await sleep(100);
  replica.want(source, [teamA]);
  await sleep(3500);
  assert.ok(await getSecret(kube, copies[1]));
  await untilAbsent(kube, copies[1]);
});

test("a source that nobody lists: its copies stay as they are while in use, and its label goes with the last", async (t) => {
  const { kube, source, replica, copies } = await served(t);
  replica.asker.inUse.add(copies[0]);
  replica.unlist(source);
  await untilAbsent(kube, copies[1]);
  await setValues(kube, source, holding("two"));
  await replica.quiet();
  assert.deepEqual((await theSecret(kube, copies[0])).data, encoded(holding("one")));
  await untilLabelled(kube, source);

  replica.asker.inUse.clear();
  replica.pullSecrets.wake(source);
  await untilAbsent(kube, copies[0]);
  const { metadata } = await untilUnlabelled(kube, source);
  assert.ok(!metadata.managedFields?.some(({ manager }) => manager === "latchkey-pull-secrets"));
  assert.equal(replica.pullSecrets.reportOf(source), undefined);
  assert.equal(replica.asker.told.at(-1), source);
  await replica.quiet();
  await sleep(500);
  assert.deepEqual(replica.requests, []);
});

test("a forged copy does not have us write on what it names", async (t) => {
  const { kube, source, vault, teamA, teamB, literal, installation, replica } = await served(t);
  const [theirs] = [`${vault}/theirs`];
  const forged = `${teamA}/${vault}-theirs`;
  await createPullSecret(kube, theirs, "theirs");
  replica.asker.inUse.add(forged).add(`${teamB}/${literal}`);
  await createSecret(kube, forged, {}, forgedMarks(forged, theirs, installation));
  await replica.report(theirs, ({ state }) => state.kind === "usable");
  await replica.quiet();
  const { metadata } = await theSecret(kube, theirs);
  assert.equal(metadata.labels, undefined);

  // A real copy is another matter, until only a forged one is left.
  replica.unlist(source);
  await untilAbsent(kube, `${teamA}/${literal}`);
  await untilLabelled(kube, source);
  await patchSecret(kube, `${teamB}/${literal}`, { metadata: { annotations: { [fingerprintAnnotation]: "forged" } } });
  await untilUnlabelled(kube, source);
  await deleteSecret(kube, source);
  await untilAbsent(kube, `${teamB}/${literal}`);
});

test("of two copies of ours the second goes once nobody uses it, and both are equal until then", async (t) => {
  const { kube, source, teamA, teamB, literal, suffixed, installation, replica } = await served(t);
  const second = `${teamA}/${suffixed}`;
  replica.asker.inUse.add(second);
  const { metadata } = await theSecret(kube, `${teamA}/${literal}`);
  const print = printOf(metadata.annotations?.[fingerprintAnnotation] ?? "");
  const sealed = sealedPrint(print, at(second), at(source), replica.replication.fingerprint);
  const marks = forgedMarks(second, source, installation, sealed);
  await createSecret(kube, second, holding("one"), { ...marks, type: "kubernetes.io/dockerconfigjson" });
  await replica.quiet();
  await setValues(kube, source, holding("two"));
  await untilSecret(kube, second, holding("two"));
  await replica.report(source, isPlaced(teamA, { kind: "copied", name: literal }));

  replica.asker.inUse.clear();
  replica.pullSecrets.wake(source);
  await untilAbsent(kube, second);
  await untilSecret(kube, `${teamA}/${literal}`, holding("two"));
  await untilSecret(kube, `${teamB}/${literal}`, holding("two"));
});
