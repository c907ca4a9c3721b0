import { isDeepStrictEqual } from "node:util";
import type { KubeObject } from "../api/objects.ts";
import { type Change, WatchCache } from "../kube/cache.ts";
import type { Kube } from "../kube/client.ts";
import type { Log } from "../kube/log.ts";
import type { Controller } from "./controller.ts";
import type { Election } from "./lease.ts";
import type { Recorder } from "./recorder.ts";
import { type PassContext, runPass } from "./run-pass.ts";
import { statusOf } from "./status.ts";
import { type Job, Terms } from "./terms.ts";

interface RunOptions {
  /** Not fenced: each pass gets a view that is. */
  readonly kube: Kube;
  readonly election: Election;
  readonly recorder: Recorder;
  readonly log: Log;
  /** Its abort ends the controller; the passes in flight may finish. */
  readonly signal: AbortSignal;
}

export interface RunningController {
  readonly name: string;
  /** Everything that passes look at is in the caches. */
  readonly isSynced: boolean;
  /** The cache of own objects, for health checks; work by keys has none. */
  readonly objects?: Pick<WatchCache, "name" | "isSynced" | "health">;
  /** How long there has been work without any pass coming to its end. */
  stalledMs(): number;
  /** Resolves once everything has ended after the abort. */
  readonly closed: Promise<void>;
}

/** Runs a controller until the signal: warm caches on every replica, passes on the leader only. */
export function runController<T extends KubeObject>(controller: Controller<T>, options: RunOptions): RunningController {
  return new Run(controller, options);
}

class Run<T extends KubeObject> implements RunningController {
  readonly name: string;
  readonly objects: WatchCache<T>;
  readonly closed: Promise<void>;
  readonly #controller: Controller<T>;
  readonly #recorder: Recorder;
  readonly #log: Log;
  readonly #terms: Terms<T>;
  /** Objects that vanished during a pass over them: told when it has ended. */
  readonly #departed = new Map<string, T[]>();

  constructor(controller: Controller<T>, { kube, election, recorder, log, signal }: RunOptions) {
    const { name, resource, keepManagedFields, transform, indexes, concurrency, watches = [] } = controller;
    this.name = name;
    this.#controller = controller;
    this.#recorder = recorder;
    this.#log = log.with({ controller: name });
    this.objects = new WatchCache<T>({ kube, resource, keepManagedFields, transform, indexes, log: this.#log });
    const mayWrite = () => election.isLeader();
    const context: PassContext<T> = { controller, objects: this.objects, kube, mayWrite, recorder, log: this.#log };
    const job: Job<T> = {
      ...{ name, concurrency },
      caches: [this.objects, ...watches.map(({ cache }) => cache)],
      begin: () => this.#begin(),
      keys: () => this.objects.keys(),
      find: (key) => this.objects.get(key),
      pass: (object, term) => runPass(object, context, { signal: term }),
      ended: (key) => this.#tellDeparted(key),
    };
    this.#terms = new Terms(job, election);
    this.closed = this.#live(signal);
  }

  get isSynced(): boolean {
    return this.#terms.isSynced;
  }

  stalledMs(): number {
    return this.#terms.stalledMs();
  }

  async #live(signal: AbortSignal): Promise<void> {
    try {
      this.#controller.onObjects?.(this.objects);
      this.objects.subscribe((change) => this.#onOwnChange(change));
      this.objects.start();
      await this.#terms.run(signal);
    } finally {
      await this.objects[Symbol.asyncDispose]();
    }
  }

  /** A standby is not even asked what a change wakes: whoever comes to lead looks at everything. */
  #begin(): () => void {
    const { watches = [], wakers = [] } = this.#controller;
    const wake = (key: string) => this.#terms.wake(key);
    const stops = [
      ...watches.map((watch) =>
        watch.cache.subscribe((change) => {
          for (const key of watch.wakes(change)) wake(key);
        }),
      ),
      ...wakers.map((waker) => waker(wake)),
    ];
    return () => {
      for (const stop of stops) stop();
    };
  }

  #onOwnChange({ key, before, after }: Change<T>): void {
    if (before && before.metadata.uid !== after?.metadata.uid) this.#depart(key, before);
    if (after && isWorthAPass(before, after)) this.#terms.wake(key);
  }

  #depart(key: string, last: T): void {
    this.#terms.drop(key);
    this.#recorder.forget(last.metadata.uid);
    if (this.#terms.isRunning(key)) this.#departed.set(key, [...(this.#departed.get(key) ?? []), last]);
    else this.#tellGone(key, last);
  }

  #tellDeparted(key: string): void {
    const departed = this.#departed.get(key) ?? [];
    this.#departed.delete(key);
    for (const last of departed) this.#tellGone(key, last);
  }

  #tellGone(key: string, last: T): void {
    try {
      this.#controller.gone?.(key, last);
    } catch (error) {
      this.#log.error("a controller failed to take leave of an object", { object: key, error });
    }
  }
}

/** Did anything change that a controller acts on? Its own writes wake nobody; a status that others wrote is mended. */
export function isWorthAPass(before: KubeObject | undefined, after: KubeObject): boolean {
  if (!before || before.metadata.uid !== after.metadata.uid) return true;
  // A kind that does not count generations: every change may matter.
  if (after.metadata.generation === undefined) return true;
  return !isDeepStrictEqual([actedOn(before), statusOf(before)], [actedOn(after), statusOf(after)]);
}

function actedOn({ metadata }: KubeObject): readonly unknown[] {
  const { generation, deletionTimestamp, annotations = {}, labels = {}, finalizers = [] } = metadata;
  return [generation, deletionTimestamp, annotations, labels, finalizers];
}
