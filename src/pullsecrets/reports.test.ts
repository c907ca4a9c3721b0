import assert from "node:assert/strict";
import { test } from "node:test";
import type { Report } from "./report.ts";
import { Reports } from "./reports.ts";

const report = (...namespaces: readonly string[]): Report => ({
  state: { kind: "usable" },
  places: new Map(namespaces.map((namespace) => [namespace, { kind: "copied", name: "a-b" }])),
});

test("only what differs is news, in whatever order it is told", () => {
  const reports = new Reports();
  assert.equal(reports.set("a/b", report("x", "y")), true);
  assert.equal(reports.set("a/b", report("y", "x")), false);
  assert.equal(reports.set("a/b", { ...report("x", "y"), state: { kind: "missing" } }), true);
  assert.equal(reports.set("a/b", undefined), true);
  assert.equal(reports.set("a/b", undefined), false);
  assert.deepEqual([...reports], []);
});

test("a namespace tells whose places are in it", () => {
  const reports = new Reports();
  reports.set("a/b", report("x", "y"));
  reports.set("c/d", report("x"));
  assert.deepEqual(reports.sourcesIn("x"), ["a/b", "c/d"]);
  reports.set("a/b", report("y"));
  assert.deepEqual(reports.sourcesIn("x"), ["c/d"]);
  assert.deepEqual(reports.sourcesIn("y"), ["a/b"]);
  reports.set("c/d", undefined);
  assert.deepEqual(reports.sourcesIn("x"), []);
});
