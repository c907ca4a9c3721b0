import { keyOf, type NamespacedRef } from "../../api/objects.ts";
import type { Call } from "../../kube/client.ts";
import { unlessAborted } from "../../kube/deadline.ts";
import type { Asker, Wanted } from "../../pullsecrets/asker.ts";
import type { Reference } from "../../pullsecrets/references.ts";

interface HomeAskerOptions {
  /** Everything that Clusters and configurations reference. */
  references(): Iterable<Reference>;
  /** There is a Cluster that is the home and about to be served: what it has must not go. */
  isHomeExpected(): boolean;
  /** Which copies Pods at home are given the names of now, by whatever is left of earlier times. */
  stillInjected(call: Call): Promise<(copy: NamespacedRef) => boolean>;
  /** Whether anything is known about a source. */
  isKnown(source: string): boolean;
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
  /** Sources of which the home had copies made. */
  readonly #asked = new Set<string>();
  #demand: Asker | undefined;
  /** The home was served once and not cleaned up: which copies stay. Undefined until somebody has looked. */
  #isLeft: ((copy: NamespacedRef) => boolean) | undefined;

  constructor(options: HomeAskerOptions) {
    this.#options = options;
    // It rejects when the feature is closed early, and then perhaps nobody waits.
    options.ready.catch(() => {});
  }

  /** The home is served, until the returned function is called. */
  serve(demand: Asker): () => void {
    this.#demand = demand;
    return () => {
      if (this.#demand !== demand) return;
      this.#demand = undefined;
      this.#isLeft = undefined;
    };
  }

  /** Pods at home are given nothing any more: the copies that were made for them go, these and all the others it tells. */
  release(references: readonly Reference[]): Iterable<string> {
    this.#isLeft = () => false;
    for (const reference of references) this.#asked.add(keyOf(reference));
    return this.#asked;
  }

  get isExpected(): boolean {
    return this.#options.isHomeExpected();
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
    if (this.#demand?.lists(source)) return this.#demand.retains(source);
    return this.#isWaiting;
  }

  holds(): boolean {
    return this.#isWaiting;
  }

  /** Pods are injected everywhere: if the copies waited for those that name them, they would stay for ever. */
  withdraws(source: string): boolean {
    return this.#asked.has(source);
  }

  wanted(source: string): Wanted {
    if (this.#demand?.lists(source)) this.#asked.add(source);
    return this.#demand?.wanted(source) ?? new Map();
  }

  isReserved(place: NamespacedRef, source: string): boolean {
    return this.#demand?.isReserved(place, source) ?? false;
  }

  graceMs(source: string): number {
    return this.#demand?.graceMs(source) ?? 0;
  }

  async mayGo(copy: NamespacedRef, source: string, call: Call): Promise<boolean> {
    if (this.#demand) return this.#demand.mayGo(copy, source, call);
    if (this.#isWaiting) return false;
    const isLeft = this.#isLeft ?? (await this.#options.stillInjected(call));
    this.#isLeft ??= isLeft;
    return !this.#isLeft(copy);
  }

  onReport(source: string): void {
    if (!this.#options.isKnown(source)) this.#asked.delete(source);
    this.#demand?.onReport(source);
    this.#options.onReport(source);
  }

  get #isWaiting(): boolean {
    return !this.#demand && this.isExpected;
  }
}
