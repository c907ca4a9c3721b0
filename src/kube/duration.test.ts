import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDuration } from "./duration.ts";

for (const [text, ms] of [
  ["0", 0],
  ["0s", 0],
  ["10s", 10_000],
  ["90s", 90_000],
  ["15m", 900_000],
  ["1h", 3_600_000],
  ["1h30m", 5_400_000],
  ["1h30m15s500ms", 5_415_500],
  ["0h10s", 10_000],
  ["10s1m", 70_000],
  ["500ms", 500],
  ["10000ms", 10_000],
  ["1.5h", 5_400_000],
  ["1.1h", 3_960_000],
  [".5s", 500],
  ["1.s", 1_000],
  ["+5s", 5_000],
  ["2500us", 3],
  ["2000µs", 2],
  ["1500000ns", 2],
  ["2540400h", 9_145_440_000_000],
] as const) {
  test(`parseDuration: ${text}`, () => assert.equal(parseDuration(text), ms));
}

for (const text of [
  "",
  "soon",
  "5",
  "1.5",
  "-5s",
  "-0",
  "s",
  ".s",
  "1h30",
  "1 h",
  "1d",
  "1H",
  "5s!",
  "1..5s",
  "0x1s",
]) {
  test(`parseDuration: ${JSON.stringify(text)} is refused`, () => {
    assert.throws(() => parseDuration(text), {
      message: `${JSON.stringify(text)} is not a duration such as 90s, 1h30m or 500ms`,
    });
  });
}

test("parseDuration: what Go cannot hold is refused", () => {
  assert.throws(() => parseDuration("2562048h"), /too long a duration/);
  assert.throws(() => parseDuration(`${"9".repeat(400)}h`), /too long a duration/);
});
