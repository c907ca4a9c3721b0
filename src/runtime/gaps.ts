/** Keeps a distance in time between things of one kind that happen to one key. */
export class Gaps {
  readonly #gapMs: number;
  readonly #now: () => number;
  readonly #last = new Map<string, number>();

  constructor(gapMs: number, now: () => number = () => performance.now()) {
    this.#gapMs = gapMs;
    this.#now = now;
  }

  /** How long the next one has to wait. */
  waitMs(key: string): number {
    const last = this.#last.get(key);
    return last === undefined ? 0 : Math.max(0, last + this.#gapMs - this.#now());
  }

  happened(key: string): void {
    this.#last.set(key, this.#now());
  }

  forget(key: string): void {
    this.#last.delete(key);
  }
}
