import assert from "node:assert/strict";
import { test } from "node:test";
import type { Kube } from "../../kube/client.ts";
import { ApiError } from "../../kube/errors.ts";
import { sidecarRecord } from "../../testing/sidecar-records.ts";
import { Verdicts } from "./accepted.ts";
import { Trials } from "./trials.ts";

const condition = { type: "Accepted", status: "True", reason: "Valid", message: "", observedGeneration: 1 } as const;
const record = sidecarRecord("logs", {}, { metadata: { uid: "u" } });
const told = sidecarRecord("logs", {}, { metadata: { uid: "u" }, status: { conditions: [condition] } });

/** Each trial gets the next of these answers. */
function world(...answers: readonly (ApiError | undefined)[]) {
  const left = [...answers];
  const kube = {
    async create() {
      const answer = left.shift();
      if (answer) throw answer;
    },
  } as unknown as Kube;
  const trials = new Trials({ verdicts: new Verdicts(), namespace: "own" });
  return { left, trials, pass: { kube, signal: new AbortController().signal } };
}

const quota = new ApiError("exceeded quota", { status: 403, reason: "Forbidden" });
const invalid = new ApiError("bad port", { status: 422, reason: "Invalid" });

for (const { name, answer, accepted } of [
  { name: "valid", answer: undefined, accepted: true },
  { name: "invalid", answer: invalid, accepted: false },
]) {
  test(`a clear answer holds for the whole generation: ${name}`, async () => {
    const { trials, left, pass } = world(answer, quota);
    for (const set of [record, told]) assert.equal((await trials.verdictOf(set, pass)).accepted, accepted);
    assert.equal(left.length, 1);
    assert.equal(trials.nextDueMs("u"), undefined);
  });
}

test("an answer that proves nothing is let pass, and asked for again in a while, whatever the status says", async (t) => {
  let nowMs = 0;
  t.mock.method(performance, "now", () => nowMs);
  const { trials, left, pass } = world(quota, quota, invalid);
  assert.deepEqual(await trials.verdictOf(record, pass), { accepted: true, isUnproven: true });
  assert.equal((await trials.verdictOf(told, pass)).accepted, true);
  assert.equal(left.length, 2, "not at once");
  nowMs += trials.nextDueMs("u") ?? 0;
  assert.equal((await trials.verdictOf(told, pass)).accepted, true);
  nowMs += trials.nextDueMs("u") ?? 0;
  assert.equal((await trials.verdictOf(told, pass)).accepted, false);
  assert.equal(trials.nextDueMs("u"), undefined);
});

test("a status that an earlier leader wrote is believed", async () => {
  const { trials, left, pass } = world(invalid);
  assert.equal((await trials.verdictOf(told, pass)).accepted, true);
  assert.equal(left.length, 1);
});
