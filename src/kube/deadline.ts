/** Aborts after `ms`, or earlier when the caller's signal does. */
export function within(ms: number, signal?: AbortSignal): AbortSignal {
  const timeout = AbortSignal.timeout(ms);
  return signal ? AbortSignal.any([signal, timeout]) : timeout;
}

/**
 * Runs a task with a signal that aborts after `ms` or with the caller's. Leaves nothing behind on the caller's
 * signal, which may live as long as the process: that is why the hot path uses this one.
 */
export async function withDeadline<T>(
  ms: number,
  signal: AbortSignal | undefined,
  task: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const controller = new AbortController();
  const giveUp = () => controller.abort(signal?.reason);
  const expire = () => controller.abort(new DOMException(`no answer within ${ms} ms`, "TimeoutError"));
  signal?.addEventListener("abort", giveUp, { once: true });
  const timer = setTimeout(expire, ms);
  try {
    return await task(controller.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", giveUp);
  }
}

/** Waits for what goes on without us; rejects with the signal's reason when the caller gives up. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  const gaveUp = Promise.withResolvers<never>();
  const giveUp = () => gaveUp.reject(signal?.reason);
  if (signal?.aborted) giveUp();
  signal?.addEventListener("abort", giveUp, { once: true });
  try {
    return await Promise.race([gaveUp.promise, work]);
  } finally {
    signal?.removeEventListener("abort", giveUp);
  }
}
