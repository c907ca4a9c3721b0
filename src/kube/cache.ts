import { type KubeObject, keyOf, type Resource } from "../api/objects.ts";
import { cacheFailures, cacheListenerErrors, cacheLists, observeCache } from "./cache-metrics.ts";
import type { Call, Kube, Selection } from "./client.ts";
import { unlessAborted } from "./deadline.ts";
import { follow, type Told } from "./follow.ts";
import type { Log } from "./log.ts";
import { type Change, Mirror } from "./mirror.ts";
import { isSameState } from "./resource-version.ts";
import type { Indexes } from "./store.ts";
import { tidying } from "./tidy.ts";
import { defaultIdleMs } from "./watch.ts";

export type { Change } from "./mirror.ts";

export interface CacheOptions<T extends KubeObject> {
  readonly kube: Kube;
  readonly resource: Resource;
  readonly selection?: Selection | undefined;
  readonly metadataOnly?: boolean | undefined;
  /** They are most of an object's bytes, and dropped before `transform` unless asked for. */
  readonly keepManagedFields?: boolean | undefined;
  /** What is stored; must keep name, namespace, uid and resourceVersion. */
  readonly transform?: ((object: KubeObject) => T) | undefined;
  readonly indexes?: Indexes<T> | undefined;
  readonly log?: Log | undefined;
  /** How long the server may be silent before the watch is opened anew. */
  readonly idleMs?: number | undefined;
  /** In logs and metrics; the plural unless told. */
  readonly name?: string | undefined;
}

interface CacheHealth {
  /** When the API server last sent something: milliseconds of `Date.now()`, 0 before the start. */
  readonly lastHeardAt: number;
  /** What is wrong and since when; the cache keeps trying. */
  readonly failing: { readonly error: Error; readonly since: number } | undefined;
  /** Silent for minutes for no known reason. A server that is away is a known reason: see `failing`. */
  isDeaf(nowMs: number): boolean;
}

const deafAfterMs = 300_000;

/** The objects of one kind, kept equal to the API server's until disposed, through any fault. */
export class WatchCache<T extends KubeObject = KubeObject> implements AsyncDisposable {
  readonly name: string;
  readonly #options: CacheOptions<T>;
  readonly #tidy: (object: KubeObject) => KubeObject;
  readonly #mirror: Mirror<T>;
  readonly #listeners = new Set<(change: Change<T>) => void>();
  readonly #stopping = new AbortController();
  readonly #firstList = Promise.withResolvers<void>();
  #running: Promise<void> | undefined;
  #unobserve: () => void = () => {};
  #isSynced = false;
  #lastHeardAt = 0;
  #failing: CacheHealth["failing"];

  constructor(options: CacheOptions<T>) {
    this.name = options.name ?? options.resource.plural;
    this.#options = options;
    this.#tidy = tidying(options);
    this.#mirror = new Mirror(options.indexes);
    // It rejects when the cache is closed early, and then perhaps nobody waits.
    this.#firstList.promise.catch(() => {});
  }

