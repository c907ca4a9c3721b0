import { type KubeObject, keyOf, type Secret, secrets } from "../../src/api/objects.ts";
import { type Change, WatchCache } from "../../src/kube/cache.ts";
import type { Kube } from "../../src/kube/client.ts";

interface Content extends KubeObject {
  readonly value: string;
}

/** Sees the content of every Secret with a label, and when it became what was expected. */
export class Contents implements AsyncDisposable {
  readonly #cache: WatchCache<Content>;
  /** How often each Secret was seen to change. */
  readonly changes = new Map<string, number>();

  /** `key` is the one of `data` that is looked at. */
  constructor(kube: Kube, labelSelector: string, key = "value") {
    this.#cache = new WatchCache<Content>({
      kube,
      resource: secrets,
      selection: { labelSelector },
      name: labelSelector,
      transform: ({ metadata, ...rest }) => ({ metadata, value: (rest as Secret).data?.[key] ?? "" }),
    });
    this.#cache.subscribe(({ key }) => this.changes.set(key, (this.changes.get(key) ?? 0) + 1));
    this.#cache.start();
  }

  synced(): Promise<void> {
    return this.#cache.synced();
  }

  get size(): number {
    return this.#cache.size;
  }

  /** How many have this value now. */
  count(value: string): number {
    return this.#cache.list().filter((one) => one.value === value).length;
  }

  /** Resolves with the time at which the last of `count` Secrets got this value. */
  untilAll(count: number, value: string): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<number>();
    const right = new Set(this.#cache.list().flatMap((one) => (one.value === value ? [keyOf(one.metadata)] : [])));
    const look = ({ key, after }: Change<Content>) => {
      if (after?.value === value) right.add(key);
      else right.delete(key);
      if (right.size === count) resolve(performance.now());
    };
    const stop = this.#cache.subscribe(look);
    if (right.size === count) resolve(performance.now());
    return promise.finally(stop);
  }

  untilEmpty(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = () => {
      if (this.#cache.size === 0) resolve();
    };
    const stop = this.#cache.subscribe(look);
    look();
    return promise.finally(stop);
  }

  /** Throws unless every Secret has this value: then the run is void. */
  check(count: number, value: string): void {
    const wrong = this.#cache.list().filter((one) => one.value !== value);
    if (this.#cache.size !== count || wrong.length > 0) {
      throw new Error(`void: ${this.#cache.size} Secrets instead of ${count}, ${wrong.length} of them wrong`);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#cache[Symbol.asyncDispose]();
  }
}
