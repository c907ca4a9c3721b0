import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { type KubeObject, keyOf } from "../api/objects.ts";
import { type Change, WatchCache } from "../kube/cache.ts";
import type { Kube } from "../kube/client.ts";
import type { Log } from "../kube/log.ts";
import { span } from "../kube/trace.ts";
import type { Controller } from "./controller.ts";
import type { Election } from "./lease.ts";
import { passes, passSeconds, showQueue } from "./metrics.ts";
import { WorkQueue } from "./queue.ts";
import type { Recorder } from "./recorder.ts";
import { type Ending, type PassContext, runPass } from "./run-pass.ts";
import { statusOf } from "./status.ts";

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
  /** Own objects and everything watched are in the caches. */
  readonly isSynced: boolean;
  /** The cache of own objects, for health checks. */
  readonly objects: Pick<WatchCache, "name" | "isSynced" | "health">;
  /** How long there has been work without any pass coming to its end. */
  stalledMs(): number;
  /** Resolves once everything has ended after the abort. */
  readonly closed: Promise<void>;
}

const defaultConcurrency = 8;
const stopGraceMs = 10_000;

/** Runs a controller until the signal: warm caches on every replica, passes on the leader only. */
export function runController<T extends KubeObject>(controller: Controller<T>, options: RunOptions): RunningController {
  return new Run(controller, options);
}

class Run<T extends KubeObject> implements RunningController {
  readonly name: string;
  readonly objects: WatchCache<T>;
  readonly closed: Promise<void>;
  readonly #controller: Controller<T>;
  readonly #election: Election;
  readonly #recorder: Recorder;
  readonly #log: Log;
  readonly #context: PassContext<T>;
  readonly #queue: WorkQueue;
  /** What is to be undone in the end. */
  readonly #stops: (() => void)[];
  /** Objects that vanished during a pass over them: told when it has ended. */
  readonly #departed = new Map<string, T[]>();
  /** From gaining leadership to losing it; aborted then. */
  #term: AbortController | undefined;
  #stopWakers: readonly (() => void)[] = [];
  #isSynced = false;

  constructor(controller: Controller<T>, { kube, election, recorder, log, signal }: RunOptions) {
    const { name, resource, transform, indexes, concurrency = defaultConcurrency } = controller;
    this.name = name;
    this.#controller = controller;
    this.#election = election;
    this.#recorder = recorder;
    this.#log = log.with({ controller: name });
    this.objects = new WatchCache<T>({ kube, resource, transform, indexes, log: this.#log });
    const mayWrite = () => election.isLeader();
    this.#context = { controller, objects: this.objects, kube, mayWrite, recorder, log: this.#log };
    this.#queue = new WorkQueue({ concurrency, work: (key) => this.#work(key) });
    this.#stops = [showQueue(name, () => this.#queue.depth)];
    this.closed = this.#live(signal);
  }

  get isSynced(): boolean {
    return this.#isSynced;
  }

  stalledMs(): number {
    return this.#queue.stalledMs();
  }

  async #live(signal: AbortSignal): Promise<void> {
    const { watches = [] } = this.#controller;
    this.#controller.onObjects?.(this.objects);
    this.#stops.push(this.objects.subscribe((change) => this.#onOwnChange(change)));
    for (const watch of watches) {
      const wakeAll = (change: Change<KubeObject>) => {
        // A standby does not even ask: whoever comes to lead looks at everything.
        if (!this.#term) return;
        for (const key of watch.wakes(change)) this.#wake(key);
      };
      this.#stops.push(watch.cache.subscribe(wakeAll));
    }
    this.objects.start();
    try {
      await Promise.all([this.objects, ...watches.map(({ cache }) => cache)].map((cache) => cache.synced({ signal })));
      this.#isSynced = true;
      this.#stops.push(this.#election.onChange((isLeader) => (isLeader ? this.#beginTerm() : this.#endTerm())));
      if (this.#election.isLeader()) this.#beginTerm();
      await aborted(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      await this.#shutDown();
    }
  }

  #beginTerm(): void {
    if (this.#term) return;
    this.#term = new AbortController();
    const { wakers = [] } = this.#controller;
    this.#stopWakers = wakers.map((waker) => waker((key) => this.#wake(key)));
    for (const key of this.objects.keys()) this.#queue.add(key, { priority: "recheck" });
  }

  #endTerm(): void {
    this.#term?.abort();
    this.#term = undefined;
    this.#queue.clear();
    this.#endWakers();
  }

  #endWakers(): void {
    for (const stop of this.#stopWakers) stop();
  }

  #wake(key: string): void {
    if (this.#term && this.objects.has(key)) this.#queue.add(key, { priority: "change" });
  }

  #onOwnChange({ key, before, after }: Change<T>): void {
    if (before && before.metadata.uid !== after?.metadata.uid) this.#depart(key, before);
    if (after && isWorthAPass(before, after)) this.#wake(key);
  }

  #depart(key: string, last: T): void {
    this.#queue.drop(key);
    this.#recorder.forget(last.metadata.uid);
    if (this.#queue.isRunning(key)) this.#departed.set(key, [...(this.#departed.get(key) ?? []), last]);
    else this.#tellGone(key, last);
  }

  #tellGone(key: string, last: T): void {
    try {
      this.#controller.gone?.(key, last);
    } catch (error) {
      this.#log.error("a controller failed to take leave of an object", { object: key, error });
    }
  }

  async #work(key: string): Promise<void> {
    const term = this.#term;
    const object = this.objects.get(key);
    const ending = term && object ? await this.#pass(object, term.signal) : undefined;
    const departed = this.#departed.get(key) ?? [];
    this.#departed.delete(key);
    for (const last of departed) this.#tellGone(key, last);
    // A pass that outlived its term may have set a waker going again.
    if (!this.#term) this.#endWakers();
    if (ending && term === this.#term && this.objects.has(key)) this.#schedule(key, ending);
  }

  async #pass(object: T, signal: AbortSignal): Promise<Ending> {
    const stopTimer = passSeconds.startTimer({ controller: this.name });
    const attributes = { controller: this.name, object: keyOf(object.metadata) };
    const ending = await span("pass", attributes, () => runPass(object, this.#context, { signal }));
    stopTimer();
    passes.inc({ controller: this.name, result: ending.kind });
    return ending;
  }

  #schedule(key: string, ending: Ending): void {
    if (ending.kind !== "done") {
      this.#queue.retry(key);
      return;
    }
    this.#queue.forget(key);
    const { recheckAfterMs } = ending;
    if (recheckAfterMs !== undefined) this.#queue.add(key, { priority: "recheck", afterMs: recheckAfterMs });
  }

  async #shutDown(): Promise<void> {
    for (const stop of this.#stops) stop();
    this.#endWakers();
    const graceOver = new AbortController();
    const finished = this.#queue.stop().then(() => graceOver.abort());
    await sleep(stopGraceMs, undefined, { signal: graceOver.signal }).catch(() => undefined);
    this.#term?.abort();
    await finished;
    await this.objects[Symbol.asyncDispose]();
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

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
