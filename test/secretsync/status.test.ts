import assert from "node:assert/strict";
import { test } from "node:test";
import { kubectl, testNamespaces, uniqueName } from "../../src/testing/cluster.ts";
import { at, frequentPoll, rarePoll, type SyncOptions } from "../../src/testing/objects.ts";
import { refuseSecrets } from "../../src/testing/refusals.ts";
import { createSecret, deleteSecret, patchSecret, setValues } from "../../src/testing/secrets.ts";
import { changeSync, createdSync, createSync } from "../../src/testing/syncs.ts";
import { conditionIn, untilCondition, untilSecret, untilSynced } from "../../src/testing/wait.ts";

const columns = [
  {
    name: "in sync by watch",
    to: ["one", "two"],
    sync: "True",
    copies: "2/2",
    phase: "Synced",
    reason: "Synced",
    strategy: /watch/i,
  },
  {
    name: "in sync by poll",
    to: ["one"],
    options: { strategy: rarePoll },
    sync: "True",
    copies: "1/1",
    phase: "Synced",
    reason: "Synced",
    strategy: /poll/i,
  },
  {
    name: "one of three in the way",
    to: ["one", "taken", "three"],
    sync: "False",
    copies: "2/3",
    phase: "Pending",
    reason: "Conflict",
    strategy: /watch/i,
  },
  {
    name: "created paused",
    to: ["one"],
    options: { paused: true },
    sync: "Unknown",
    copies: "0/1",
    phase: "Paused",
    reason: "Paused",
    strategy: /watch/i,
  },
] satisfies readonly ({ to: string[]; options?: Partial<SyncOptions> } & Record<string, unknown>)[];

for (const { name, to, options, ...wanted } of columns) {
  test(`kubectl get shows exactly the columns of the spec: ${name}`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 2);
    const [vault, team] = namespaces;
    await createSecret(kube, `${vault}/db`);
    await createSecret(kube, `${team}/taken`);
    const sync = await createSync(t, kube, `${vault}/db`, { ...options, to: to.map((target) => `${team}/${target}`) });
    await untilCondition(kube, sync, "Sync", { reason: wanted.reason });

    const narrow = await kubectl(["get", "ssync", sync.metadata.name]);
    const [header = "", row = ""] = narrow.stdout
      .trimEnd()
      .split("\n")
      .map((line) => line.split(/\s+/));
    assert.deepEqual(header, ["NAME", "SOURCE", "SYNC", "COPIES", "PHASE", "AGE"], narrow.stderr);
    assert.deepEqual(row.slice(0, 5), [sync.metadata.name, `${vault}/db`, wanted.sync, wanted.copies, wanted.phase]);

    const wide = await kubectl(["get", "secretsyncs", sync.metadata.name, "-o", "wide"]);
    const [wideHeader = "", wideRow = ""] = wide.stdout
      .trimEnd()
      .split("\n")
      .map((line) => line.split(/\s{2,}/));
    assert.deepEqual(wideHeader, ["NAME", "SOURCE", "SYNC", "COPIES", "PHASE", "AGE", "REASON", "STRATEGY"]);
    assert.equal(wideRow[6], wanted.reason);
    assert.match(String(wideRow[7]), wanted.strategy);
  });
}

test("every condition carries the generation it is about, also when nothing else changes", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/db`);
  const sync = await createdSync(t, kube, `${vault}/db`, { to: [`${team}/a`, `${team}/b`] });
  const turned = await changeSync(kube, sync, { spec: { dest: [at(`${team}/b`), at(`${team}/a`)] } });
  assert.equal(turned.metadata.generation, 2);
  const seen = await untilSynced(kube, turned);
  assert.deepEqual(seen.status?.conditions?.map(({ type, observedGeneration }) => [type, observedGeneration]).sort(), [
    ["Paused", 2],
    ["Sync", 2],
  ]);
  assert.deepEqual(
    seen.status?.targets?.map(({ name }) => name),
    ["b", "a"],
  );
});

test("phases: Pending until the first complete sync, Degraded afterwards, Synced again", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  const sync = await createSync(t, kube, `${vault}/db`, { to: [`${team}/db`] });
  const missing = await untilCondition(kube, sync, "Sync", { reason: "SourceNotFound", phase: "Pending" });
  assert.match(conditionIn(missing, "Sync")?.message ?? "", new RegExp(`${vault}/db`));
  await createSecret(kube, `${vault}/db`, { a: "1" });
  await untilCondition(kube, sync, "Sync", {
    status: "True",
    reason: "Synced",
    phase: "Synced",
    message: `1 copy of ${vault}/db is up to date`,
  });
  await deleteSecret(kube, `${vault}/db`);
  await untilCondition(kube, sync, "Sync", { status: "False", reason: "SourceNotFound", phase: "Degraded" });
  await createSecret(kube, `${vault}/db`, { a: "2" });
  await untilCondition(kube, sync, "Sync", { status: "True", phase: "Synced" });

  // Incomplete again after a change of the spec: it has been in sync before, so it is degraded, not pending.
  const dest = [at(`${team}/db`), { namespace: uniqueName("missing"), name: "db" }];
  const changed = await changeSync(kube, sync, { spec: { dest } });
  await untilCondition(kube, changed, "Sync", { reason: "NamespaceNotFound", phase: "Degraded" });
});

test("the time of transition changes with the status of a condition and with nothing else", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/db`, { a: "1" });
  const sync = await createdSync(t, kube, `${vault}/db`, { to: [`${team}/db`] });
  const before = conditionIn(sync, "Sync")?.lastTransitionTime;
  assert.ok(before);
  await setValues(kube, `${vault}/db`, { a: "2" });
  await untilSecret(kube, `${team}/db`, { a: "2" });
  const changed = await changeSync(kube, sync, { spec: { dest: [at(`${team}/db`), at(`${team}/more`)] } });
  const after = await untilSynced(kube, changed);
  assert.equal(conditionIn(after, "Sync")?.lastTransitionTime, before);
});

