import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { namespaces } from "../api/objects.ts";
import { FencedError } from "../kube/errors.ts";
import { createLog } from "../kube/log.ts";
import { answers, cannedServer } from "../testing/canned-server.ts";
import { Election } from "./lease.ts";
import { type KeyedPass, type KeyedWorker, runKeyed } from "./run-keyed.ts";

const synced = { synced: async () => {} };

/** A worker that notes what becomes of it, in the order in which it does. */
async function scene(t: TestContext, particular: Partial<KeyedWorker> = {}) {
  const { kube, asked } = await cannedServer(t, answers({ metadata: {} }));
  const lines: string[] = [];
  const log = createLog({ level: "debug", format: "json", write: (line) => lines.push(line) });
  const stop = new AbortController();
  const election = new Election({ kube, namespace: "a", name: "test", identity: "me", log, enabled: false });
  const seen: string[] = [];
  let wake: (key: string) => void = () => {};
  const worker: KeyedWorker = {
    name: "test",
    caches: [synced],
    begin: (given) => {
      wake = given;
      seen.push("begin");
      return () => seen.push("end");
    },
    keys: () => ["a", "b"],
    pass: async (key) => {
      seen.push(key);
      return {};
    },
    ...particular,
  };
  const running = runKeyed(worker, { kube, election, log, signal: stop.signal });
  t.after(async () => {
    stop.abort();
    await running.closed;
  });
  return { election, running, seen, asked, lines, stop, wake: (key: string) => wake(key) };
}

test("a leader looks at every key once, and then at those that are woken", async (t) => {
  const { election, running, seen, wake } = await scene(t);
  wake("a");
  await turn();
  assert.deepEqual(seen, [], "a standby does nothing");
  assert.equal(running.isSynced, true);

  election.start();
  await turn();
  assert.deepEqual(seen, ["begin", "a", "b"]);
  wake("c");
  await turn();
  assert.deepEqual(seen.splice(0), ["begin", "a", "b", "c"]);

  await election[Symbol.asyncDispose]();
  wake("a");
  await turn();
  assert.deepEqual(seen, ["end"]);
  assert.equal(running.objects, undefined);
  assert.equal(running.stalledMs(), 0);
});

test("passes begin once every cache is synced", async (t) => {
  const filled = Promise.withResolvers<void>();
  const { election, running, seen } = await scene(t, { caches: [synced, { synced: () => filled.promise }] });
  election.start();
  await turn();
  assert.deepEqual([running.isSynced, seen], [false, []]);
  filled.resolve();
  await turn();
  assert.deepEqual([running.isSynced, seen], [true, ["begin", "a", "b"]]);
});

const repeats: readonly { readonly name: string; readonly first: () => ReturnType<KeyedWorker["pass"]> }[] = [
  { name: "asks for a recheck", first: async () => ({ recheckAfterMs: 1 }) },
  { name: "asks for another try", first: async () => ({ retry: true }) },
  { name: "throws", first: () => Promise.reject(new Error("it broke")) },
];

for (const { name, first } of repeats) {
  test(`a pass that ${name} is followed by another`, async (t) => {
    let count = 0;
    const second = Promise.withResolvers<void>();
    const pass = async () => {
      count++;
      if (count === 1) return await first();
      second.resolve();
      return {};
    };
    const { election, lines } = await scene(t, { keys: () => ["a"], pass });
    election.start();
    await second.promise;
    const warnings = lines.filter((line) => line.includes("pass failed"));
    assert.equal(warnings.length, name === "throws" ? 1 : 0);
    for (const line of warnings) assert.match(line, /"controller":"test","key":"a"/);
  });
}

test("a pass whose term is over is told so, and writes nothing any more", async (t) => {
  const begun = Promise.withResolvers<KeyedPass>();
  const ended = Promise.withResolvers<unknown>();
  const goOn = Promise.withResolvers<void>();
  const pass = async (_key: string, given: KeyedPass) => {
    begun.resolve(given);
    await goOn.promise;
    await given.kube.create(namespaces, { metadata: { name: "late" } }).catch(ended.resolve);
    return {};
  };
  const { election, seen, asked } = await scene(t, { keys: () => ["a"], pass });
  election.start();
  const { signal } = await begun.promise;
  assert.equal(signal.aborted, false);
  await election[Symbol.asyncDispose]();
  assert.equal(signal.aborted, true);
  assert.deepEqual(seen, ["begin", "end"]);

  goOn.resolve();
  assert.ok((await ended.promise) instanceof FencedError);
  await turn();
  assert.deepEqual(seen, ["begin", "end", "end"], "what the pass may have set going is ended as well");
  assert.equal(asked.length, 0);
});

test("after the abort the passes in flight may finish", async (t) => {
  const begun = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const finished: string[] = [];
  const pass = async (key: string, { kube }: KeyedPass) => {
    begun.resolve();
    await goOn.promise;
    await kube.create(namespaces, { metadata: { name: "in-time" } });
    finished.push(key);
    return { retry: true };
  };
  const { election, running, seen, stop } = await scene(t, { keys: () => ["a"], pass });
  election.start();
  await begun.promise;
  stop.abort();
  goOn.resolve();
  await running.closed;
  assert.deepEqual(finished, ["a"]);
  assert.deepEqual(seen, ["begin", "end", "end"], "what they may have set going is ended as well");
});
