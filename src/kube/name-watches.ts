import { setTimeout as sleep } from "node:timers/promises";
import { type KubeObject, keyOf, type Ref, type Resource } from "../api/objects.ts";
import { WatchCache } from "./cache.ts";
import type { Kube } from "./client.ts";
import type { Log } from "./log.ts";
import { isSameState } from "./resource-version.ts";

interface NameWatchesOptions {
  readonly kube: Kube;
  readonly resource: Resource;
  readonly log?: Log | undefined;
  /** Each costs a connection and a quarter of a megabyte. */
  readonly maxWatches?: number | undefined;
}

/** The metadata of the object; undefined while there is none. */
type NameListener = (object: KubeObject | undefined) => void;

interface Followed {
  readonly ref: Ref;
  readonly listeners: Set<NameListener>;
  /** Undefined for a name that is looked up in turn instead. */
  watch: WatchCache | undefined;
  /** Undefined until the first look. */
  found: { readonly object: KubeObject | undefined } | undefined;
}

const lookEveryMs = 250;

/** Follows single objects by name, whether they exist or not, without seeing any other. */
export class NameWatches implements AsyncDisposable {
  readonly #options: NameWatchesOptions;
  readonly #maxWatches: number;
  readonly #followed = new Map<string, Followed>();
  readonly #closing = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  readonly #watchLog: Log | undefined;
  #looking: Promise<void> | undefined;

  constructor(options: NameWatchesOptions) {
    this.#options = options;
    this.#watchLog = options.log && this.#speakingForAll(options.log);
    this.#maxWatches = options.maxWatches ?? 256;
  }

  /** The listener is told what is there as soon as that is known, and then of every change, never before this returns. */
  follow(ref: Ref, listener: NameListener): () => void {
    if (this.#stopping.signal.aborted) return () => {};
    const key = keyOf(ref);
    const followed = this.#followed.get(key) ?? this.#begin(key, ref);
    // A function of its own, so that one listener given twice counts twice.
    const tell: NameListener = (object) => listener(object);
    followed.listeners.add(tell);
    if (followed.found) queueMicrotask(() => this.#tellFirst(followed, tell));
    return () => {
      if (followed.listeners.delete(tell) && followed.listeners.size === 0) this.#end(key, followed);
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    for (const [key, followed] of this.#followed) this.#end(key, followed);
    await Promise.all([...this.#closing, this.#looking]);
  }

  #begin(key: string, ref: Ref): Followed {
    const followed: Followed = { ref, listeners: new Set(), watch: undefined, found: undefined };
    this.#followed.set(key, followed);
    this.#arrange();
    return followed;
  }

  #end(key: string, { watch }: Followed): void {
    this.#followed.delete(key);
    if (!watch) return;
    const closing = watch[Symbol.asyncDispose]().finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
    this.#arrange();
  }

  /** Gives free watches to names that have none; the rest are looked up in turn. */
  #arrange(): void {
    if (this.#stopping.signal.aborted) return;
    const without = [...this.#followed.values()].filter(({ watch }) => !watch);
    const free = this.#maxWatches - (this.#followed.size - without.length);
    for (const followed of without.slice(0, Math.max(0, free))) this.#watch(followed);
    if (without.length > free) this.#looking ??= this.#lookInTurn(this.#stopping.signal);
  }

  #watch(followed: Followed): void {
    const { kube, resource } = this.#options;
    const { ref } = followed;
    const watch = new WatchCache({
      ...{ kube, resource, log: this.#watchLog, metadataOnly: true },
      selection: { namespace: ref.namespace, fieldSelector: `metadata.name=${ref.name}` },
      name: `${resource.plural} by name`,
    });
    followed.watch = watch;
    watch.subscribe(({ after }) => this.#found(followed, after));
    // An object that does not exist is no change, but the first answer all the same.
    void watch.synced().then(
      () => this.#found(followed, watch.get(keyOf(ref))),
      () => {}, // closed before
    );
    watch.start();
  }

  /** An outage breaks all watches at once: the first to break and the last to mend speak for them. */
  #speakingForAll(log: Log): Log {
    const isAnyFailing = () => [...this.#followed.values()].some(({ watch }) => watch?.health.failing);
    return {
      ...log,
      info: (message, fields) => (isAnyFailing() ? log.debug(message, fields) : log.info(message, fields)),
      warn: (message, fields) => (isAnyFailing() ? log.debug(message, fields) : log.warn(message, fields)),
    };
  }

  async #lookInTurn(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const surplus = [...this.#followed.values()].filter(({ watch }) => !watch);
      if (surplus.length === 0) break;
      for (const followed of surplus) {
        await sleep(lookEveryMs, undefined, { signal }).catch(() => {});
        if (!signal.aborted && followed.listeners.size > 0 && !followed.watch) await this.#look(followed, signal);
      }
    }
    this.#looking = undefined;
  }

  async #look(followed: Followed, signal: AbortSignal): Promise<void> {
    const { kube, resource, log } = this.#options;
    try {
      const object = await kube.getMetadata(resource, followed.ref, { signal });
      if (!followed.watch) this.#found(followed, object);
    } catch (error) {
      if (!signal.aborted) log?.debug("look by name failed, trying again", { key: keyOf(followed.ref), error });
    }
  }

  #found(followed: Followed, object: KubeObject | undefined): void {
    const { found } = followed;
    if (found && isSameState(found.object, object)) return;
    followed.found = { object };
    for (const tell of [...followed.listeners]) this.#tell(followed, tell);
  }

  #tellFirst(followed: Followed, tell: NameListener): void {
    if (followed.listeners.has(tell)) this.#tell(followed, tell);
  }

  #tell({ found, ref }: Followed, tell: NameListener): void {
    try {
      tell(found?.object);
    } catch (error) {
      this.#options.log?.error("a listener of a name failed", { key: keyOf(ref), error });
    }
  }
}
