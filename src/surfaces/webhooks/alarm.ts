import { setTimeout as sleep } from "node:timers/promises";

/** Wakes one loop. A ring while nobody waits is kept for the next wait. */
export class Alarm {
  #rung = Promise.withResolvers<void>();

  ring(): void {
    this.#rung.resolve();
  }

  /** Until rung, until the time is up, or until aborted: never rejects, the loop looks at its signal anyway. */
  async wait(ms: number, { signal }: { readonly signal: AbortSignal }): Promise<void> {
    const over = new AbortController();
    const timeUp = sleep(ms, undefined, { signal: AbortSignal.any([signal, over.signal]) }).catch(() => undefined);
    await Promise.race([this.#rung.promise, timeUp]);
    over.abort();
    this.#rung = Promise.withResolvers<void>();
  }
}