  start(): void {
    if (this.#running || this.#stopping.signal.aborted) return;
    this.#lastHeardAt = Date.now();
    this.#unobserve = observeCache(this);
    this.#running = this.#run();
  }

  /** Resolves once the first complete list is in. */
  async synced({ signal }: Call = {}): Promise<void> {
    await unlessAborted(this.#firstList.promise, signal);
  }

  get isSynced(): boolean {
    return this.#isSynced;
  }

  get size(): number {
    return this.#mirror.store.size;
  }

  get lastHeardAt(): number {
    return this.#lastHeardAt;
  }

  get health(): CacheHealth {
    const lastHeardAt = this.#lastHeardAt;
    const failing = this.#failing;
    const isSilent = this.#running !== undefined && !this.#stopping.signal.aborted && !failing;
    return { lastHeardAt, failing, isDeaf: (nowMs) => isSilent && nowMs - lastHeardAt > deafAfterMs };
  }

  get(key: string): T | undefined {
    return this.#mirror.store.get(key);
  }

  has(key: string): boolean {
    return this.#mirror.store.has(key);
  }

  list(): T[] {
    return this.#mirror.store.list();
  }

  keys(): string[] {
    return this.#mirror.store.keys();
  }

  by(index: string, value: string): T[] {
    return this.#mirror.store.by(index, value);
  }

  /** Hears of every change from now on, of the first list too if that is still to come. */
  subscribe(listener: (change: Change<T>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The answer of our own write to an object selected here: in the cache at once, and nobody is woken. */
  absorb(object: KubeObject): void {
    const kept = this.#keep(object);
    if (kept) this.#mirror.absorb(kept);
  }

  /** Our own delete was answered: gone at once, and nobody is woken. */
  forget(key: string, uid: string): void {
    this.#mirror.forget(key, uid);
  }

  /**
   * Runs our own write of the object at `key`, which answers the object, or undefined when it deleted it. What the
   * server tells about it meanwhile waits for the answer: so our own write wakes nobody, and a change by somebody else
   * in between does. When the write throws, everything that waited is told.
   */
  async writing<R extends KubeObject | undefined>(key: string, write: () => Promise<R>): Promise<R> {
    this.#mirror.hold(key);
    const uid = this.get(key)?.metadata.uid ?? "";
    try {
      const answer = await write();
      if (answer) this.absorb(answer);
      else this.forget(key, uid);
      return answer;
    } finally {
      this.#tell(this.#mirror.release(key));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    this.#unobserve();
    await this.#running;
    this.#firstList.reject(new Error(`the cache of ${this.name} was closed before its first list`));
  }

  async #run(): Promise<void> {
    const { kube, resource, selection = {}, metadataOnly = false, idleMs = defaultIdleMs } = this.#options;
    const source = {
      ...{ kube, resource, selection, metadataOnly, idleMs },
      keep: (object: KubeObject) => this.#keep(object),
      heard: () => this.#heard(),
      failed: (error: Error) => this.#failed(error),
    };
    for await (const told of follow<T>(source, this.#stopping.signal)) this.#tell(this.#changesOf(told));
  }

  #changesOf(told: Told<T>): readonly Change<T>[] {
    switch (told.kind) {
      case "bookmark":
        this.#mirror.reached(told.resourceVersion);
        return [];
      case "news":
        return this.#mirror.observe(told.news);
      case "list":
        cacheLists.inc({ cache: this.name });
        this.#isSynced = true;
        this.#firstList.resolve();
        return this.#mirror.replace(told.objects, told.resourceVersion);
    }
  }

  /** One object that cannot be understood must not cost the sight of all others: its last good state stays. */
  #keep(object: KubeObject): T | undefined {
    const { transform, indexes = {} } = this.#options;
    const key = keyOf(object.metadata);
    const known = this.get(key);
    // The echo of our own write, or listed anew.
    if (isSameState(known, object)) return known;
    try {
      const tidy = this.#tidy(object);
      const kept = transform ? transform(tidy) : (tidy as T);
      // An index that cannot cope with the object shall fail here, not in the middle of a list.
      for (const valuesOf of Object.values(indexes)) valuesOf(kept);
      return kept;
    } catch (error) {
      this.#report("an object could not be taken into the cache", key, error);
      return known;
    }
  }

  #tell(changes: readonly Change<T>[]): void {
    for (const change of changes) {
      for (const listener of [...this.#listeners]) {
        try {
          listener(change);
        } catch (error) {
          this.#report("a listener of the cache failed", change.key, error);
        }
      }
    }
  }

  #report(message: string, key: string, error: unknown): void {
    cacheListenerErrors.inc({ cache: this.name });
    this.#options.log?.error(message, { cache: this.name, key, error });
  }

  #heard(): void {
    this.#lastHeardAt = Date.now();
    if (!this.#failing) return;
    this.#failing = undefined;
    this.#options.log?.info("watching again", { cache: this.name });
  }

  #failed(error: Error): void {
    cacheFailures.inc({ cache: this.name });
    // Said once per outage; how it goes on is in the health and the metrics.
    if (!this.#failing) this.#options.log?.warn("watch interrupted, trying again", { cache: this.name, error });
    this.#failing = { error, since: this.#failing?.since ?? Date.now() };
  }
}
