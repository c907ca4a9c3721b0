import assert from "node:assert/strict";
import { test } from "node:test";
import type { Condition } from "../../api/objects.ts";
import { sidecarRecord } from "../../testing/sidecar-records.ts";
import { isActive, isToldRejected, isUnjudged, Verdicts } from "./accepted.ts";
import type { Verdict } from "./judge.ts";

interface Told {
  readonly status: Condition["status"];
  readonly reason?: string;
  readonly generation?: number;
}

const record = (told?: Told, { generation = 2, isPaused = false } = {}) =>
  sidecarRecord(
    "logs",
    { injectionStrategy: { paused: isPaused } },
    {
      metadata: { generation },
      ...(told && { status: { conditions: [conditionOf(told)] } }),
    },
  );
const conditionOf = ({ status, reason = "Valid", generation = 2 }: Told): Condition => ({
  ...{ type: "Accepted", status, reason, message: "words", observedGeneration: generation },
});

const activity = [
  { name: "accepted", set: record({ status: "True" }), judged: false, active: true },
  { name: "accepted, but paused", set: record({ status: "True" }, { isPaused: true }), judged: true, active: false },
  { name: "rejected", set: record({ status: "False" }), judged: false, active: false },
  { name: "rejected, though admission let it pass", set: record({ status: "False" }), judged: true, active: false },
  { name: "new, unseen", set: record(), judged: false, active: false },
  { name: "new, let pass by admission", set: record(), judged: true, active: true },
  { name: "changed, unseen", set: record({ status: "True", generation: 1 }), judged: false, active: false },
  {
    name: "changed, let pass by admission",
    set: record({ status: "True", generation: 1 }),
    judged: true,
    active: true,
  },
  {
    name: "mended, let pass by admission",
    set: record({ status: "False", generation: 1 }),
    judged: true,
    active: true,
  },
];

for (const { name, set, judged, active } of activity) {
  test(`isActive: ${name}`, () => assert.equal(isActive(set, { has: () => judged }), active));
}

const open = ["new, unseen", "changed, unseen"];
for (const { name, set, judged } of activity) {
  test(`isUnjudged: ${name}`, () => assert.equal(isUnjudged(set, { has: () => judged }), open.includes(name)));
}
test("isUnjudged: what is paused needs no verdict", () => {
  assert.equal(isUnjudged(record(undefined, { isPaused: true }), { has: () => false }), false);
});

test("isToldRejected: by the status, about this generation", () => {
  assert.equal(isToldRejected(record({ status: "False" })), true);
  for (const told of [undefined, { status: "True" }, { status: "False", generation: 1 }] as const) {
    assert.equal(isToldRejected(record(told)), false);
  }
});

const accepted: Verdict = { accepted: true };
const invalid: Verdict = { accepted: false, reason: "InvalidContainers", message: "words" };
const conflict: Verdict = { accepted: false, reason: "NameConflict", message: "words" };

const byStatus = [
  { name: "none", set: record(), isAccepted: false, isRejected: false, containers: undefined },
  { name: "accepted", set: record({ status: "True" }), isAccepted: true, isRejected: false, containers: accepted },
  {
    name: "an earlier generation accepted",
    set: record({ status: "True", generation: 1 }),
    ...{ isAccepted: true, isRejected: false, containers: undefined },
  },
  {
    name: "invalid",
    set: record({ status: "False", reason: "InvalidContainers" }),
    ...{ isAccepted: false, isRejected: true, containers: invalid },
  },
  {
    name: "in conflict, the containers never tried",
    set: record({ status: "False", reason: "NameConflict" }),
    ...{ isAccepted: false, isRejected: true, containers: undefined },
  },
  {
    name: "an earlier generation rejected",
    set: record({ status: "False", reason: "InvalidContainers", generation: 1 }),
    ...{ isAccepted: false, isRejected: false, containers: undefined },
  },
];

for (const { name, set, ...wanted } of byStatus) {
  test(`Verdicts: by the status: ${name}`, () => {
    const verdicts = new Verdicts();
    assert.deepEqual(
      {
        isAccepted: verdicts.isAccepted(set),
        isRejected: verdicts.isRejected(set),
        containers: verdicts.containersOf(set),
      },
      wanted,
    );
  });
}

test("Verdicts: what was judged counts before the status tells", () => {
  const verdicts = new Verdicts();
  assert.equal(verdicts.note(record(), accepted), true, "others should hear of it");
  assert.equal(verdicts.isAccepted(record()), true);
  assert.equal(verdicts.note(record(), accepted), false, "that is no news");
  assert.equal(verdicts.note(record({ status: "True" }), conflict), true);
  assert.deepEqual([verdicts.isAccepted(record()), verdicts.isRejected(record())], [false, true]);
});

test("Verdicts: what an earlier generation was stays until the next one is judged", () => {
  const verdicts = new Verdicts();
  verdicts.note(record(), accepted);
  const next = record({ status: "True" }, { generation: 3 });
  assert.deepEqual([verdicts.isAccepted(next), verdicts.isRejected(next)], [true, false]);
  assert.equal(verdicts.note(next, invalid), true);
  assert.deepEqual([verdicts.isAccepted(next), verdicts.isRejected(next)], [false, true]);
});

test("Verdicts: containers are tried once a generation, whatever conflicts come and go", () => {
  const verdicts = new Verdicts();
  verdicts.noteContainers(record(), accepted);
  verdicts.note(record(), conflict);
  assert.deepEqual(verdicts.containersOf(record({ status: "False", reason: "NameConflict" })), accepted);
  assert.equal(verdicts.containersOf(record(undefined, { generation: 3 })), undefined);
});

test("Verdicts: a status told by the next leader is believed", () => {
  const verdicts = new Verdicts();
  verdicts.note(record(), accepted);
  verdicts.clear();
  assert.equal(verdicts.isAccepted(record({ status: "False" })), false);
});
