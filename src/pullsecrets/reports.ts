import { isDeepStrictEqual } from "node:util";
import type { Report } from "./report.ts";

/** The last report about each source. */
export class Reports implements Iterable<readonly [source: string, report: Report]> {
  readonly #reports = new Map<string, Report>();
  readonly #sourcesIn = new Map<string, Set<string>>();

  get(source: string): Report | undefined {
    return this.#reports.get(source);
  }

  [Symbol.iterator](): Iterator<readonly [source: string, report: Report]> {
    return this.#reports.entries();
  }

  /** Sources with a place in this namespace. */
  sourcesIn(namespace: string): readonly string[] {
    return [...(this.#sourcesIn.get(namespace) ?? [])];
  }

  /** Whether that is news; without a report the source is forgotten. */
  set(source: string, report: Report | undefined): boolean {
    const before = this.#reports.get(source);
    if (isDeepStrictEqual(before, report)) return false;
    for (const namespace of before?.places.keys() ?? []) this.#leave(source, namespace);
    for (const namespace of report?.places.keys() ?? []) this.#enter(source, namespace);
    if (report) this.#reports.set(source, report);
    else this.#reports.delete(source);
    return true;
  }

  #enter(source: string, namespace: string): void {
    const sources = this.#sourcesIn.get(namespace) ?? new Set();
    this.#sourcesIn.set(namespace, sources.add(source));
  }

  #leave(source: string, namespace: string): void {
    const sources = this.#sourcesIn.get(namespace);
    sources?.delete(source);
    if (sources?.size === 0) this.#sourcesIn.delete(namespace);
  }
}
