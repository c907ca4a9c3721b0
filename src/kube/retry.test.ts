import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError, UnreachableError } from "./errors.ts";
import { maxAttempts, retryWaitMs } from "./retry.ts";

const answer = (status: number, retryAfterMs?: number, reason = "") =>
  new ApiError("", { status, reason, retryAfterMs });
const lost = (code: string) => new UnreachableError("h", code);

const cases = [
  { name: "429", error: answer(429), repeatable: true, once: true },
  { name: "503 with Retry-After", error: answer(503, 1000), repeatable: true, once: true },
  { name: "503 without", error: answer(503), repeatable: true, once: false },
  { name: "502", error: answer(502), repeatable: true, once: false },
  { name: "504 with Retry-After", error: answer(504, 1000), repeatable: true, once: false },
  { name: "500 without a reason", error: answer(500), repeatable: true, once: false },
  { name: "500 with a reason", error: answer(500, undefined, "InternalError"), repeatable: false, once: false },
  { name: "409", error: answer(409, undefined, "Conflict"), repeatable: false, once: false },
  { name: "refused", error: lost("ECONNREFUSED"), repeatable: true, once: true },
  { name: "reset", error: lost("ECONNRESET"), repeatable: true, once: false },
  { name: "closed by the other side", error: lost("UND_ERR_SOCKET"), repeatable: true, once: false },
  { name: "not trusted", error: lost("CERT_HAS_EXPIRED"), repeatable: false, once: false },
  { name: "timed out", error: lost("TimeoutError"), repeatable: false, once: false },
  { name: "anything else", error: new Error("x"), repeatable: false, once: false },
];

for (const { name, error, repeatable, once } of cases) {
  test(`retry after ${name}`, () => {
    assert.equal(retryWaitMs(error, { attempt: 0, isRepeatable: true }) !== undefined, repeatable, "repeatable");
    assert.equal(retryWaitMs(error, { attempt: 0, isRepeatable: false }) !== undefined, once, "a create");
  });
}

test("waits at least as long as it was told to", () => {
  assert.ok((retryWaitMs(answer(429, 3000), { attempt: 0, isRepeatable: true }) ?? 0) >= 3000);
});

test("gives up after so many attempts", () => {
  assert.equal(retryWaitMs(answer(429), { attempt: maxAttempts - 1, isRepeatable: true }), undefined);
});
