import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { fieldManager, sourceHashLabel } from "../api/marks.ts";
import { namespaces as namespaceResource, type Secret, secrets } from "../api/objects.ts";
import { inspectCopies } from "../replication/inspection.ts";
import { createNamespace, uniqueName } from "../testing/cluster.ts";
import { at, encoded } from "../testing/objects.ts";
import {
  allCopied,
  barePlane,
  forgedMarks,
  holding,
  isPlaced,
  Replica,
  scene,
  served,
  TestAsker,
  untilAbsent,
  untilLabelled,
} from "../testing/pull-secrets.ts";
import { refuseSecrets } from "../testing/refusals.ts";
import { createSecret, deleteSecret, getSecret, patchSecret, setValues, theSecret } from "../testing/secrets.ts";
import { createPullSecret } from "../testing/sidecars.ts";
import { until, untilSecret } from "../testing/wait.ts";
import { candidatesOf } from "./names.ts";
import type { Place } from "./report.ts";

barePlane();

test("copies are made where they are wanted and nowhere else, and say whose they are", async (t) => {
  const { kube, teamA, teamB, source, literal, installation, start } = await scene(t);
  await createPullSecret(kube, source, "one");
  const replica = await start();
  replica.want(source, [teamA]);
  const copy = await untilSecret(kube, `${teamA}/${literal}`, holding("one"), {
    type: "kubernetes.io/dockerconfigjson",
  });
  const { labels, annotations = {} } = copy.metadata;
  assert.deepEqual(labels, {
    "app.kubernetes.io/managed-by": "latchkey",
    "latchkey.dev/owner-uid": installation.uid,
    "latchkey.dev/source-hash": createHash("sha256").update(source).digest("hex").slice(0, 10),
  });
  assert.equal(annotations["latchkey.dev/owner"], "Installation");
  assert.equal(annotations["latchkey.dev/source"], source);
  assert.equal(copy.metadata.ownerReferences, undefined);
  assert.equal(copy.metadata.finalizers, undefined);

  const report = await replica.report(source, allCopied);
  assert.deepEqual(report, {
    state: { kind: "usable" },
    places: new Map([[teamA, { kind: "copied", name: literal }]]),
  });
  assert.deepEqual([...replica.pullSecrets.reports()], [[source, report]]);
  assert.equal(await getSecret(kube, `${teamB}/${literal}`), undefined);
  assert.equal(replica.pullSecrets.copyIn(at(source), teamA)?.metadata.name, literal);
  assert.equal(replica.pullSecrets.copyIn(at(source), teamB), undefined);
});

test("a changed source is one write a copy, in place; without a change there is neither a write nor a read", async (t) => {
  const { kube, source, replica, copies } = await served(t);
  const before = await Promise.all(copies.map((copy) => theSecret(kube, copy)));
  await replica.quiet();
  await sleep(1500);
  assert.deepEqual(replica.requests, []);

  await setValues(kube, source, holding("two"));
  for (const [index, copy] of copies.entries()) {
    const { metadata } = await untilSecret(kube, copy, holding("two"));
    assert.equal(metadata.uid, before[index]?.metadata.uid);
  }
  await sleep(1000);
  assert.equal(replica.count("patch"), 2);
  assert.equal(replica.count("get"), 1);
  assert.equal(replica.requests.length, 3);
});

test("a copy that is deleted or edited is restored under its name", async (t) => {
  const { kube, copies } = await served(t);
  const [first, second] = copies;
  await deleteSecret(kube, first);
  await untilSecret(kube, first, holding("one"));
  await setValues(kube, second, { ...holding("evil"), extra: "x" });
  await untilSecret(kube, second, holding("one"));

  const { metadata } = await theSecret(kube, second);
  const patch = { type: "merge", body: { data: encoded(holding("under our name")) } } as const;
  await kube.patch<Secret>(secrets, metadata, patch, { fieldManager });
  const restored = await untilSecret(kube, second, holding("one"));
  assert.equal(restored.metadata.uid, metadata.uid);
});

test("another type needs new copies", async (t) => {
  const { kube, source, copies } = await served(t);
  const [copy] = copies;
  const { metadata } = await theSecret(kube, copy);
  const values = { ".dockercfg": JSON.stringify({ "registry.example.com": { auth: "eDp5" } }) };
  await deleteSecret(kube, source);
  await createSecret(kube, source, values, { type: "kubernetes.io/dockercfg" });
  const made = await untilSecret(kube, copy, values, { type: "kubernetes.io/dockercfg" });
  assert.notEqual(made.metadata.uid, metadata.uid);
});

