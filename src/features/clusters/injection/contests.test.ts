import assert from "node:assert/strict";
import { test } from "node:test";
import { describeAccounts } from "./accounts.ts";
import { Contests } from "./contests.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const key = "app/default";

/** Reverts at these minutes, each in a version of its own. */
function contested(...minutes: readonly number[]): { contests: Contests; at(minute: number): Contests } {
  let nowMs = 0;
  const contests = new Contests(() => nowMs);
  const at = (minute: number) => {
    nowMs = minute * minuteMs;
    return contests;
  };
  for (const [index, minute] of minutes.entries()) at(minute).noteRevert(key, String(index));
  return { contests, at };
}

const cases = [
  { name: "never", minutes: [], leftMs: 0 },
  { name: "twice", minutes: [0, 1], leftMs: 0 },
  { name: "three times at once", minutes: [0, 0, 0], leftMs: hourMs },
  { name: "three times within ten minutes", minutes: [0, 5, 9.9], leftMs: hourMs },
  { name: "the first one is too long ago", minutes: [0, 5, 10], leftMs: 0 },
  { name: "of four, three within ten minutes", minutes: [0, 5, 11, 14], leftMs: hourMs },
];

for (const { name, minutes, leftMs } of cases) {
  test(`Contests: ${name}`, () => {
    const { contests } = contested(...minutes);
    assert.equal(contests.leftMs(key), leftMs);
    assert.deepEqual(contests.keys(), leftMs > 0 ? [key] : []);
  });
}

test("Contests: one revert that is seen twice counts once", () => {
  const { contests } = contested();
  for (let time = 1; time <= 5; time++) contests.noteRevert(key, "same");
  contests.noteRevert(key, "other");
  assert.equal(contests.leftMs(key), 0);
  contests.noteRevert(key, "third");
  assert.equal(contests.leftMs(key), hourMs);
});

test("Contests: after an hour it is tried again, three times", () => {
  const { at } = contested(0, 0, 0);
  assert.equal(at(59).leftMs(key), minuteMs);
  assert.equal(at(60).leftMs(key), 0);
  assert.deepEqual(at(60).keys(), []);
  at(60).noteRevert(key, "a");
  at(60).noteRevert(key, "b");
  assert.equal(at(60).leftMs(key), 0);
  at(60).noteRevert(key, "c");
  assert.equal(at(60).leftMs(key), hourMs);
});

test("Contests: accounts do not share their contests, and one that is gone has none", () => {
  const { contests } = contested(0, 0);
  contests.noteRevert("other/default", "0");
  assert.deepEqual(contests.keys(), []);
  contests.noteRevert("a/b", "1");
  contests.noteRevert("a/b", "2");
  contests.noteRevert("a/b", "3");
  contests.noteRevert(key, "9");
  assert.deepEqual(contests.keys(), ["a/b", key], "in order");
  contests.forget("a/b");
  assert.deepEqual(contests.keys(), [key]);
});

test("describeAccounts: at most ten by name", () => {
  const keys = Array.from({ length: 12 }, (_, i) => `app/${i}`);
  assert.equal(describeAccounts(keys.slice(0, 10)), keys.slice(0, 10).join(", "));
  assert.equal(describeAccounts(keys), `${keys.slice(0, 10).join(", ")} and 2 more`);
});
