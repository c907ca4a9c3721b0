import assert from "node:assert/strict";
import { test } from "node:test";
import { isToCollect, openCollection } from "./memory.ts";

const mib = 2 ** 20;

const cases = [
  { name: "the first calm moment", busyShare: 0, heap: 60, afterLast: 0, collects: true },
  { name: "calm after a burst", busyShare: 0.04, heap: 150, afterLast: 40, collects: true },
  { name: "still at work", busyShare: 0.05, heap: 150, afterLast: 40, collects: false },
  { name: "calm for long", busyShare: 0, heap: 40, afterLast: 40, collects: false },
  { name: "hardly more than last time", busyShare: 0, heap: 57, afterLast: 40, collects: false },
  { name: "a large heap that grew a little", busyShare: 0, heap: 480, afterLast: 400, collects: false },
];

for (const { name, busyShare, heap, afterLast, collects } of cases) {
  test(`isToCollect: ${name}`, () => {
    assert.equal(isToCollect(busyShare, heap * mib, afterLast * mib), collects);
  });
}

test("a collection gives memory back", () => {
  const collect = openCollection();
  let hoard: unknown[] | undefined = Array.from({ length: 500_000 }, (_, at) => ({ at, text: `${at}` }));
  assert.equal(hoard.length, 500_000);
  const before = process.memoryUsage().heapTotal;
  hoard = undefined;
  collect();
  const after = process.memoryUsage().heapTotal;
  assert.ok(before - after > 16 * mib, `${before} and then ${after} bytes`);
});
