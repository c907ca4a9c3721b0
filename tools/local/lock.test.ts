import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { lockFile, tryLock } from "./lock.ts";

test("a lock has one holder at a time", async (t) => {
  const path = lockIn(t);
  const first = await lockFile(path);
  assert.equal(tryLock(path), undefined);
  first[Symbol.dispose]();
  const second = tryLock(path);
  assert.ok(second);
  second[Symbol.dispose]();
});

test("a lock is free again when its holder was killed", async (t) => {
  const path = lockIn(t);
  const holder = fork(join(import.meta.dirname, "testing", "lock-holder.ts"), [path]);
  t.after(() => holder.kill("SIGKILL"));
  await once(holder, "message");
  assert.equal(tryLock(path), undefined);

  const lock = await lockFile(path, { onWait: () => holder.kill("SIGKILL") });
  lock[Symbol.dispose]();
});

test("waiting for a lock can be given up", async (t) => {
  const path = lockIn(t);
  using _ = await lockFile(path);
  const giveUp = new AbortController();
  await assert.rejects(lockFile(path, { signal: giveUp.signal, onWait: () => giveUp.abort() }), { name: "AbortError" });
});

function lockIn(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), "latchkey-lock-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return join(dir, "lock");
}
