import assert from "node:assert/strict";
import { test } from "node:test";
import { Turns } from "./turns.ts";

test("tasks of one key run one at a time, in order, and a failure lets the next one in", async () => {
  const turns = new Turns();
  const seen: string[] = [];
  const task =
    (name: string, fails = false) =>
    async () => {
      seen.push(`${name} starts`);
      await Promise.resolve();
      seen.push(`${name} ends`);
      if (fails) throw new Error(name);
    };
  const results = await Promise.allSettled([
    turns.take("k", task("a")),
    turns.take("k", task("b", true)),
    turns.take("k", task("c")),
  ]);
  assert.deepEqual(
    results.map((result) => result.status),
    ["fulfilled", "rejected", "fulfilled"],
  );
  assert.deepEqual(seen, ["a starts", "a ends", "b starts", "b ends", "c starts", "c ends"]);
});

test("another key does not wait", async () => {
  const turns = new Turns();
  const held = Promise.withResolvers<void>();
  const first = turns.take("a", () => held.promise);
  assert.equal(await turns.take("b", async () => "done"), "done");
  held.resolve();
  await first;
});

test("one who gives up waiting lets nobody past those before", async () => {
  const turns = new Turns();
  const held = Promise.withResolvers<void>();
  const stop = new AbortController();
  const seen: string[] = [];
  const first = turns.take("k", () => held.promise.then(() => seen.push("first")));
  const second = turns.take("k", async () => seen.push("second"), { signal: stop.signal });
  const third = turns.take("k", async () => seen.push("third"));
  stop.abort(new Error("gave up"));
  await assert.rejects(second, /gave up/);
  held.resolve();
  await Promise.all([first, third]);
  assert.deepEqual(seen, ["first", "third"]);
});
