import { AsyncLocalStorage } from "node:async_hooks";
import { reviewApiCalls } from "./metrics.ts";

interface Reviewing {
  readonly hook: string;
  isOver: boolean;
}

const reviewing = new AsyncLocalStorage<Reviewing>();

/** Runs a review: the requests that it causes are counted as its own until it has ended. */
export async function countingApiCalls<T>(hook: string, review: () => Promise<T>): Promise<T> {
  const current = { hook, isOver: false };
  try {
    return await reviewing.run(current, review);
  } finally {
    // What the review set going, and did not wait for, would otherwise count for ever: a watch, the next passes.
    current.isOver = true;
  }
}

/** For `onRequest` of a client: does nothing outside reviews. */
export function countReviewCall(): void {
  const current = reviewing.getStore();
  if (current && !current.isOver) reviewApiCalls.inc({ hook: current.hook });
}