test("a copy is no source", async (t) => {
  const { kube, source, replica, copies, teamB } = await served(t);
  replica.want(copies[0], [teamB]);
  await replica.report(copies[0], ({ state }) => isDeepStrictEqual(state, { kind: "is-a-copy", original: source }));
  const names = candidatesOf(at(copies[0]));
  for (const name of names) assert.equal(await getSecret(kube, `${teamB}/${name}`), undefined);
  await replica.quiet();
  assert.deepEqual((await theSecret(kube, copies[0])).data, encoded(holding("one")));
});

test("a source that appears later is copied at once, by the name that is carried there", async (t) => {
  const { kube, source, teamA, teamB, literal, suffixed, start } = await scene(t);
  const asker = new TestAsker();
  asker.listed.add(source);
  asker.wants.set(
    source,
    new Map([
      [teamA, [suffixed]],
      [teamB, []],
    ]),
  );
  const replica = await start(asker);
  await replica.report(source, ({ state }) => state.kind === "missing");
  await replica.quiet();
  await sleep(1000);
  assert.deepEqual(replica.requests, []);
  await createPullSecret(kube, source, "one");
  await untilSecret(kube, `${teamA}/${suffixed}`, holding("one"));
  await untilSecret(kube, `${teamB}/${literal}`, holding("one"));
  assert.equal(await getSecret(kube, `${teamA}/${literal}`), undefined);
  await untilLabelled(kube, source);
});

test("a foreign Secret keeps its name; where both are held there is no copy until a namespace change", async (t) => {
  const { kube, source, teamA, teamB, literal, suffixed, start } = await scene(t);
  await createPullSecret(kube, source, "one");
  const theirs = [`${teamA}/${literal}`, `${teamB}/${literal}`, `${teamB}/${suffixed}`];
  const before = await Promise.all(theirs.map((key) => createSecret(kube, key, { a: "theirs" })));
  const replica = await start();
  replica.want(source, [teamA, teamB]);
  await untilSecret(kube, `${teamA}/${suffixed}`, holding("one"));
  const collision: Place = { kind: "collision", names: [literal, suffixed] };
  const report = await replica.report(source, isPlaced(teamB, collision));
  assert.deepEqual(report.places.get(teamA), { kind: "copied", name: suffixed });
  for (const [index, key] of theirs.entries()) assert.deepEqual(await theSecret(kube, key), before[index]);

  await deleteSecret(kube, `${teamB}/${suffixed}`);
  await kube.patch(namespaceResource, { name: teamB }, { type: "merge", body: { metadata: { labels: { a: "b" } } } });
  await untilSecret(kube, `${teamB}/${suffixed}`, holding("one"));
  await replica.report(source, allCopied);
});

test("a name that is freed is found by back-off, by looking and not by writing", async (t) => {
  const { kube, source, teamA, literal, suffixed, start } = await scene(t);
  await createPullSecret(kube, source, "one");
  for (const name of [literal, suffixed]) await createSecret(kube, `${teamA}/${name}`, { a: "theirs" });
  const replica = await start();
  replica.want(source, [teamA]);
  await replica.report(source, isPlaced(teamA, { kind: "collision", names: [literal, suffixed] }));
  await untilLabelled(kube, source);
  replica.requests.length = 0;
  await sleep(2500);
  assert.equal(replica.count("create"), 0);
  assert.ok(replica.count("get") >= 2);
  await deleteSecret(kube, `${teamA}/${literal}`);
  await untilSecret(kube, `${teamA}/${literal}`, holding("one"));
});

test("names that somebody counts on for another source are left free", async (t) => {
  const { kube, source, teamA, teamB, literal, suffixed, start } = await scene(t);
  await createPullSecret(kube, source, "one");
  const asker = new TestAsker();
  asker.reserved.add(`${teamA}/${literal}`).add(`${teamB}/${literal}`).add(`${teamB}/${suffixed}`);
  const replica = await start(asker);
  replica.want(source, [teamA, teamB]);
  await untilSecret(kube, `${teamA}/${suffixed}`, holding("one"));
  await replica.report(source, isPlaced(teamB, { kind: "collision", names: [literal, suffixed] }));
  assert.equal(await getSecret(kube, `${teamA}/${literal}`), undefined);
});

