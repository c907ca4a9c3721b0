import assert from "node:assert/strict";
import { test } from "node:test";
import { type Trouble, Troubles } from "./troubles.ts";

const refused = (verb: Trouble["verb"]): Trouble => ({ verb, place: { kind: "refused", message: "no" }, name: "a-b" });

test("a refusal waits before the same is tried again, and holds up nothing else", () => {
  const troubles = new Troubles();
  troubles.note("a/b", "app", refused("write"));
  assert.equal(troubles.isDue("a/b", "app", "write"), false);
  assert.equal(troubles.isDue("a/b", "app", "delete"), true);
  assert.equal(troubles.isDue("a/b", "other", "write"), true);
  assert.equal(troubles.isDue("a/bc", "app", "write"), true);
  assert.ok((troubles.nextDueMs("a/b") ?? 0) >= 1000);
  assert.equal(troubles.nextDueMs("a/"), undefined);
});

test("a change of the namespace lets all be tried again", () => {
  const troubles = new Troubles();
  troubles.note("a/b", "app", refused("write"));
  troubles.note("c/d", "app", refused("delete"));
  troubles.note("c/d", "other", refused("write"));
  assert.deepEqual(troubles.clearNamespace("app"), ["a/b", "c/d"]);
  assert.equal(troubles.isDue("a/b", "app", "write"), true);
  assert.equal(troubles.nextDueMs("a/b"), undefined);
  assert.equal(troubles.isDue("c/d", "other", "write"), false);
  assert.deepEqual(troubles.clearNamespace("app"), []);
});

test("what was due and not tried again is forgotten, what failed again is not", () => {
  const troubles = new Troubles();
  const tried = refused("write");
  const untried = refused("write");
  troubles.note("a/b", "app", tried);
  troubles.note("a/b", "gone", untried);
  const due = new Map([
    ["app", tried],
    ["gone", untried],
  ]);
  assert.deepEqual(troubles.dueOf("a/b"), new Map());
  troubles.note("a/b", "app", refused("write"));
  troubles.dropUntried("a/b", due);
  assert.ok(troubles.get("a/b", "app"));
  assert.equal(troubles.get("a/b", "gone"), undefined);
});

test("copies that were not let go are told apart from those that could not be made", () => {
  const troubles = new Troubles();
  troubles.note("a/b", "app", refused("write"));
  troubles.note("a/b", "other", refused("delete"));
  troubles.note("c/d", "third", refused("delete"));
  assert.deepEqual(troubles.keptIn("a/b"), new Map([["other", { kind: "refused", message: "no" }]]));
  troubles.clear("a/b", "other");
  assert.deepEqual(troubles.keptIn("a/b"), new Map());
});
