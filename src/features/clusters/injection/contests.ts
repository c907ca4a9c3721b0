const windowMs = 10 * 60_000;
const truceMs = 60 * 60_000;
const patience = 3;

interface Contest {
  /** Of the accounts as they were when our entry was found missing. */
  readonly seen: ReadonlySet<string>;
  readonly atMs: readonly number[];
  readonly untilMs: number;
}

/** Accounts from which somebody takes out what we put in. The third time within ten minutes we let it be, for an hour. */
export class Contests {
  readonly #contests = new Map<string, Contest>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Our entry is missing from an account that we wrote, in this version of it. */
  noteRevert(key: string, resourceVersion: string): void {
    const { seen = new Set<string>(), atMs = [], untilMs = 0 } = this.#contests.get(key) ?? {};
    if (seen.has(resourceVersion)) return;
    const nowMs = this.#now();
    const recent = [...atMs.filter((each) => nowMs - each < windowMs), nowMs];
    const isOver = recent.length >= patience;
    this.#contests.set(key, {
      seen: new Set([...seen, resourceVersion].slice(-patience)),
      atMs: isOver ? [] : recent,
      untilMs: isOver ? nowMs + truceMs : untilMs,
    });
  }

  /** How long the account is left alone; 0 for one that nobody contests. */
  leftMs(key: string): number {
    return Math.max(0, (this.#contests.get(key)?.untilMs ?? 0) - this.#now());
  }

  forget(key: string): void {
    this.#contests.delete(key);
  }

  /** Accounts that are left alone now. */
  keys(): readonly string[] {
    return [...this.#contests.keys()].filter((key) => this.leftMs(key) > 0).sort();
  }
}
