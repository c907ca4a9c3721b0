import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Priority, WorkQueue } from "./queue.ts";

/** Lets everything that is due in this turn of the event loop happen. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A queue whose passes end when the test says so. */
function heldQueue(concurrency: number, now: () => number = () => 0) {
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const queue = new WorkQueue({
    concurrency,
    now,
    random: () => 0,
    work: (key) => {
      started.push(key);
      const { promise, resolve } = Promise.withResolvers<void>();
      ends.set(key, resolve);
      return promise;
    },
  });
  const end = async (key: string) => {
    ends.get(key)?.();
    ends.delete(key);
    await settle();
  };
  return { queue, started, end, running: () => [...ends.keys()] };
}

test("a key that is added twice runs once", async () => {
  const { queue, started, end } = heldQueue(1);
  for (const key of ["a", "b", "b", "a"]) queue.add(key, { priority: "change" });
  await settle();
  await end("a");
  await end("b");
  assert.deepEqual(started, ["a", "b", "a"], "the second a came while the first was running");
});

test("changes run before rechecks, also when a waiting recheck turns into a change", async () => {
  const { queue, started, end } = heldQueue(1);
  for (const key of ["first", "slow", "hurried"]) queue.add(key, { priority: "recheck" });
  queue.add("changed", { priority: "change" });
  queue.add("hurried", { priority: "change" });
  await settle();
  for (const key of ["first", "changed", "hurried", "slow"]) await end(key);
  assert.deepEqual(started, ["first", "changed", "hurried", "slow"]);
});

test("a pass takes the place of the recheck that was waiting", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { queue, started, end } = heldQueue(1);
  queue.add("a", { priority: "recheck", afterMs: 1000 });
  queue.add("a", { priority: "change" });
  await settle();
  await end("a");
  t.mock.timers.tick(5000);
  await settle();
  assert.deepEqual(started, ["a"]);
});

test("of two waits the shorter counts", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { queue, started } = heldQueue(1);
  queue.add("a", { priority: "recheck", afterMs: 5000 });
  queue.add("a", { priority: "recheck", afterMs: 1000 });
  queue.add("a", { priority: "recheck", afterMs: 3000 });
  t.mock.timers.tick(1000);
  await settle();
  assert.deepEqual(started, ["a"]);
});

test("a wait longer than any timer can be does not run at once", async () => {
  const { queue, started } = heldQueue(1);
  queue.add("a", { priority: "recheck", afterMs: 90 * 24 * 3_600_000 });
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual(started, []);
  await queue.stop();
});

test("each retry waits longer, until the key is forgotten", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { queue, started, end } = heldQueue(1);
  const startsWithin = async (ms: number) => {
    const before = started.length;
    t.mock.timers.tick(ms);
    await settle();
    await end("a");
    return started.length - before;
  };
  queue.retry("a");
  assert.equal(await startsWithin(500), 1);
  queue.retry("a");
  assert.equal(await startsWithin(500), 0);
  assert.equal(await startsWithin(500), 1);
  queue.forget("a");
  queue.retry("a");
  assert.equal(await startsWithin(500), 1);
});

test("stop lets running passes end and starts no other", async () => {
  const { queue, started, end } = heldQueue(1);
  for (const key of ["a", "b"]) queue.add(key, { priority: "change" });
  await settle();
  let hasStopped = false;
  const stopped = queue.stop().then(() => {
    hasStopped = true;
  });
  queue.add("c", { priority: "change" });
  await settle();
  assert.equal(hasStopped, false);
  await end("a");
  await stopped;
  assert.deepEqual(started, ["a"]);
});

test("work without a pass coming to its end counts as stalled, idleness does not", async () => {
  let nowMs = 0;
  const { queue, end } = heldQueue(1, () => nowMs);
  nowMs = 1000;
  assert.equal(queue.stalledMs(), 0);
  queue.add("a", { priority: "change" });
  await settle();
  queue.add("b", { priority: "change" });
  nowMs = 1600;
  assert.equal(queue.stalledMs(), 600);
  await end("a");
  assert.equal(queue.stalledMs(), 0);
  await end("b");
  nowMs = 9000;
  assert.equal(queue.stalledMs(), 0);
});

const key = fc.constantFrom("a", "b", "c", "d", "e");
const priority = fc.constantFrom<Priority>("change", "recheck");
const command = fc.oneof(
  fc.record({ do: fc.constant("add" as const), key, priority }),
  fc.record({ do: fc.constant("later" as const), key, priority, afterMs: fc.integer({ min: 1, max: 100 }) }),
  fc.record({ do: fc.constant("retry" as const), key }),
  fc.record({ do: fc.constant("end" as const), key }),
  fc.record({ do: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 1000 }) }),
);

test("whatever happens: never twice at once, nothing lost, changes first, no more than allowed", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 60 }), fc.integer({ min: 1, max: 3 }), async (commands, limit) => {
      let nowMs = 0;
      const running = new Map<string, () => void>();
      /** Added and not started since. */
      const owed = new Set<string>();
      const changed = new Set<string>();
      const queue = new WorkQueue({
        concurrency: limit,
        now: () => nowMs,
        work: (started) => {
          assert.ok(!running.has(started), `${started} runs twice at once`);
          const overtaken = [...changed].filter((other) => !running.has(other));
          assert.ok(changed.has(started) || overtaken.length === 0, `${started} overtakes ${overtaken.join()}`);
          owed.delete(started);
          changed.delete(started);
          const { promise, resolve } = Promise.withResolvers<void>();
          running.set(started, resolve);
          assert.ok(running.size <= limit, "too many at once");
          return promise;
        },
      });
      const end = (ended: string) => {
        running.get(ended)?.();
        running.delete(ended);
      };
      const wait = (ms: number) => {
        nowMs += ms;
        t.mock.timers.tick(ms);
      };

      for (const each of commands) {
        if (each.do === "end") end(each.key);
        if (each.do === "wait") wait(each.ms);
        if (each.do === "add" || each.do === "later" || each.do === "retry") owed.add(each.key);
        if (each.do === "add" && each.priority === "change") changed.add(each.key);
        if (each.do === "add") queue.add(each.key, { priority: each.priority });
        if (each.do === "later") queue.add(each.key, { priority: "recheck", afterMs: each.afterMs });
        if (each.do === "retry") queue.retry(each.key);
        await settle();
      }
      for (let round = 0; owed.size + running.size > 0 && round < 50; round++) {
        wait(60_000);
        await settle();
        // One by one: until the queue has noticed an end, the key still counts as running there.
        for (const each of [...running.keys()]) {
          end(each);
          await settle();
        }
      }
      assert.deepEqual([...owed], [], "lost");
      assert.equal(queue.depth + queue.running, 0);
      await queue.stop();
    }),
  );
});
