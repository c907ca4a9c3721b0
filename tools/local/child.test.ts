import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { startChild } from "./child.ts";

const stubborn = `trap '' TERM; sleep 1000 & echo $$ $!; wait`;
const orderly = `trap 'exit 7' TERM; sleep 1000 & echo $$ $!; wait`;

test("a program that ends by itself is reported with its exit code", async (t) => {
  const child = await startChild({ command: "/bin/sh", args: ["-c", "exit 3"], logFile: logIn(t) });
  assert.deepEqual(await child.ended, { code: 3 });
  assert.deepEqual(child.ending, { code: 3 });
});

test("a program that does not exist is an exit code as well", async (t) => {
  const child = await startChild({ command: "/nowhere/to-be-found", args: [], logFile: logIn(t) });
  assert.deepEqual(await child.ended, { code: 127 });
});

test("stop lets a program end in its own way and takes what it left behind", async (t) => {
  const logFile = logIn(t);
  const child = await startChild({ command: "/bin/sh", args: ["-c", orderly], logFile, graceMs: 60_000 });
  const pids = await pidsIn(logFile);
  await child.stop();
  assert.deepEqual(child.ending, { code: 7 });
  await gone(pids);
});

test("stop insists when a program does not listen", async (t) => {
  const logFile = logIn(t);
  const child = await startChild({ command: "/bin/sh", args: ["-c", stubborn], logFile, graceMs: 200 });
  const pids = await pidsIn(logFile);
  await child.stop();
  await gone(pids);
});

test("a paused program can be stopped", async (t) => {
  const logFile = logIn(t);
  const child = await startChild({ command: "/bin/sh", args: ["-c", orderly], logFile, graceMs: 60_000 });
  const pids = await pidsIn(logFile);
  child.pause();
  await child.stop();
  await gone(pids);
});

test("kill ends a program and all it started", async (t) => {
  const logFile = logIn(t);
  const child = await startChild({ command: "/bin/sh", args: ["-c", stubborn], logFile });
  const pids = await pidsIn(logFile);
  await child.kill();
  assert.deepEqual(child.ending, { signal: "SIGKILL" });
  await gone(pids);
});

for (const isPaused of [false, true]) {
  test(`a ${isPaused ? "paused" : "stubborn"} program does not outlive a parent killed by SIGKILL`, async (t) => {
    const logFile = logIn(t);
    const parent = forkParent(t, logFile);
    // Paused only now: before it has told its pids it never would.
    const pids = await pidsIn(logFile);
    if (isPaused) await pause(parent);
    parent.kill("SIGKILL");
    await gone(pids);
  });
}

async function pause(parent: ChildProcess): Promise<void> {
  const paused = once(parent, "message");
  parent.send("pause");
  await paused;
}

function forkParent(t: TestContext, logFile: string): ChildProcess {
  const program = join(import.meta.dirname, "testing", "parent.ts");
  const parent = fork(program, [JSON.stringify({ script: stubborn, logFile })], { stdio: "inherit" });
  t.after(() => parent.kill("SIGKILL"));
  return parent;
}

function logIn(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), "latchkey-child-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return join(dir, "log");
}

async function pidsIn(logFile: string): Promise<number[]> {
  for (;;) {
    const text = readOr(logFile);
    if (text.endsWith("\n")) return text.trim().split(/\s+/).map(Number);
    await sleep(20);
  }
}

function readOr(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

/** The time-out of the test run is the judge of "never". */
async function gone(pids: readonly number[]): Promise<void> {
  assert.ok(pids.length > 0 && pids.every((pid) => pid > 1));
  while (pids.some(isAlive)) await sleep(20);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !readOr(`/proc/${pid}/stat`).includes(") Z "); // where nobody collects the dead
  } catch {
    return false;
  }
}
