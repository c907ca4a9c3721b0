import type { KubeObject } from "../api/objects.ts";

/** Under which values an object is found; pure, for it is asked again when the object leaves. */
export type Index<T> = (object: T) => readonly string[];
export type Indexes<T> = Readonly<Record<string, Index<T>>>;

interface Shelf<T> {
  readonly valuesOf: Index<T>;
  readonly keys: Map<string, Set<string>>;
}

/** Objects by key and by index. */
export class Store<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #shelves: ReadonlyMap<string, Shelf<T>>;

  constructor(indexes: Indexes<T> = {}) {
    this.#shelves = new Map(
      Object.entries(indexes).map(([name, valuesOf]) => [name, { valuesOf, keys: new Map<string, Set<string>>() }]),
    );
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  has(key: string): boolean {
    return this.#objects.has(key);
  }

  list(): T[] {
    return [...this.#objects.values()];
  }

  keys(): string[] {
    return [...this.#objects.keys()];
  }

  by(index: string, value: string): T[] {
    const shelf = this.#shelves.get(index);
    if (!shelf) throw new Error(`there is no index ${index}`);
    return [...(shelf.keys.get(value) ?? [])].map((key) => this.#objects.get(key)!);
  }

  put(key: string, object: T): void {
    this.remove(key);
    this.#objects.set(key, object);
    for (const { valuesOf, keys } of this.#shelves.values()) {
      for (const value of valuesOf(object)) {
        const found = keys.get(value);
        if (found) found.add(key);
        else keys.set(value, new Set([key]));
      }
    }
  }

  remove(key: string): void {
    const object = this.#objects.get(key);
    if (!object) return;
    this.#objects.delete(key);
    for (const { valuesOf, keys } of this.#shelves.values()) {
      for (const value of valuesOf(object)) {
        const found = keys.get(value);
        found?.delete(key);
        if (found?.size === 0) keys.delete(value);
      }
    }
  }
}
