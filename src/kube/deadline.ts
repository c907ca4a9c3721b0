import { onceFor } from "./sharing.ts";

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
  const stop = onAbort(signal, giveUp);
  const timer = setTimeout(expire, ms);
  try {
    return await task(controller.signal);
  } finally {
    clearTimeout(timer);
    stop();
  }
}

/** Waits for what goes on without us; rejects with the signal's reason when the caller gives up. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  const gaveUp = Promise.withResolvers<never>();
  const giveUp = () => gaveUp.reject(signal?.reason);
  if (signal?.aborted) giveUp();
  const stop = onAbort(signal, giveUp);
  try {
    return await Promise.race([gaveUp.promise, work]);
  } finally {
    stop();
  }
}

/** All that wait for the abort of one signal. */
class Audience {
  readonly #listeners = new Set<() => void>();
  readonly #signal: AbortSignal;
  readonly #tell = () => {
    for (const listener of [...this.#listeners]) listener();
  };

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  add(listener: () => void): void {
    if (this.#listeners.size === 0) this.#signal.addEventListener("abort", this.#tell);
    this.#listeners.add(listener);
  }

  delete(listener: () => void): void {
    this.#listeners.delete(listener);
    if (this.#listeners.size === 0) this.#signal.removeEventListener("abort", this.#tell);
  }
}

const audienceOf = onceFor((signal: AbortSignal) => new Audience(signal));

/**
 * Calls the listener when the signal aborts; returns what takes it off again. A signal walks through all its listeners
 * whenever one comes or goes, and every request of a fan-out has some: here it has one for all of them.
 */
export function onAbort(signal: AbortSignal | undefined, listener: () => void): () => void {
  if (!signal) return () => {};
  const audience = audienceOf(signal);
  audience.add(listener);
  return () => audience.delete(listener);
}
