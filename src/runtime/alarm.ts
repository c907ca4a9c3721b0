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

interface Repetition {
  readonly alarm: Alarm;
  readonly everyMs: number;
  readonly signal: AbortSignal;
  /** Of failures in a row only the first is told: how it goes on is in the readiness. */
  onFailure(error: unknown): void;
}

/** Does something until aborted: now, whenever the alarm rings, and every so often in any case. */
export async function repeat(task: () => Promise<void>, repetition: Repetition): Promise<void> {
  const { alarm, everyMs, signal, onFailure } = repetition;
  let isFailing = false;
  while (!signal.aborted) {
    try {
      await task();
      isFailing = false;
    } catch (error) {
      if (!signal.aborted && !isFailing) onFailure(error);
      isFailing = true;
    }
    await alarm.wait(everyMs, { signal });
  }
}
