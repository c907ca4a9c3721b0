import assert from "node:assert/strict";
import { test } from "node:test";
import { Alarm, repeat } from "./alarm.ts";

test("a task is repeated whenever the alarm rings, and of failures in a row the first is told", async () => {
  const alarm = new Alarm();
  const stop = new AbortController();
  const failing = [true, true, false, true, false];
  const told: number[] = [];
  let count = 0;
  const task = async () => {
    count++;
    alarm.ring();
    if (count === failing.length) stop.abort();
    if (failing[count - 1]) throw new Error("once more");
  };
  await repeat(task, { alarm, everyMs: 60_000, signal: stop.signal, onFailure: () => told.push(count) });
  assert.deepEqual([count, told], [5, [1, 4]]);
});

test("a task that fails because of the end is no failure", async () => {
  const stop = new AbortController();
  const task = async () => {
    stop.abort();
    stop.signal.throwIfAborted();
  };
  const onFailure = () => assert.fail();
  await repeat(task, { alarm: new Alarm(), everyMs: 60_000, signal: stop.signal, onFailure });
});

test("without an alarm a task is repeated after its time", async () => {
  const stop = new AbortController();
  let count = 0;
  const task = async () => {
    count++;
    if (count === 3) stop.abort();
  };
  await repeat(task, { alarm: new Alarm(), everyMs: 1, signal: stop.signal, onFailure: () => {} });
  assert.equal(count, 3);
});
