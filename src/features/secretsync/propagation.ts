import type { CopyResult } from "../../replication/ensure.ts";
import { propagation } from "../../replication/metrics.ts";

/** Measures the time from a source's event to the last copy that an object keeps of it. */
export class Propagation {
  readonly #feature: string;
  readonly #since = new Map<string, number>();

  constructor(feature: string) {
    this.#feature = feature;
  }

  begin(key: string): void {
    if (!this.#since.has(key)) this.#since.set(key, performance.now());
  }

  /** At the end of a pass; one that wrote nothing was not about the event. */
  end(key: string, results: readonly CopyResult[]): void {
    const since = this.#since.get(key);
    this.#since.delete(key);
    if (since === undefined || !results.some((result) => result.kind === "current" && result.isWritten)) return;
    propagation.observe({ feature: this.#feature }, (performance.now() - since) / 1000);
  }
}
