import { keyOf, type NamespacedRef } from "../../api/objects.ts";
import type { Call } from "../../kube/client.ts";
import { unlessAborted } from "../../kube/deadline.ts";
import type { Asker, Wanted } from "../../pullsecrets/asker.ts";
import type { Reference } from "../../pullsecrets/references.ts";
import type { Demand } from "./demand.ts";

interface HomeAskerOptions {
  /** Everything that Clusters and configurations reference. */
  references(): Iterable<Reference>;
  /** There is a Cluster that is the home and about to be served: what it has must not go. */
  isHomeExpected(): boolean;
  /** Resolves once the above can be told. */
  readonly ready: Promise<unknown>;
  /** What is known about a source has changed. */
  onReport(source: string): void;
}

/**
 * What the home does for clusters: it follows and judges the sources of all of them, and has copies itself where the home
 * is one of them.
 */
export class HomeAsker implements Asker {
  readonly feature = "clusters";
  readonly #options: HomeAskerOptions;
  #demand: Demand | undefined;

  constructor(options: HomeAskerOptions) {
    this.#options = options;
    // It rejects when the feature is closed early, and then perhaps nobody waits.
    options.ready.catch(() => {});
  }

  /** The home is served, until the returned function is called. */
  serve(demand: Demand): () => void {
    this.#demand = demand;
    return () => {
      if (this.#demand === demand) this.#demand = undefined;
    };
  }

  async synced({ signal }: Call = {}): Promise<void> {
    await unlessAborted(this.#options.ready, signal);
  }

  sources(): ReadonlySet<string> {
    return new Set([...this.#options.references()].map(keyOf));
  }

  lists(source: string): boolean {
    return this.#demand?.lists(source) || this.sources().has(source);
  }

  /** A source that is only listed for other clusters has no say here. */
  retains(source: string): boolean {
    if (this.#demand?.lists(source)) return this.#demand.retains();
    return this.#isWaiting;
  }

  wanted(source: string): Wanted {
    return this.#demand?.wanted(source) ?? new Map();
  }

  isReserved(place: NamespacedRef, source: string): boolean {
    return this.#demand?.isReserved(place, source) ?? false;
  }

  graceMs(): number {
    return this.#demand?.graceMs() ?? 0;
  }

  async mayGo(copy: NamespacedRef, source: string): Promise<boolean> {
    if (this.#isWaiting) return false;
    return this.#demand ? this.#demand.mayGo(copy, source) : true;
  }

  onReport(source: string): void {
    this.#demand?.onReport(source);
    this.#options.onReport(source);
  }

  get #isWaiting(): boolean {
    return !this.#demand && this.#options.isHomeExpected();
  }
}
