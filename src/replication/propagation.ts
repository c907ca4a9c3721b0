import type { CopyResult } from "./ensure.ts";
import { propagation } from "./metrics.ts";

/** Measures the time from a source's event to the last copy that is kept of it; by whatever key its passes go. */
export class Propagation {
  readonly #since = new Map<string, number>();

  begin(key: string): void {
    if (!this.#since.has(key)) this.#since.set(key, performance.now());
  }

  /** At the end of a pass; one that wrote nothing was not about the event. */
  end(key: string, feature: string, results: readonly CopyResult[]): void {
    const since = this.#since.get(key);
    this.#since.delete(key);
    if (since === undefined || !results.some((result) => result.kind === "current" && result.isWritten)) return;
    propagation.observe({ feature }, (performance.now() - since) / 1000);
  }
}
