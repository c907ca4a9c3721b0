import assert from "node:assert/strict";
import { test } from "node:test";
import { Judged } from "./judged.ts";

test("what was let pass is known by object and content", () => {
  const judged = new Judged();
  judged.accept("u", "1");
  assert.deepEqual([judged.has("u", "1"), judged.has("u", "2"), judged.has("v", "1")], [true, false, false]);
});

test("the longest forgotten goes first", () => {
  const judged = new Judged();
  judged.accept("kept", "1");
  for (let i = 0; i < 999; i++) judged.accept(String(i), "1");
  judged.accept("kept", "1");
  judged.accept("one more", "1");
  assert.deepEqual([judged.has("kept", "1"), judged.has("0", "1"), judged.has("1", "1")], [true, false, true]);
});
