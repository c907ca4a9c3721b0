import { isRefusal } from "./errors.ts";

/** Like `Promise.all`, but a failure waits for the others: nothing goes on writing after the pass has ended. */
export async function allOf<T>(work: readonly Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(work);
  return settled.map((result) => {
    if (result.status === "rejected") throw result.reason;
    return result.value;
  });
}

/** One after the other. What somebody refuses keeps none of the others from being done: it is thrown at the end. */
export async function throughRefusals<T>(steps: readonly (() => Promise<T>)[]): Promise<T[]> {
  const results: T[] = [];
  let refusal: Error | undefined;
  for (const step of steps) {
    try {
      results.push(await step());
    } catch (error) {
      if (!isRefusal(error)) throw error;
      refusal ??= error;
    }
  }
  if (refusal) throw refusal;
  return results;
}

/** More than are ever sent at once, so that there is always one waiting to be sent. */
const inHand = 32;

/**
 * The same for work that is yet to begin, in this order and not all at once: the first writes are on their way while the
 * others cost nothing yet.
 */
export async function forAll<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: Promise<R>[] = [];
  const queue = items.values();
  const workThrough = async () => {
    for (const item of queue) {
      const result = work(item);
      results.push(result);
      await result.catch(() => {});
    }
  };
  await Promise.all(Array.from({ length: Math.min(inHand, items.length) }, workThrough));
  return allOf(results);
}
