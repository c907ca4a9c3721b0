import assert from "node:assert/strict";
import { test } from "node:test";
import { sidecarSets } from "../api/kinds.ts";
import { ApiError } from "../kube/errors.ts";
import { sidecarRecord } from "../testing/sidecar-records.ts";
import { BesideWriter } from "./beside-writer.ts";
import type { Pass } from "./controller.ts";

const set = sidecarRecord("logs");

/** Each write gets the next of these answers. */
function world(...answers: readonly (Error | undefined)[]) {
  const left = [...answers];
  const warnings: string[] = [];
  const kube = {
    async apply() {
      const answer = left.shift();
      if (answer) throw answer;
    },
  };
  const log = { warn: (message: string) => void warnings.push(message) };
  const sets = { writing: (_key: string, write: () => Promise<unknown>) => write() };
  const writer = new BesideWriter({ resource: sidecarSets, objects: () => sets as never });
  const pass = { kube, log, signal: new AbortController().signal } as unknown as Pass;
  return { left, warnings, writer, write: () => writer.write(set, "{}", pass) };
}

const refusals = [
  new ApiError('admission webhook "kruise" denied the request: no', { status: 400 }),
  new ApiError("invalid", { status: 422, reason: "Invalid" }),
  new ApiError("forbidden", { status: 403, reason: "Forbidden" }),
];

for (const refusal of refusals) {
  test(`a write that is refused is tried again later: ${refusal.status}`, async (t) => {
    let nowMs = 0;
    t.mock.method(performance, "now", () => nowMs);
    const { left, warnings, writer, write } = world(refusal, refusal, undefined);
    const waitMs = await write();
    assert.ok(waitMs > 0);
    assert.ok((await write()) > 0, "whatever wakes it");
    assert.deepEqual([left.length, warnings.length], [2, 1]);
    nowMs += waitMs;
    nowMs += await write();
    assert.equal(await write(), 0);
    assert.deepEqual([left.length, warnings.length], [0, 2]);
    writer.forget(set.metadata.uid);
  });
}

test("one whose object is gone is done, any other failure fails the pass", async () => {
  const gone = new ApiError("not found", { status: 404, reason: "NotFound" });
  assert.equal(await world(gone).write(), 0);
  const away = new ApiError("away", { status: 503 });
  await assert.rejects(world(away).write(), away);
});
