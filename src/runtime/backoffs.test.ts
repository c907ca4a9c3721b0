import assert from "node:assert/strict";
import { test } from "node:test";
import { Backoffs } from "./backoffs.ts";

function scene() {
  const clock = { nowMs: 0 };
  const backoffs = new Backoffs({ now: () => clock.nowMs, random: () => 0 });
  return { clock, backoffs };
}

test("what never failed is due, what failed is not until its time has come", () => {
  const { clock, backoffs } = scene();
  assert.ok(backoffs.isDue("a"));
  backoffs.failed("a");
  assert.ok(!backoffs.isDue("a"));
  assert.ok(backoffs.isDue("b"));
  clock.nowMs = 999;
  assert.ok(!backoffs.isDue("a"));
  clock.nowMs = 1000;
  assert.ok(backoffs.isDue("a"));
});

test("each failure doubles the wait, up to ten minutes", () => {
  const { clock, backoffs } = scene();
  const waits = Array.from({ length: 12 }, () => {
    backoffs.failed("a");
    const waitMs = backoffs.nextDueMs() ?? 0;
    clock.nowMs += waitMs;
    return waitMs / 1000;
  });
  assert.deepEqual(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600]);
});

test("jitter spreads what failed together", () => {
  const backoffs = new Backoffs({ now: () => 0, random: () => 0.5 });
  for (let failures = 0; failures < 3; failures++) backoffs.failed("a");
  assert.equal(backoffs.nextDueMs(), 3000);
});

test("a cleared key is due and begins anew", () => {
  const { backoffs } = scene();
  backoffs.failed("a");
  backoffs.failed("a");
  backoffs.clear("a");
  assert.ok(backoffs.isDue("a"));
  assert.equal(backoffs.nextDueMs(), undefined);
  backoffs.failed("a");
  assert.equal(backoffs.nextDueMs(), 1000);
});

test("the next of some keys is told by what they begin with", () => {
  const { backoffs } = scene();
  for (const key of ["x a", "x a", "x b", "x b", "x b", "y c"]) backoffs.failed(key);
  assert.equal(backoffs.nextDueMs("x "), 2000);
  assert.equal(backoffs.nextDueMs("y "), 1000);
  assert.equal(backoffs.nextDueMs("z "), undefined);
});

test("what has long been due is never due sooner than in a second", () => {
  const { clock, backoffs } = scene();
  backoffs.failed("a");
  clock.nowMs = 60_000;
  assert.ok(backoffs.isDue("a"));
  assert.equal(backoffs.nextDueMs(), 1000);
});
