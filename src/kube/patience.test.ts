import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "./errors.ts";
import { Patience } from "./patience.ts";

const tooMany = (retryAfterMs?: number) => new ApiError("slow down", { status: 429, retryAfterMs });

/** A server that gives these answers in turn, and then says yes. */
function server(...answers: readonly Error[]) {
  const askedAtMs: number[] = [];
  const send = async () => {
    const answer = answers[askedAtMs.length];
    askedAtMs.push(performance.now());
    if (answer) throw answer;
    return "yes";
  };
  return { send, askedAtMs };
}

test("who is told to come later does so, however often he is sent", async () => {
  const patience = new Patience();
  const { send, askedAtMs } = server(tooMany(150));
  await assert.rejects(patience.run("a", send), { status: 429 });
  assert.deepEqual(await Promise.all([patience.run("a", send), patience.run("a", send)]), ["yes", "yes"]);
  const [first = 0, ...later] = askedAtMs;
  assert.ok(later.every((atMs) => atMs - first >= 149));
});

test("others are not kept waiting, nor is anybody who was given no time", async () => {
  const patience = new Patience();
  const { send } = server(tooMany(60_000));
  await assert.rejects(patience.run("a", send), { status: 429 });
  assert.equal(await patience.run("b", send), "yes");
  await assert.rejects(patience.run("c", server(tooMany()).send), { status: 429 });
  assert.equal(await patience.run("c", send), "yes");
});

test("a long wait is not waited for: it is told at once, without asking", async () => {
  const patience = new Patience();
  const { send, askedAtMs } = server(tooMany(60_000));
  await assert.rejects(patience.run("a", send), { status: 429 });
  await assert.rejects(patience.run("a", send), { status: 429 });
  assert.equal(askedAtMs.length, 1);
});

test("whoever gives up does not wait", async () => {
  const patience = new Patience();
  const { send } = server(tooMany(5_000));
  await assert.rejects(patience.run("a", send), { status: 429 });
  const giveUp = new AbortController();
  const waiting = patience.run("a", send, { signal: giveUp.signal });
  giveUp.abort(new Error("enough"));
  await assert.rejects(waiting, /enough/);
});