test("the gravest reason is the source's: without it destinations are not what matters", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 3);
  const [vault, team, refused] = namespaces;
  await createSecret(kube, `${vault}/db`, { a: "1" });
  await createSecret(kube, `${team}/taken`);
  await refuseSecrets(t, kube, [refused], () => "never here");
  const to = [`${uniqueName("missing")}/db`, `${refused}/db`];
  const sync = await createSync(t, kube, `${vault}/db`, { to });
  await untilCondition(kube, sync, "Sync", { reason: "DestinationRefused", message: /never here/ });
  const changed = await changeSync(kube, sync, { spec: { dest: [...to, `${team}/taken`].map(at) } });
  const all = new RegExp(`${to[0]}.*never here.*${team}/taken|${team}/taken.*never here`, "s");
  await untilCondition(kube, changed, "Sync", { reason: "Conflict", message: all });
  await deleteSecret(kube, `${vault}/db`);
  await untilCondition(kube, changed, "Sync", { reason: "SourceNotFound" });
});

test("a copy that is slow to go is Progressing, and served when it is gone", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/db`, { a: "1" });
  const sync = await createdSync(t, kube, `${vault}/db`, { to: [`${team}/held`, `${team}/db`] });
  await patchSecret(kube, `${team}/held`, { metadata: { finalizers: ["latchkey.test/hold"] } });
  await deleteSecret(kube, `${team}/held`);
  const message = new RegExp(`${team}/held`);
  const wanted = { status: "False", reason: "Progressing", phase: "Degraded", message } as const;
  const seen = await untilCondition(kube, sync, "Sync", wanted);
  assert.deepEqual(
    seen.status?.targets?.map(({ state }) => state),
    ["Pending", "Synced"],
  );
  await setValues(kube, `${vault}/db`, { a: "2" });
  await untilSecret(kube, `${team}/db`, { a: "2" });
  await patchSecret(kube, `${team}/held`, { metadata: { finalizers: null } });
  await untilSecret(kube, `${team}/held`, { a: "2" });
  await untilSynced(kube, sync);
});

test("a poll that finds nothing new changes nothing in the status", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/db`, { a: "1" });
  const sync = await createdSync(t, kube, `${vault}/db`, { to: [`${team}/db`], strategy: frequentPoll });
  await setValues(kube, `${vault}/db`, { a: "2" });
  await untilSecret(kube, `${team}/db`, { a: "2" });
  assert.deepEqual((await untilSynced(kube, sync)).status, sync.status);
});

test("however much a webhook has to say, the status can be written", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 3);
  const [vault, team, refused] = namespaces;
  await createSecret(kube, `${vault}/db`, { a: "1" });
  await refuseSecrets(
    t,
    kube,
    [refused],
    ({ object }) => `${object.metadata.name} is refused ${"because ".repeat(5_000)}`,
  );
  const to = ["a", "b", "c", "d"].map((name) => `${refused}/${name}`);
  const sync = await createSync(t, kube, `${vault}/db`, { to: [...to, `${team}/db`] });
  const seen = await untilCondition(kube, sync, "Sync", {
    reason: "DestinationRefused",
    message: /a is refused because/,
  });
  assert.deepEqual(
    seen.status?.targets?.map(({ state }) => state),
    ["Refused", "Refused", "Refused", "Refused", "Synced"],
  );
});
