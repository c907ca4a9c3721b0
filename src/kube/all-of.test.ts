import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { forAll, throughRefusals } from "./all-of.ts";
import { ApiError } from "./errors.ts";

const numbers = (count: number) => [...Array(count).keys()];

for (const count of [0, 1, 32, 100]) {
  test(`forAll: ${count} results, in the order of what they are of`, async () => {
    const results = await forAll(numbers(count), async (at) => {
      if (at % 3 === 0) await turn();
      return at * 2;
    });
    assert.deepEqual(
      results,
      numbers(count).map((at) => at * 2),
    );
  });
}

test("forAll: begins a few, and the next when one has ended", async () => {
  const begun: number[] = [];
  const ends = numbers(100).map(() => Promise.withResolvers<void>());
  const all = forAll(numbers(100), async (at) => {
    begun.push(at);
    await ends[at]?.promise;
  });
  await turn();
  assert.deepEqual(begun, numbers(32));
  ends[5]?.resolve();
  await turn();
  assert.deepEqual(begun, numbers(33));
  for (const { resolve } of ends) resolve();
  await all;
  assert.equal(begun.length, 100);
});

test("forAll: a failure keeps no other from its turn, and is told when all have ended", async () => {
  const done: number[] = [];
  const work = async (at: number) => {
    await turn();
    if (at < 40) throw new Error(`failure ${at}`);
    done.push(at);
  };
  await assert.rejects(forAll(numbers(100), work), /^Error: failure 0$/);
  assert.equal(done.length, 60);
});

test("throughRefusals: what is refused keeps nothing from being done and is told in the end, other failures at once", async () => {
  const done: string[] = [];
  const step = (name: string, error?: Error) => async () => {
    done.push(name);
    if (error) throw error;
    return name;
  };
  const refusal = new ApiError("no", { status: 403, reason: "Forbidden" });
  const outage = new ApiError("later", { status: 503 });
  await assert.rejects(throughRefusals([step("a"), step("b", refusal), step("c")]), refusal);
  assert.deepEqual(done.splice(0), ["a", "b", "c"]);
  await assert.rejects(throughRefusals([step("a", refusal), step("b", outage), step("c")]), outage);
  assert.deepEqual(done.splice(0), ["a", "b"]);
  assert.deepEqual(await throughRefusals([step("a"), step("b")]), ["a", "b"]);
});
