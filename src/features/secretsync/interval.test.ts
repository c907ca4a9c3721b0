import assert from "node:assert/strict";
import { test } from "node:test";
import { jittered, parseInterval } from "./interval.ts";

for (const [text, ms] of [
  ["10s", 10_000],
  ["15m", 900_000],
  ["1h30m", 5_400_000],
  ["10000ms", 10_000],
  ["1h30m15s500ms", 5_415_500],
  ["0h10s", 10_000],
] as const) {
  test(`parseInterval: ${text}`, () => assert.equal(parseInterval(text), ms));
}

test("parseInterval: nonsense throws", () => assert.throws(() => parseInterval("soon"), /is not an interval/));

test("an interval is stretched by up to 5 %", () => {
  assert.equal(
    jittered(10_000, () => 0),
    10_000,
  );
  assert.equal(
    jittered(10_000, () => 0.5),
    10_250,
  );
  assert.equal(
    jittered(10_000, () => 1),
    10_500,
  );
});