test("two sources whose literal names coincide: the first keeps it, the other gets its own", async (t) => {
  const { kube, home, installation } = await scene(t);
  const stem = uniqueName("join");
  for (const name of [stem, `${stem}-b`]) await createNamespace(t, name);
  const [one, other] = [`${stem}-b/c`, `${stem}/b-c`];
  assert.equal(candidatesOf(at(one))[0], candidatesOf(at(other))[0]);
  const literal = candidatesOf(at(one))[0];
  await createPullSecret(kube, one, "one");
  await createPullSecret(kube, other, "other");
  const replica = await Replica.start(t, { home, installation });
  replica.want(one, [stem]);
  await untilSecret(kube, `${stem}/${literal}`, holding("one"));
  replica.want(other, [stem]);
  await untilSecret(kube, `${stem}/${candidatesOf(at(other))[1]}`, holding("other"));
  assert.deepEqual((await theSecret(kube, `${stem}/${literal}`)).data, encoded(holding("one")));
});

test("marks prove nothing where they do not fit, and are never filled where nobody wants a copy", async (t) => {
  const { kube, source, vault, teamA, teamB, literal, suffixed, installation, replica } = await served(t);
  const forgeries = [`${teamA}/pasted`, `${teamA}/my-own`, `${vault}/${suffixed}`] as const;
  const [pasted, misnamed, perfect] = forgeries;
  await createSecret(kube, pasted, { a: "theirs" }, forgedMarks(`${vault}/${literal}`, source, installation));
  await createSecret(kube, misnamed, { a: "theirs" }, forgedMarks(misnamed, source, installation));
  await createSecret(kube, perfect, { a: "theirs" }, forgedMarks(perfect, source, installation));
  await setValues(kube, source, holding("two"));
  await untilSecret(kube, `${teamB}/${literal}`, holding("two"));
  await replica.quiet();
  for (const key of forgeries) assert.deepEqual((await theSecret(kube, key)).data, encoded({ a: "theirs" }), key);
  await deleteSecret(kube, source);
  await untilAbsent(kube, `${teamB}/${literal}`);
  for (const key of [pasted, misnamed]) assert.ok(await getSecret(kube, key), key);
});

test("a copy that lost a mark is foreign from then on", async (t) => {
  const { kube, source, teamA, teamB, literal, suffixed, replica } = await served(t);
  await patchSecret(kube, `${teamA}/${literal}`, { metadata: { labels: { [sourceHashLabel]: null } } });
  await patchSecret(kube, `${teamB}/${literal}`, { metadata: { labels: { "latchkey.dev/owner-uid": null } } });
  for (const namespace of [teamA, teamB]) await untilSecret(kube, `${namespace}/${suffixed}`, holding("one"));
  await replica.report(source, isPlaced(teamB, { kind: "copied", name: suffixed }));
  await setValues(kube, source, holding("two"));
  await untilSecret(kube, `${teamA}/${suffixed}`, holding("two"));
  assert.deepEqual((await theSecret(kube, `${teamA}/${literal}`)).data, encoded(holding("one")));
});

test("a refusal in one namespace stops no other, and is retried on a namespace change", async (t) => {
  const { kube, source, teamA, teamB, literal, start } = await scene(t);
  await createPullSecret(kube, source, "one");
  const refusal = await refuseSecrets(
    t,
    kube,
    [teamA],
    ({ object }) => `no ${object.data?.[".dockerconfigjson"]} here`,
  );
  const replica = await start();
  replica.want(source, [teamA, teamB]);
  await untilSecret(kube, `${teamB}/${literal}`, holding("one"));
  const { places } = await replica.report(source, (report) => report.places.get(teamA)?.kind === "refused");
  const place = places.get(teamA);
  assert.ok(
    place?.kind === "refused" && /denied the request: no \[redacted\] here/.test(place.message),
    JSON.stringify(place),
  );

  await refusal.stop();
  await kube.patch(namespaceResource, { name: teamA }, { type: "merge", body: { metadata: { labels: { a: "b" } } } });
  await untilSecret(kube, `${teamA}/${literal}`, holding("one"));
  await replica.report(source, allCopied);
});

