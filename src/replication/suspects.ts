import { fingerprintAnnotation } from "../api/marks.ts";
import type { Change, WatchCache } from "../kube/cache.ts";
import type { CopyRecord } from "./copy.ts";

/**
 * Copies that somebody else has written to, seen while we were watching or found by an inspection. Managed fields tell of
 * most edits, but not of one made under our own name: a suspect is read whole and compared. Our own writes are no changes
 * to the cache, and those of another replica change the fingerprint, so there are few.
 */
export class Suspects {
  readonly #keys = new Set<string>();
  readonly #listeners = new Set<(key: string) => void>();

  constructor(copies: Pick<WatchCache<CopyRecord>, "subscribe">) {
    copies.subscribe((change) => {
      if (isSuspicious(change)) this.#keys.add(change.key);
      else this.#keys.delete(change.key);
    });
  }

  has(key: string): boolean {
    return this.#keys.has(key);
  }

  /** Clears a copy by looking at it or rewriting it. Whoever changes it meanwhile makes it suspect again; so does a failure. */
  async clearBy<T>(key: string, work: () => Promise<T>): Promise<T> {
    const wasSuspect = this.#keys.delete(key);
    try {
      return await work();
    } catch (error) {
      if (wasSuspect) this.#keys.add(key);
      throw error;
    }
  }

  add(key: string): void {
    this.#keys.add(key);
  }

  /** No event tells of this one: whoever keeps it has to be woken. */
  found(key: string): void {
    this.#keys.add(key);
    for (const listener of [...this.#listeners]) listener(key);
  }

  onFound(listener: (key: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  delete(key: string): void {
    this.#keys.delete(key);
  }
}

export function isSuspicious({ before, after }: Change<CopyRecord>): boolean {
  if (!before || before.metadata.uid !== after?.metadata.uid) return false;
  const printOf = ({ metadata }: CopyRecord) => metadata.annotations?.[fingerprintAnnotation];
  return printOf(before) === printOf(after);
}
