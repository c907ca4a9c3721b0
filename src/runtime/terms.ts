import { setTimeout as sleep } from "node:timers/promises";
import { detached, span } from "../kube/trace.ts";
import type { Watched } from "./controller.ts";
import type { Leadership } from "./lease.ts";
import { passes, passSeconds, showQueue } from "./metrics.ts";
import { WorkQueue } from "./queue.ts";
import type { Ending } from "./timed-pass.ts";

/** What passes are made over, each `T` found by its key. */
export interface Job<T> {
  /** Label in metrics and traces. */
  readonly name: string;
  readonly concurrency?: number | undefined;
  /** Passes begin once all are synced. */
  readonly caches: readonly Pick<Watched, "synced">[];
  /** Called when this replica comes to lead. Returns what ends it, asked again after passes that outlive the term. */
  begin(): () => void;
  /** All there is, when a term begins. */
  keys(): Iterable<string>;
  /** Undefined for what needs no pass any more. */
  find(key: string): T | undefined;
  pass(found: T, signal: AbortSignal): Promise<Ending>;
  /** No pass over this key is running any more. */
  ended?(key: string): void;
}

const defaultConcurrency = 8;
const stopGraceMs = 10_000;

/** Runs passes for as long as this replica leads, again and again, until told to stop. */
export class Terms<T> {
  readonly #job: Job<T>;
  readonly #election: Leadership;
  readonly #queue: WorkQueue;
  /** From gaining leadership to losing it; aborted then. */
  #term: AbortController | undefined;
  #end: () => void = () => {};
  #isSynced = false;

  constructor(job: Job<T>, election: Leadership) {
    this.#job = job;
    this.#election = election;
    const { concurrency = defaultConcurrency } = job;
    this.#queue = new WorkQueue({ concurrency, work: (key) => this.#work(key) });
  }

  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** How long there has been work without any pass coming to its end. */
  stalledMs(): number {
    return this.#queue.stalledMs();
  }

  /** A standby does nothing: whoever comes to lead looks at everything. */
  wake(key: string): void {
    if (this.#term && this.#job.find(key) !== undefined) this.#queue.add(key, { priority: "change" });
  }

  /** Takes a key out altogether; a pass that is running ends undisturbed. */
  drop(key: string): void {
    this.#queue.drop(key);
  }

  isRunning(key: string): boolean {
    return this.#queue.isRunning(key);
  }

  /** Until the abort; the passes in flight may finish. */
  async run(signal: AbortSignal): Promise<void> {
    const stops = [showQueue(this.#job.name, () => this.#queue.depth)];
    try {
      await Promise.all(this.#job.caches.map((cache) => cache.synced({ signal })));
      this.#isSynced = true;
      stops.push(this.#election.onChange((isLeader) => (isLeader ? this.#beginTerm() : this.#endTerm())));
      if (this.#election.isLeader()) this.#beginTerm();
      await aborted(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      for (const stop of stops) stop();
      await this.#shutDown();
    }
  }

  #beginTerm(): void {
    if (this.#term) return;
    this.#term = new AbortController();
    this.#end = this.#job.begin();
    for (const key of this.#job.keys()) this.#queue.add(key, { priority: "recheck" });
  }

  #endTerm(): void {
    this.#term?.abort();
    this.#term = undefined;
    this.#queue.clear();
    this.#end();
  }

  async #work(key: string): Promise<void> {
    const term = this.#term;
    const found = this.#job.find(key);
    const ending = term && found !== undefined ? await this.#pass(key, found, term.signal) : undefined;
    this.#job.ended?.(key);
    // A pass that outlived its term may have set something going again.
    if (!this.#term) this.#end();
    if (ending && term === this.#term && this.#job.find(key) !== undefined) this.#schedule(key, ending);
  }

  async #pass(key: string, found: T, signal: AbortSignal): Promise<Ending> {
    const { name } = this.#job;
    const stopTimer = passSeconds.startTimer({ controller: name });
    const ending = await detached(() =>
      span("pass", { controller: name, object: key }, () => this.#job.pass(found, signal)),
    );
    stopTimer();
    passes.inc({ controller: name, result: ending.kind });
    return ending;
  }

  #schedule(key: string, ending: Ending): void {
    if (ending.kind === "done") this.#queue.forget(key);
    else this.#queue.retry(key);
    const recheckAfterMs = "recheckAfterMs" in ending ? ending.recheckAfterMs : undefined;
    if (recheckAfterMs !== undefined) this.#queue.add(key, { priority: "recheck", afterMs: recheckAfterMs });
  }

  async #shutDown(): Promise<void> {
    this.#end();
    const graceOver = new AbortController();
    const finished = this.#queue.stop().then(() => graceOver.abort());
    await sleep(stopGraceMs, undefined, { signal: graceOver.signal }).catch(() => undefined);
    this.#term?.abort();
    await finished;
    // The last passes may have set something going again.
    this.#end();
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
