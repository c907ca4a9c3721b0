import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { backoffMs } from "./backoff.ts";

test("doubles up to the limit", () => {
  const waits = [0, 1, 2, 3, 4].map((attempt) => backoffMs(attempt, { baseMs: 100, maxMs: 700, jitter: 0 }));
  assert.deepEqual(waits, [100, 200, 400, 700, 700]);
});

test("jitter shortens by at most its share, however many attempts there were", () => {
  fc.assert(
    fc.property(fc.nat(5000), fc.double({ min: 0, max: 1, noNaN: true }), (attempt, chance) => {
      const wait = backoffMs(attempt, { baseMs: 10, maxMs: 1000, jitter: 0.5 }, () => chance);
      const full = backoffMs(attempt, { baseMs: 10, maxMs: 1000, jitter: 0 });
      return wait <= full && wait >= full / 2;
    }),
  );
});
