import assert from "node:assert/strict";
import { test } from "node:test";
import type { Asker, Wanted } from "./asker.ts";
import { Askers } from "./askers.ts";

const asker = (feature: string, wanted: Wanted, more: Partial<Asker> = {}): Asker => ({
  feature,
  synced: async () => {},
  sources: () => ["a/b"],
  lists: () => true,
  retains: () => false,
  wanted: () => wanted,
  isReserved: () => false,
  graceMs: () => 0,
  mayGo: async () => true,
  onReport: () => {},
  ...more,
});
const both = (one: Partial<Asker>, other: Partial<Asker> = {}): Askers => {
  const askers = new Askers();
  askers.add(asker("one", new Map([["app", ["x", "y"]]]), one));
  askers.add(
    asker(
      "other",
      new Map([
        ["app", ["y", "z"]],
        ["team", []],
      ]),
      other,
    ),
  );
  return askers;
};

test("what any of them wants is wanted, by all names", () => {
  const wanted = new Map([
    ["app", ["x", "y", "z"]],
    ["team", []],
  ]);
  assert.deepEqual(both({}).wanted("a/b"), wanted);
  assert.deepEqual([...both({}).sources()], ["a/b"]);
});

test("who does not list a source wants it nowhere, and metrics do not call it by him", () => {
  const askers = both({ lists: () => false });
  assert.deepEqual([...askers.wanted("a/b").keys()], ["app", "team"]);
  assert.equal(askers.featureOf("a/b"), "other");
  const nobody = both({ lists: () => false }, { lists: () => false });
  assert.equal(nobody.lists("a/b"), false);
  assert.deepEqual(nobody.wanted("a/b"), new Map());
  assert.equal(nobody.featureOf("a/b"), "one");
});

test("a copy goes only if all agree, after the longest grace", async () => {
  assert.equal(both({ graceMs: () => 5 }).graceMs("a/b"), 5);
  const copy = { namespace: "app", name: "a-b" };
  assert.equal(await both({}).mayGo(copy, "a/b", {}), true);
  assert.equal(await both({ mayGo: async () => false }).mayGo(copy, "a/b", {}), false);
  assert.equal(await both({}, { mayGo: async () => false }).mayGo(copy, "a/b", {}), false);
});

test("of a source that one takes back, only those who list it are asked besides him", async () => {
  const copy = { namespace: "app", name: "a-b" };
  const no = { mayGo: async () => false };
  const takesBack = { lists: () => false, withdraws: () => true };
  assert.equal(await both(takesBack, { ...no, lists: () => false }).mayGo(copy, "a/b", {}), true);
  assert.equal(await both(takesBack, no).mayGo(copy, "a/b", {}), false);
  assert.equal(await both({ ...takesBack, ...no }, { lists: () => false }).mayGo(copy, "a/b", {}), false);
});

test("copies stay as they are only if all who list their source say so", () => {
  const holds = { holds: () => true };
  assert.equal(both(holds).holds("a/b"), false);
  assert.equal(both(holds, { lists: () => false }).holds("a/b"), true);
  assert.equal(both(holds, holds).holds("a/b"), true);
  assert.equal(both({ ...holds, lists: () => false }, { lists: () => false }).holds("a/b"), false);
});
