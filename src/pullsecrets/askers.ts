import type { NamespacedRef } from "../api/objects.ts";
import type { Call } from "../kube/client.ts";
import type { Asker, Wanted } from "./asker.ts";

/** Everybody who asks for copies, as if they were one. */
export class Askers {
  readonly #all: Asker[] = [];

  get isEmpty(): boolean {
    return this.#all.length === 0;
  }

  add(asker: Asker): void {
    this.#all.push(asker);
  }

  async synced(call?: Call): Promise<void> {
    await Promise.all(this.#all.map((asker) => asker.synced(call)));
  }

  sources(): ReadonlySet<string> {
    return new Set(this.#all.flatMap((asker) => [...asker.sources()]));
  }

  /** Whether somebody does, besides this one. */
  lists(source: string, except?: Asker): boolean {
    return this.#all.some((asker) => asker !== except && asker.lists(source));
  }

  /** Where they disagree the deletion wins: a revocation must reach every copy that others count on. */
  retains(source: string): boolean {
    return this.#allListing(source, (asker) => asker.retains(source));
  }

  holds(source: string): boolean {
    return this.#allListing(source, (asker) => asker.holds?.(source) ?? false);
  }

  /** A source that nobody lists is wanted nowhere. */
  wanted(source: string): Wanted {
    const wanted = new Map<string, readonly string[]>();
    for (const asker of this.#all.filter((each) => each.lists(source))) {
      for (const [namespace, names] of asker.wanted(source)) {
        wanted.set(namespace, [...new Set([...(wanted.get(namespace) ?? []), ...names])]);
      }
    }
    return wanted;
  }

  isReserved(place: NamespacedRef, source: string): boolean {
    return this.#all.some((asker) => asker.isReserved(place, source));
  }

  graceMs(source: string): number {
    return Math.max(0, ...this.#all.map((asker) => asker.graceMs(source)));
  }

  /** All have to agree, one after the other: the first no spares the rest a look. */
  async mayGo(copy: NamespacedRef, source: string, call: Call): Promise<boolean> {
    for (const asker of this.#concerned(source)) if (!(await asker.mayGo(copy, source, call))) return false;
    return true;
  }

  /** For whom the copies of a source are written, as metrics tell it. */
  featureOf(source: string): string {
    const asker = this.#all.find((each) => each.lists(source)) ?? this.#all[0];
    return asker?.feature ?? "pull-secrets";
  }

  tell(source: string): void {
    for (const asker of this.#all) asker.onReport(source);
  }

  #allListing(source: string, agrees: (asker: Asker) => boolean): boolean {
    const listing = this.#all.filter((asker) => asker.lists(source));
    return listing.length > 0 && listing.every(agrees);
  }

  #concerned(source: string): readonly Asker[] {
    const withdraws = (asker: Asker) => asker.withdraws?.(source) ?? false;
    if (!this.#all.some(withdraws)) return this.#all;
    return this.#all.filter((asker) => withdraws(asker) || asker.lists(source));
  }
}
