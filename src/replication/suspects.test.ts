import assert from "node:assert/strict";
import { test } from "node:test";
import { fingerprintAnnotation } from "../api/marks.ts";
import type { CopyRecord } from "./copy.ts";
import { isSuspicious, Suspects } from "./suspects.ts";

const copy = (uid: string, resourceVersion: string, print: string): CopyRecord => ({
  metadata: {
    ...{ name: "c", namespace: "n", uid, resourceVersion, creationTimestamp: "" },
    annotations: { [fingerprintAnnotation]: print },
  },
  ownKeys: ["a"],
  hasOtherKeys: false,
});

const cases = [
  { name: "new", before: undefined, after: copy("1", "1", "x"), suspicious: false },
  { name: "gone", before: copy("1", "1", "x"), after: undefined, suspicious: false },
  { name: "made anew", before: copy("1", "1", "x"), after: copy("2", "2", "x"), suspicious: false },
  { name: "written by another replica", before: copy("1", "1", "x"), after: copy("1", "2", "y"), suspicious: false },
  { name: "touched by somebody", before: copy("1", "1", "x"), after: copy("1", "2", "x"), suspicious: true },
];
for (const { name, before, after, suspicious } of cases) {
  test(`isSuspicious: ${name}`, () => assert.equal(isSuspicious({ key: "n/c", before, after }), suspicious));
}

test("Suspects: one that was found is told until the listener has left", () => {
  const suspects = new Suspects({ subscribe: () => () => {} });
  const told: string[] = [];
  const leave = suspects.onFound((key) => told.push(key));
  suspects.found("n/c");
  suspects.add("n/quiet");
  leave();
  suspects.found("n/d");
  assert.deepEqual(told, ["n/c"]);
  assert.deepEqual([suspects.has("n/c"), suspects.has("n/quiet"), suspects.has("n/d")], [true, true, true]);
});
