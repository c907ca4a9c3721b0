import { Gaps } from "./gaps.ts";

/** Wakes keys at once, but one key not more often than every so often: what comes in between is one wake, later. */
export class Soon {
  readonly #gaps: Gaps;
  readonly #timers = new Map<string, NodeJS.Timeout>();
  #wake: ((key: string) => void) | undefined;

  constructor(gapMs: number) {
    this.#gaps = new Gaps(gapMs);
  }

  /** Until the returned function is called. */
  begin(wake: (key: string) => void): () => void {
    this.#wake = wake;
    return () => {
      this.#wake = undefined;
      for (const timer of this.#timers.values()) clearTimeout(timer);
      this.#timers.clear();
    };
  }

  wake(key: string): void {
    if (!this.#wake || this.#timers.has(key)) return;
    const waitMs = this.#gaps.waitMs(key);
    if (waitMs === 0) this.#now(key);
    else
      this.#timers.set(
        key,
        setTimeout(() => this.#now(key), waitMs),
      );
  }

  forget(key: string): void {
    clearTimeout(this.#timers.get(key));
    this.#timers.delete(key);
    this.#gaps.forget(key);
  }

  #now(key: string): void {
    this.#timers.delete(key);
    this.#gaps.happened(key);
    this.#wake?.(key);
  }
}
