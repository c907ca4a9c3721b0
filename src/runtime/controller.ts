import type { KubeObject, Resource } from "../api/objects.ts";
import type { Change, WatchCache } from "../kube/cache.ts";
import type { Call, Kube } from "../kube/client.ts";
import type { Log } from "../kube/log.ts";
import type { Indexes } from "../kube/store.ts";
import type { Finalized, Outcome } from "./outcome.ts";

/** What a pass is given besides the object. */
export interface Pass {
  /** Aborted at the deadline and when leadership is lost: then nobody waits for this pass any more. */
  readonly signal: AbortSignal;
  /** Writes only for as long as this pass may. */
  readonly kube: Kube;
  readonly log: Log;
  /** Writes an interim status (the whole of it, as in `Outcome`) if it differs, for a pass that takes long. */
  report(status: object): Promise<void>;
}

export interface Finalizer<T> {
  readonly name: string;
  /** Does this object need it now? One that is no longer wanted stays until `finalize` removes it. */
  wanted(object: T): boolean;
}

/** The part of a cache that wakes; any `WatchCache` fits. */
export interface Watched {
  synced(call?: Call): Promise<void>;
  subscribe(listener: (change: Change<KubeObject>) => void): () => void;
}

interface Watch {
  /** Started and disposed by whoever made it; passes begin once it is synced. */
  readonly cache: Watched;
  /** Keys of the objects that this change concerns. */
  wakes(change: Change<KubeObject>): Iterable<string>;
}

/** What is particular to one kind. Queue, status, finalizers, leadership and metrics are the runtime's. */
export interface Controller<T extends KubeObject> {
  /** Label in logs and metrics, e.g. `secretsync`. */
  readonly name: string;
  readonly resource: Resource;
  readonly finalizers?: readonly Finalizer<T>[];
  /** Whether `transform` is to see managed fields; where there is none they are cached. */
  readonly keepManagedFields?: boolean;
  /** Shapes objects before they are cached. It must keep `metadata` and `status`. */
  readonly transform?: (object: KubeObject) => T;
  /** Indexes of the cache of own objects. */
  readonly indexes?: Indexes<T>;
  /** Passes at once, over different objects. */
  readonly concurrency?: number;
  readonly passTimeoutMs?: number;
  readonly watches?: readonly Watch[];
  /**
   * Anything else that wakes objects. Each is started when this replica comes to lead, and returns what stops
   * it (asked again after passes that outlive the term).
   */
  readonly wakers?: readonly ((wake: (key: string) => void) => () => void)[];

  /** Hands over the cache of own objects, before it starts. */
  onObjects?(objects: WatchCache<T>): void;
  /** Is given the object, not the event, and may run twice without harm. */
  reconcile(object: T, pass: Pass): Promise<Outcome>;
  /** Runs instead of `reconcile` while an object is being deleted and holds a finalizer of this controller. */
  finalize?(object: T, pass: Pass): Promise<Finalized>;
  /** What to show for a pass that threw; it is retried with back-off in any case. */
  onError?(object: T, error: unknown): Outcome | undefined;
  /** The object vanished and no pass over it is running: drop its metrics, wake others. */
  gone?(key: string, last: T): void;
}
