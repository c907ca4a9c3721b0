import assert from "node:assert/strict";
import { test } from "node:test";
import { collisionAnnotation, type SecretSync, type SecretSyncStatus } from "../../api/secret-sync.ts";
import type { Problem, Target } from "./problems.ts";
import { announcementsOf, pausedStatusOf, statusOf, targetsBefore } from "./status.ts";

function syncWith(status?: SecretSyncStatus, more: { paused?: boolean; policy?: string } = {}): SecretSync {
  return {
    metadata: {
      name: "s",
      uid: "u",
      resourceVersion: "1",
      creationTimestamp: "",
      generation: 3,
      ...(more.policy && { annotations: { [collisionAnnotation]: more.policy } }),
    },
    spec: {
      paused: more.paused ?? false,
      strategy: { watch: {} },
      src: { namespace: "vault", name: "db" },
      dest: [
        { namespace: "a", name: "db" },
        { namespace: "b", name: "db" },
      ],
    },
    ...(status && { status }),
  };
}

const synced = (namespace: string): Target => ({ namespace, name: "db", state: "Synced" });
const conflict: Target = { namespace: "a", name: "db", state: "Conflict", message: "held by an unmanaged Secret" };
const refused: Target = { namespace: "b", name: "db", state: "Refused", message: "quota exceeded" };
const missing: Target = { namespace: "b", name: "db", state: "NamespaceNotFound", message: 'namespaces "b" not found' };
const pending: Target = { namespace: "b", name: "db", state: "Pending" };
const noSource: Problem = { reason: "SourceNotFound", message: "Secret vault/db does not exist" };

const conditionOf = (status: SecretSyncStatus, type = "Sync") => status.conditions?.find((one) => one.type === type);

const cases = [
  {
    name: "all there",
    targets: [synced("a"), synced("b")],
    reason: "Synced",
    message: "2 copies of vault/db are up to date",
    copies: "2/2",
  },
  {
    name: "a collision",
    targets: [conflict, synced("b")],
    reason: "Conflict",
    message: "a/db is held by an unmanaged Secret",
    copies: "1/2",
  },
  {
    name: "the gravest counts, all are told",
    targets: [conflict, refused],
    reason: "Conflict",
    message: "a/db is held by an unmanaged Secret; b/db: quota exceeded",
    copies: "0/2",
  },
  {
    name: "a refusal is graver than a missing namespace",
    targets: [{ ...refused, namespace: "a" }, missing],
    reason: "DestinationRefused",
    message: 'a/db: quota exceeded; b/db: namespaces "b" not found',
    copies: "0/2",
  },
  {
    name: "unfinished",
    targets: [synced("a"), pending],
    reason: "Progressing",
    message: "b/db: not written yet",
    copies: "1/2",
  },
  {
    name: "no source",
    targets: [synced("a"), synced("b")],
    problems: [noSource],
    reason: "SourceNotFound",
    message: noSource.message,
    copies: "2/2",
  },
];

for (const { name, targets, problems = [], reason, message, copies } of cases) {
  test(`statusOf: ${name}`, () => {
    const status = statusOf(syncWith(), { targets, problems });
    const { status: holds, ...said } = conditionOf(status) ?? {};
    assert.deepEqual(said, { type: "Sync", reason, message, observedGeneration: 3 });
    assert.equal(holds, reason === "Synced" ? "True" : "False");
    assert.equal(status.copies, copies);
    assert.equal(conditionOf(status, "Paused")?.reason, "SpecSaysUnpaused");
  });
}

test("one copy is told in the singular", () => {
  const sync = syncWith();
  const one = { ...sync, spec: { ...sync.spec, dest: [{ namespace: "a", name: "db" }] } };
  assert.equal(
    conditionOf(statusOf(one, { targets: [synced("a")], problems: [] }))?.message,
    "1 copy of vault/db is up to date",
  );
});

const phases = [
  { hasSynced: false, ok: false, phase: "Pending" },
  { hasSynced: false, ok: true, phase: "Synced" },
  { hasSynced: true, ok: false, phase: "Degraded" },
  { hasSynced: true, ok: true, phase: "Synced" },
] as const;
for (const { hasSynced, ok, phase } of phases) {
  test(`phase: ${hasSynced ? "synced once" : "never synced"}, now ${ok ? "in sync" : "not in sync"}: ${phase}`, () => {
    const status = statusOf(syncWith({ hasSynced }), {
      targets: [synced("a"), ok ? synced("b") : pending],
      problems: [],
    });
    assert.equal(status.phase, phase);
    assert.equal(status.hasSynced, hasSynced || ok);
  });
}

test("a pause in between does not make Pending Degraded", () => {
  const conflicted = statusOf(syncWith(), { targets: [conflict, synced("b")], problems: [] });
  const paused = pausedStatusOf(syncWith(conflicted, { paused: true }));
  assert.equal(statusOf(syncWith(paused), { targets: [conflict, synced("b")], problems: [] }).phase, "Pending");
});

test("paused before it ever ran", () => {
  const status = pausedStatusOf(syncWith(undefined, { paused: true }));
  assert.equal(status.phase, "Paused");
  assert.deepEqual([conditionOf(status)?.status, conditionOf(status)?.reason], ["Unknown", "Paused"]);
  assert.equal(conditionOf(status, "Paused")?.reason, "SpecSaysPaused");
});

test("paused later: Sync stays as it was, and unpausing goes on from there", () => {
  const ran = statusOf(syncWith(), { targets: [synced("a"), synced("b")], problems: [] });
  const paused = pausedStatusOf(syncWith(ran, { paused: true }));
  assert.deepEqual(conditionOf(paused), conditionOf(ran));
  assert.deepEqual(paused.targets, ran.targets);
  assert.equal(statusOf(syncWith(paused), { targets: [synced("a"), pending], problems: [] }).phase, "Degraded");
});

test("targets stay what they were, new ones are pending", () => {
  const before = statusOf(syncWith(), { targets: [conflict], problems: [] });
  assert.deepEqual(targetsBefore(syncWith(before)), [conflict, pending]);
});

test("events: one per change of situation, whatever the words of others", () => {
  const first = statusOf(syncWith(), { targets: [synced("a"), refused], problems: [] });
  assert.deepEqual(
    announcementsOf(syncWith(), first).map(({ type, reason }) => [type, reason]),
    [["Warning", "DestinationRefused"]],
  );

  const otherWords = statusOf(syncWith(first), {
    targets: [synced("a"), { ...refused, message: "used 4" }],
    problems: [],
  });
  assert.deepEqual(announcementsOf(syncWith(first), otherWords), []);

  const healed = statusOf(syncWith(first), { targets: [synced("a"), synced("b")], problems: [] });
  assert.deepEqual(
    announcementsOf(syncWith(first), healed).map(({ type, reason }) => [type, reason]),
    [["Normal", "Synced"]],
  );
  assert.deepEqual(announcementsOf(syncWith(healed), healed), []);
});

test("an unknown policy is told in the message always and by one event", () => {
  const sync = syncWith(undefined, { policy: "Sometimes" });
  const status = statusOf(sync, { targets: [synced("a"), synced("b")], problems: [] });
  assert.match(
    conditionOf(status)?.message ?? "",
    /"Sometimes" is none of Prevent, IfNoController, None and counts as Prevent$/,
  );
  const reasons = announcementsOf(sync, status).map(({ reason }) => reason);
  assert.deepEqual(reasons, ["InvalidCollisionProtection", "Synced"]);
  assert.deepEqual(announcementsOf({ ...sync, status }, status), []);
});