test("a copy that the server fails to make is told of in its words, and made once it can be", async (t) => {
  const { kube, source, teamA, teamB, literal, start } = await scene(t);
  await createPullSecret(kube, source, "one");
  const refusal = await refuseSecrets(t, kube, [teamA], () => undefined);
  await refusal.die();
  const replica = await start();
  replica.want(source, [teamA, teamB]);
  const { places } = await replica.report(source, (report) => report.places.size > 0);
  assert.deepEqual(places.get(teamB), { kind: "copied", name: literal });
  const place = places.get(teamA);
  assert.ok(place?.kind === "pending" && /failed calling webhook/.test(place.message ?? ""), JSON.stringify(place));

  await refusal.stop();
  await untilSecret(kube, `${teamA}/${literal}`, holding("one"));
  await replica.report(source, allCopied);
});

test("a namespace that is missing or going costs no request; one that comes has its copy at once", async (t) => {
  const { kube, source, teamA, literal, start } = await scene(t);
  await createPullSecret(kube, source, "one");
  const [coming, going] = [uniqueName("test"), uniqueName("test")];
  await kube.create(namespaceResource, { metadata: { name: going } });
  await createSecret(kube, `${going}/stays`, {}, { finalizers: ["example.com/stays"] });
  t.after(() => patchSecret(kube, `${going}/stays`, { metadata: { finalizers: null } }));
  await kube.delete(namespaceResource, { name: going });
  await until(kube, namespaceResource, { name: going }, "is going", (seen) => !!seen?.metadata.deletionTimestamp);

  const replica = await start();
  replica.want(source, [teamA, coming, going]);
  await untilSecret(kube, `${teamA}/${literal}`, holding("one"));
  await replica.report(source, isPlaced(going, { kind: "pending" }));
  await replica.report(source, isPlaced(coming, { kind: "pending" }));
  await untilLabelled(kube, source);
  await replica.quiet();
  replica.pullSecrets.wake(source);
  await sleep(1500);
  assert.deepEqual(replica.requests, []);

  await createNamespace(t, coming);
  await untilSecret(kube, `${coming}/${literal}`, holding("one"));
  await replica.report(source, isPlaced(coming, { kind: "copied", name: literal }));
});

test("copies in a namespace that is going are left to it", async (t) => {
  const { kube, source, teamB, replica } = await served(t);
  await createSecret(kube, `${teamB}/stays`, {}, { finalizers: ["example.com/stays"] });
  t.after(() => patchSecret(kube, `${teamB}/stays`, { metadata: { finalizers: null } }));
  await kube.delete(namespaceResource, { name: teamB });
  await replica.report(source, isPlaced(teamB, { kind: "pending" }));
  await replica.quiet();
  await sleep(1500);
  assert.deepEqual(replica.requests, []);
});

test("a new leader writes nothing where all is well, and goes on where it is not", async (t) => {
  const { kube, source, teamA, teamB, replica, copies, start } = await served(t);
  const before = await Promise.all(copies.map((copy) => theSecret(kube, copy)));
  await replica.stop();
  const asker = new TestAsker();
  asker.want(source, [teamA, teamB]);
  const next = await start(asker);
  await next.report(source, allCopied);
  await next.quiet();
  for (const [index, copy] of copies.entries()) assert.deepEqual(await theSecret(kube, copy), before[index]);
  await next.stop();

  await setValues(kube, source, holding("two"));
  await deleteSecret(kube, copies[0]);
  await start(asker);
  for (const copy of copies) await untilSecret(kube, copy, holding("two"));
});

test("what was edited under our own name while nobody was there is found by the background check", async (t) => {
  const { kube, source, teamA, teamB, replica, copies, start } = await served(t);
  await inspectCopies(replica.replication, kube, {});
  for (const copy of copies) assert.equal(replica.replication.suspects.has(copy), false);
  await replica.stop();
  const body = { data: encoded(holding("under our name")) };
  await kube.patch<Secret>(secrets, at(copies[0]), { type: "merge", body }, { fieldManager });
  const asker = new TestAsker();
  asker.want(source, [teamA, teamB]);
  const next = await start(asker);
  await next.report(source, allCopied);
  await inspectCopies(next.replication, kube, {});
  await untilSecret(kube, copies[0], holding("one"));
});

test("a standby does nothing", async (t) => {
  const { kube, source, teamA, literal, start } = await scene(t);
  await createPullSecret(kube, source, "one");
  const replica = await start(new TestAsker(), { leads: false });
  replica.want(source, [teamA]);
  replica.pullSecrets.noteWanted(source, teamA);
  await replica.quiet();
  assert.equal(await getSecret(kube, `${teamA}/${literal}`), undefined);
  assert.equal(replica.pullSecrets.reportOf(source), undefined);
  assert.deepEqual([...replica.pullSecrets.reports()], []);
});
