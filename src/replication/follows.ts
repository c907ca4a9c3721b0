import { keyOf, type NamespacedRef } from "../api/objects.ts";
import type { NameWatches } from "../kube/name-watches.ts";

/** Secrets that carry no label of ours and matter all the same: a missing source, whatever holds a place we want. */
export class Follows {
  readonly #watches: NameWatches;
  readonly #stops = new Map<string, Map<string, () => void>>();
  #wake: (follower: string) => void = () => {};

  constructor(watches: NameWatches) {
    this.#watches = watches;
  }

  /** The runtime's way of waking whatever follows; returns what ends all following. */
  onChange(wake: (follower: string) => void): () => void {
    this.#wake = wake;
    return () => {
      for (const follower of [...this.#stops.keys()]) this.set(follower, []);
    };
  }

  /** Follows exactly these Secrets for one follower from now on. */
  set(follower: string, refs: readonly NamespacedRef[]): void {
    const before = this.#stops.get(follower) ?? new Map<string, () => void>();
    const after = new Map<string, () => void>();
    for (const ref of refs) {
      const key = keyOf(ref);
      after.set(key, before.get(key) ?? this.#watches.follow(ref, () => this.#wake(follower)));
    }
    for (const [key, stop] of before) if (!after.has(key)) stop();
    if (after.size > 0) this.#stops.set(follower, after);
    else this.#stops.delete(follower);
  }
}
