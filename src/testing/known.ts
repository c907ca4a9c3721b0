import { type KubeObject, keyOf } from "../api/objects.ts";
import type { Change } from "../kube/cache.ts";
import { type Indexes, Store } from "../kube/store.ts";

/** What a filled cache looks like to whoever reads it: objects are put into it by the test. */
export class Known<T extends KubeObject> {
  readonly #store: Store<T>;
  readonly #listeners = new Set<(change: Change<T>) => void>();

  constructor(indexes: Indexes<T> = {}, objects: readonly T[] = []) {
    this.#store = new Store(indexes);
    for (const object of objects) this.put(object);
  }

  get = (key: string): T | undefined => this.#store.get(key);
  list = (): T[] => this.#store.list();
  by = (index: string, value: string): T[] => this.#store.by(index, value);
  synced = async (): Promise<void> => {};

  subscribe(listener: (change: Change<T>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  put(after: T): void {
    const key = keyOf(after.metadata);
    const before = this.get(key);
    this.#store.put(key, after);
    this.#tell({ key, before, after });
  }

  remove(key: string): void {
    const before = this.get(key);
    this.#store.remove(key);
    this.#tell({ key, before, after: undefined });
  }

  #tell(change: Change<T>): void {
    for (const listener of this.#listeners) listener(change);
  }
}
