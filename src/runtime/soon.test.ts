import assert from "node:assert/strict";
import { test } from "node:test";
import { Gaps } from "./gaps.ts";
import { Soon } from "./soon.ts";

test("Gaps: the next one waits for what is left", () => {
  let nowMs = 1_000;
  const gaps = new Gaps(500, () => nowMs);
  assert.equal(gaps.waitMs("a"), 0, "the first");
  gaps.happened("a");
  nowMs += 200;
  assert.deepEqual([gaps.waitMs("a"), gaps.waitMs("b")], [300, 0]);
  nowMs += 300;
  assert.equal(gaps.waitMs("a"), 0);
  gaps.happened("a");
  gaps.forget("a");
  assert.equal(gaps.waitMs("a"), 0, "another object of that name");
});

test("Soon: the first wake is at once, many later ones are one", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const woken: string[] = [];
  const soon = new Soon(500);
  soon.wake("a");
  assert.equal(woken.length, 0, "nobody listens yet");
  const stop = soon.begin((key) => woken.push(key));
  for (const key of ["a", "a", "b", "a", "b"]) soon.wake(key);
  assert.deepEqual(woken, ["a", "b"]);
  t.mock.timers.tick(500);
  assert.deepEqual(woken.slice(2).sort(), ["a", "b"]);
  soon.wake("a");
  stop();
  t.mock.timers.tick(5_000);
  assert.equal(woken.length, 4, "nobody listens any more");
});

test("Soon: what is gone is not woken", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const woken: string[] = [];
  const soon = new Soon(500);
  soon.begin((key) => woken.push(key));
  soon.wake("a");
  soon.wake("a");
  soon.forget("a");
  t.mock.timers.tick(5_000);
  assert.deepEqual(woken, ["a"]);
});
