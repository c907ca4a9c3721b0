import { keyOf, type NamespacedRef } from "../../api/objects.ts";
import type { NameWatches } from "../../kube/name-watches.ts";

type Versions = ReadonlyMap<string, string | undefined>;

/** The Secrets that a kubeconfig is chosen from: tells when one is no longer what was read. */
export class FollowedSecrets implements Disposable {
  readonly #watches: NameWatches;
  readonly #onNews: () => void;
  readonly #stops = new Map<string, () => void>();
  /** By key; undefined for one that is not there. */
  readonly #read = new Map<string, string | undefined>();
  /** The same, as heard of while they are being read. */
  readonly #heardOf = new Map<string, string | undefined>();

  constructor(watches: NameWatches, onNews: () => void) {
    this.#watches = watches;
    this.#onNews = onNews;
  }

  /** These and no others. To be called before they are read: a change in between is heard of. */
  follow(places: readonly NamespacedRef[]): void {
    this.#heardOf.clear();
    const wanted = new Map(places.map((place) => [keyOf(place), place]));
    for (const key of this.#stops.keys()) if (!wanted.has(key)) this.#leave(key);
    for (const [key, place] of wanted) {
      if (this.#stops.has(key)) continue;
      const stop = this.#watches.follow(place, (object) => this.#hear(key, object?.metadata.resourceVersion));
      this.#stops.set(key, stop);
    }
  }

  noteRead(versions: Versions): void {
    for (const [key, version] of versions) {
      this.#read.set(key, version);
      if (this.#heardOf.has(key) && this.#heardOf.get(key) !== version) this.#onNews();
    }
  }

  [Symbol.dispose](): void {
    for (const key of [...this.#stops.keys()]) this.#leave(key);
  }

  #hear(key: string, version: string | undefined): void {
    this.#heardOf.set(key, version);
    if (this.#read.has(key) && this.#read.get(key) !== version) this.#onNews();
  }

  #leave(key: string): void {
    this.#stops.get(key)?.();
    this.#stops.delete(key);
    this.#read.delete(key);
  }
}
