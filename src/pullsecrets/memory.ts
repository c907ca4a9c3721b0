import type { Idle } from "./collection.ts";
import { Reports } from "./reports.ts";

/** What the leader remembers from pass to pass. Each term begins with nothing: the cluster tells the rest. */
export class Memory {
  readonly reports = new Reports();
  readonly #missingSinceMs = new Map<string, number>();
  readonly #failedReadings = new Map<string, number>();
  readonly #idle = new Map<string, ReadonlyMap<string, Idle>>();

  /** How long a source has been missing, as of now. */
  missingForMs(source: string, isMissing: boolean): number {
    if (!isMissing) {
      this.#missingSinceMs.delete(source);
      return 0;
    }
    const nowMs = performance.now();
    const sinceMs = this.#missingSinceMs.get(source) ?? nowMs;
    this.#missingSinceMs.set(source, sinceMs);
    return nowMs - sinceMs;
  }

  /** Where nobody wants a copy, by namespace. */
  idleOf(source: string): ReadonlyMap<string, Idle> {
    return this.#idle.get(source) ?? new Map();
  }

  setIdle(source: string, idle: ReadonlyMap<string, Idle>): void {
    if (idle.size > 0) this.#idle.set(source, idle);
    else this.#idle.delete(source);
  }

  /** Somebody needs the copy there: the next time that nobody does counts from then. */
  endIdleness(source: string, namespace: string): void {
    this.setIdle(source, new Map([...this.idleOf(source)].filter(([idle]) => idle !== namespace)));
  }

  /** Nobody has wanted a copy there for that long. */
  isForgotten(source: string, namespace: string, graceMs: number): boolean {
    const nowMs = performance.now();
    const sinceMs = this.idleOf(source).get(namespace)?.unwantedSinceMs ?? nowMs;
    return nowMs - sinceMs >= graceMs;
  }

  /** How many times in a row a source could not be read. */
  countReading(source: string, isFailure: boolean): number {
    if (!isFailure) {
      this.#failedReadings.delete(source);
      return 0;
    }
    const count = (this.#failedReadings.get(source) ?? 0) + 1;
    this.#failedReadings.set(source, count);
    return count;
  }

  /** Whether there was anything to tell about it. */
  forget(source: string): boolean {
    this.#missingSinceMs.delete(source);
    this.#failedReadings.delete(source);
    this.#idle.delete(source);
    return this.reports.set(source, undefined);
  }
}
