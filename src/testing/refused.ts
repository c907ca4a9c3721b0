import assert from "node:assert/strict";
import { ApiError } from "../kube/errors.ts";

/** The API server says no, with this status and in these words. */
export async function assertRefused(write: Promise<unknown>, status: number, words: RegExp): Promise<void> {
  await assert.rejects(write, (error) => {
    assert.ok(error instanceof ApiError, String(error));
    assert.equal(error.status, status, error.message);
    assert.match(error.message, words);
    return true;
  });
}
