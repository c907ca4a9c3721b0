import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "../kube/errors.ts";
import { isForAnotherObject, statusToWrite, timestampOf } from "./status.ts";

const now = "2026-02-02T00:00:00Z";
const earlier = "2026-01-01T00:00:00Z";
const sync = { type: "Sync", status: "True", reason: "Synced", message: "3 copies" };

const cases = [
  { name: "nothing before", before: undefined, after: { phase: "Synced" }, written: { phase: "Synced" } },
  { name: "nothing to say", before: undefined, after: {}, written: undefined },
  { name: "the same", before: { a: 1, b: { c: [1] } }, after: { b: { c: [1] }, a: 1 }, written: undefined },
  { name: "undefined is absence", before: { a: 1 }, after: { a: 1, b: undefined }, written: undefined },
  { name: "a field that vanished", before: { a: 1, b: { c: 2 } }, after: { a: 1 }, written: { a: 1 } },
  {
    name: "a new condition begins now",
    before: {},
    after: { conditions: [sync] },
    written: { conditions: [{ ...sync, lastTransitionTime: now }] },
  },
  {
    name: "a condition that stays is no change",
    before: { conditions: [{ ...sync, lastTransitionTime: earlier }] },
    after: { conditions: [sync] },
    written: undefined,
  },
  {
    name: "another message keeps the time",
    before: { conditions: [{ ...sync, lastTransitionTime: earlier }] },
    after: { conditions: [{ ...sync, message: "4 copies" }] },
    written: { conditions: [{ ...sync, message: "4 copies", lastTransitionTime: earlier }] },
  },
  {
    name: "another status moves it",
    before: { conditions: [{ ...sync, lastTransitionTime: earlier }] },
    after: { conditions: [{ ...sync, status: "False" }] },
    written: { conditions: [{ ...sync, status: "False", lastTransitionTime: now }] },
  },
  {
    name: "a condition that is no longer given goes",
    before: { conditions: [{ ...sync, lastTransitionTime: earlier }] },
    after: { phase: "Paused" },
    written: { phase: "Paused" },
  },
] as const;

for (const { name, before, after, written } of cases) {
  test(`statusToWrite: ${name}`, () => assert.deepEqual(statusToWrite(before, after, now), written));
}

const field = { field: "status.phase", reason: "FieldValueInvalid", message: "no" };
const refusals = [
  { name: "gone", error: new ApiError("", { status: 404, reason: "NotFound" }), isAnother: true },
  { name: "the test failed", error: new ApiError("", { status: 422, reason: "Invalid" }), isAnother: true },
  {
    name: "a status against the schema",
    error: new ApiError("", { status: 422, reason: "Invalid", causes: [field] }),
    isAnother: false,
  },
  { name: "anything else", error: new Error("reset"), isAnother: false },
];

for (const { name, error, isAnother } of refusals) {
  test(`isForAnotherObject: ${name}: ${isAnother}`, () => assert.equal(isForAnotherObject(error), isAnother));
}

test("times are in whole seconds", () => {
  assert.equal(timestampOf(new Date("2026-02-03T04:05:06.789Z")), "2026-02-03T04:05:06Z");
});
