import assert from "node:assert/strict";
import { test } from "node:test";
import { compareVersions, isLater } from "./resource-version.ts";

const cases: readonly { a: string; b: string; order: number | undefined }[] = [
  { a: "9", b: "10", order: -1 },
  { a: "10", b: "9", order: 1 },
  { a: "7", b: "7", order: 0 },
  { a: "18446744073709551615", b: "18446744073709551614", order: 1 },
  { a: "abc", b: "abc", order: 0 },
  { a: "abc", b: "7", order: undefined },
  { a: "", b: "7", order: undefined },
];

for (const { a, b, order } of cases) {
  test(`compareVersions: "${a}" and "${b}"`, () => assert.equal(compareVersions(a, b), order));
}

test("isLater: everything is later than nothing, and nothing is surely later than what cannot be compared", () => {
  assert.equal(isLater("1", undefined), true);
  assert.equal(isLater("abc", "1"), false);
  assert.equal(isLater("1", "1"), false);
});
