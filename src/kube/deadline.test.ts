import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { onAbort, unlessAborted, withDeadline, within } from "./deadline.ts";

const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));

test("withDeadline: a task that takes too long is aborted with a TimeoutError", async () => {
  await assert.rejects(withDeadline(1, undefined, untilAborted), { name: "TimeoutError" });
});

test("withDeadline: the caller's abort reaches the task with its reason", async () => {
  const caller = new AbortController();
  const running = withDeadline(60_000, caller.signal, untilAborted);
  caller.abort(new Error("mine"));
  await assert.rejects(running, /mine/);
});

test("withDeadline: nothing stays on the caller's signal", async () => {
  const caller = new AbortController();
  await withDeadline(60_000, caller.signal, async () => {});
  assert.equal(getEventListeners(caller.signal, "abort").length, 0);
});

test("unlessAborted: the wait ends with the caller's reason, and nothing stays on his signal", async () => {
  const caller = new AbortController();
  assert.equal(await unlessAborted(Promise.resolve("done"), caller.signal), "done");
  assert.equal(getEventListeners(caller.signal, "abort").length, 0);
  const waiting = unlessAborted(new Promise(() => {}), caller.signal);
  caller.abort(new Error("mine"));
  await assert.rejects(waiting, /mine/);
  await assert.rejects(unlessAborted(Promise.resolve("late"), caller.signal), /mine/);
});

test("onAbort: all are told, and however many they are the signal has one listener", () => {
  const caller = new AbortController();
  const told: number[] = [];
  const stops = [0, 1, 2].map((at) => onAbort(caller.signal, () => void told.push(at)));
  assert.equal(getEventListeners(caller.signal, "abort").length, 1);
  stops[1]?.();
  caller.abort();
  assert.deepEqual(told, [0, 2]);
  for (const stop of stops) stop();
  assert.equal(getEventListeners(caller.signal, "abort").length, 0);
});

test("within: follows the caller's signal", () => {
  const caller = new AbortController();
  const signal = within(60_000, caller.signal);
  caller.abort(new Error("mine"));
  assert.match(String(signal.reason), /mine/);
});
