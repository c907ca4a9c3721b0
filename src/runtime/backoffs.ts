import { backoffMs } from "../kube/backoff.ts";

interface Failure {
  readonly attempts: number;
  readonly dueMs: number;
}

interface BackoffsOptions {
  /** Monotonic milliseconds. */
  readonly now?: () => number;
  readonly random?: () => number;
}

const growth = { baseMs: 1000, maxMs: 10 * 60_000 };

/** When to try again what failed, by key: after a second, then ever later, up to ten minutes. */
export class Backoffs {
  readonly #failures = new Map<string, Failure>();
  readonly #now: () => number;
  readonly #random: (() => number) | undefined;

  constructor({ now = () => performance.now(), random }: BackoffsOptions = {}) {
    this.#now = now;
    this.#random = random;
  }

  /** What has not failed is always due. */
  isDue(key: string): boolean {
    const failure = this.#failures.get(key);
    return !failure || failure.dueMs <= this.#now();
  }

  failed(key: string): void {
    const attempts = this.#failures.get(key)?.attempts ?? 0;
    const dueMs = this.#now() + backoffMs(attempts, growth, this.#random);
    this.#failures.set(key, { attempts: attempts + 1, dueMs });
  }

  /** It succeeded, or does not matter any more, or may succeed now: due at once, and the next wait is short. */
  clear(key: string): void {
    this.#failures.delete(key);
  }

  /**
   * How long until the first of these keys is due; undefined where none has failed. At least a second: what became due
   * while a pass was under way is tried by the next, and one that nobody tries any more makes no busy loop.
   */
  nextDueMs(prefix = ""): number | undefined {
    const due = [...this.#failures].filter(([key]) => key.startsWith(prefix)).map(([, { dueMs }]) => dueMs);
    if (due.length === 0) return undefined;
    const earliest = due.reduce((first, each) => Math.min(first, each));
    return Math.max(growth.baseMs, earliest - this.#now());
  }
}
