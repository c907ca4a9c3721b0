import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "./errors.ts";
import { FairLimiter, maxFanOutWrites, successesPerGrowth } from "./limiter.ts";

/** Tasks that end when told, and the order in which they were started. */
function bench(limiter: FairLimiter) {
  const started: { readonly name: string; readonly end: () => void; readonly fail: (error: Error) => void }[] = [];
  const results: Promise<unknown>[] = [];
  const add = (owner: string, name = owner, signal?: AbortSignal) => {
    const task = () => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      started.push({ name, end: resolve, fail: reject });
      return promise;
    };
    const result = limiter.run(owner, task, { signal });
    results.push(result.catch(() => {}));
    return result;
  };
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
  const names = () => started.map(({ name }) => name);
  const endAll = async () => {
    for (let ended = 0; ended < started.length; ) {
      for (const task of started.slice(ended)) task.end();
      ended = started.length;
      await turn();
    }
    await Promise.all(results);
  };
  return { add, started, names, turn, endAll };
}

test("no more than the limit run at once", async () => {
  const { add, started, turn, endAll } = bench(new FairLimiter({ limit: maxFanOutWrites }));
  for (let i = 0; i < maxFanOutWrites * 3; i++) void add("a").catch(() => {});
  await turn();
  assert.equal(started.length, maxFanOutWrites);
  await endAll();
  assert.equal(started.length, maxFanOutWrites * 3);
});

test("a single write is next after one of another owner's thousand", async () => {
  const { add, started, names, turn, endAll } = bench(new FairLimiter({ limit: maxFanOutWrites }));
  for (let i = 0; i < 1000; i++) void add("many").catch(() => {});
  await turn();
  void add("one").catch(() => {});
  started[0]?.end();
  await turn();
  assert.equal(names()[maxFanOutWrites], "one");
  await endAll();
});

test("a newcomer with a thousand writes does not push the first thousand aside", async () => {
  const { add, started, names, turn, endAll } = bench(new FairLimiter({ limit: 2 }));
  for (let i = 0; i < 1000; i++) void add("a").catch(() => {});
  await turn();
  for (let i = 0; i < 100; i++) {
    started[i]?.end();
    await turn();
  }
  for (let i = 0; i < 1000; i++) void add("b").catch(() => {});
  const before = started.length;
  for (let i = 100; i < 140; i++) {
    started[i]?.end();
    await turn();
  }
  const since = names().slice(before);
  assert.equal(since.filter((name) => name === "a").length, since.length / 2);
  await endAll();
});

test("whoever gives up while waiting leaves the queue and never runs", async () => {
  const { add, started, names, turn, endAll } = bench(new FairLimiter({ limit: 1 }));
  const caller = new AbortController();
  void add("a").catch(() => {});
  const waiting = add("b", "given up", caller.signal);
  void add("c").catch(() => {});
  await turn();
  caller.abort(new Error("mine"));
  await assert.rejects(waiting, /mine/);
  started[0]?.end();
  await endAll();
  assert.deepEqual(names(), ["a", "c"]);
});

test("429s that come together halve the limit once; successes grow it back to where it was", async () => {
  const limiter = new FairLimiter({ limit: maxFanOutWrites });
  const tooMany = () => Promise.reject(new ApiError("slow down", { status: 429 }));
  await Promise.allSettled(Array.from({ length: maxFanOutWrites }, () => limiter.run("a", tooMany)));
  assert.equal(limiter.limit, Math.floor(maxFanOutWrites / 2));

  for (let i = 0; i < maxFanOutWrites; i++) await limiter.run("a", tooMany).catch(() => {});
  assert.equal(limiter.limit, 1);

  for (let i = 0; i < successesPerGrowth; i++) await limiter.run("a", async () => {});
  assert.equal(limiter.limit, 2);
  for (let i = 0; i < successesPerGrowth * maxFanOutWrites; i++) await limiter.run("a", async () => {});
  assert.equal(limiter.limit, maxFanOutWrites);
});
