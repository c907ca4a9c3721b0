import type { Check } from "../../runtime/health.ts";

interface Pair {
  /** Failing means: restart me. */
  readonly live: readonly Check[];
  /** Failing means: send me nothing. */
  readonly ready: readonly Check[];
}

const starting: Check = { name: "start", failing: () => "still starting" };

/** The checks that count now: those that last, and those of what comes and goes. While there is none of that, nothing is ready. */
export class CurrentChecks implements Pair {
  #lasting: Pair = { live: [], ready: [] };
  #passing: Pair | undefined;

  get live(): readonly Check[] {
    return [...this.#lasting.live, ...(this.#passing?.live ?? [])];
  }

  get ready(): readonly Check[] {
    return [...this.#lasting.ready, ...(this.#passing?.ready ?? [starting])];
  }

  add({ live, ready }: Pair): void {
    this.#lasting = { live: [...this.#lasting.live, ...live], ready: [...this.#lasting.ready, ...ready] };
  }

  /** Until disposed. */
  show(checks: Pair): Disposable {
    this.#passing = checks;
    return {
      [Symbol.dispose]: () => {
        this.#passing = undefined;
      },
    };
  }
}
