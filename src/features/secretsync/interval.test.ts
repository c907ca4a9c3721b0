import assert from "node:assert/strict";
import { test } from "node:test";
import { jittered, parseInterval } from "./interval.ts";

test("parseInterval: a duration that takes time", () => {
  assert.equal(parseInterval("1h30m"), 5_400_000);
  assert.throws(() => parseInterval("0s"), /is not an interval/);
  assert.throws(() => parseInterval("soon"), /is not a duration/);
});

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
