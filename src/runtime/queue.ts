import { backoffMs } from "../kube/backoff.ts";

export type Priority = "change" | "recheck";

interface AddOptions {
  readonly priority: Priority;
  /** Not before this much time has passed. Of several waits for one key the shortest counts. */
  readonly afterMs?: number;
}

interface QueueOptions {
  readonly concurrency: number;
  /** Handles one key. It deals with its own failures: the queue only waits for its end. */
  readonly work: (key: string) => Promise<void>;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
  readonly random?: () => number;
}

interface Later {
  readonly dueMs: number;
  readonly timer: NodeJS.Timeout;
}

const retryBackoff = { baseMs: 500, maxMs: 30_000 };
/** A longer timer would fire at once. */
const maxTimerMs = 2 ** 31 - 1;

/** Keys waiting for a pass: each at most once, never two passes over one key, changes before rechecks. */
export class WorkQueue {
  readonly #options: QueueOptions;
  readonly #now: () => number;
  readonly #ready: Readonly<Record<Priority, Set<string>>> = { change: new Set(), recheck: new Set() };
  readonly #later = new Map<string, Later>();
  readonly #running = new Map<string, Promise<void>>();
  /** Added while a pass over them was running. */
  readonly #again = new Map<string, Priority>();
  readonly #attempts = new Map<string, number>();
  #stopped = false;
  #progressMs = 0;

  constructor(options: QueueOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Keys that could run now. */
  get depth(): number {
    return this.#ready.change.size + this.#ready.recheck.size + this.#again.size;
  }

  get running(): number {
    return this.#running.size;
  }

  isRunning(key: string): boolean {
    return this.#running.has(key);
  }

  /** How long there has been work without any pass coming to its end. */
  stalledMs(): number {
    return this.depth + this.running === 0 ? 0 : this.#now() - this.#progressMs;
  }

  add(key: string, { priority, afterMs = 0 }: AddOptions): void {
    if (this.#stopped) return;
    if (afterMs > 0) this.#addLater(key, priority, afterMs);
    else this.#addNow(key, priority);
  }

  /** Adds a key whose pass failed, each time after a longer wait. */
  retry(key: string): void {
    const attempt = this.#attempts.get(key) ?? 0;
    this.#attempts.set(key, attempt + 1);
    this.add(key, { priority: "recheck", afterMs: backoffMs(attempt, retryBackoff, this.#options.random) });
  }

  /** The next retry of this key waits as shortly as a first one. */
  forget(key: string): void {
    this.#attempts.delete(key);
  }

  /** Takes a key out altogether; a pass that is running ends undisturbed. */
  drop(key: string): void {
    this.#cancelLater(key);
    this.#again.delete(key);
    this.#ready.change.delete(key);
    this.#ready.recheck.delete(key);
    this.forget(key);
  }

  /** Drops every key. */
  clear(): void {
    for (const key of [...this.#later.keys()]) this.#cancelLater(key);
    this.#again.clear();
    this.#ready.change.clear();
    this.#ready.recheck.clear();
    this.#attempts.clear();
  }

  /** Starts nothing any more; resolves when the running passes have ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.clear();
    await Promise.all(this.#running.values());
  }

  #addNow(key: string, priority: Priority): void {
    if (this.depth + this.running === 0) this.#progressMs = this.#now();
    if (this.#running.has(key)) {
      this.#again.set(key, graver(priority, this.#again.get(key)));
      return;
    }
    this.#enqueue(key, priority);
    this.#startWork();
  }

  #addLater(key: string, priority: Priority, afterMs: number): void {
    const dueMs = this.#now() + afterMs;
    const waiting = this.#later.get(key);
    if (waiting && waiting.dueMs <= dueMs) return;
    this.#cancelLater(key);
    const timer = setTimeout(
      () => {
        this.#later.delete(key);
        this.add(key, { priority });
      },
      Math.min(afterMs, maxTimerMs),
    );
    this.#later.set(key, { dueMs, timer });
  }

  #cancelLater(key: string): void {
    clearTimeout(this.#later.get(key)?.timer);
    this.#later.delete(key);
  }

  #enqueue(key: string, priority: Priority): void {
    if (this.#ready.change.has(key)) return;
    if (priority === "change") this.#ready.recheck.delete(key);
    this.#ready[priority].add(key);
  }

  #startWork(): void {
    while (!this.#stopped && this.#running.size < this.#options.concurrency) {
      const key = first(this.#ready.change) ?? first(this.#ready.recheck);
      if (key === undefined) return;
      this.#ready.change.delete(key);
      this.#ready.recheck.delete(key);
      // This pass does what the waiting recheck would have done; its end sets the next one.
      this.#cancelLater(key);
      this.#running.set(key, this.#run(key));
    }
  }

  async #run(key: string): Promise<void> {
    // A pass never runs inside add(): whoever adds keys in a loop would otherwise see passes start in between.
    await Promise.resolve();
    try {
      await this.#options.work(key);
    } finally {
      this.#running.delete(key);
      this.#progressMs = this.#now();
      const again = this.#again.get(key);
      this.#again.delete(key);
      if (again && !this.#stopped) this.#enqueue(key, again);
      this.#startWork();
    }
  }
}

function first(keys: ReadonlySet<string>): string | undefined {
  return keys.values().next().value;
}

function graver(a: Priority, b: Priority | undefined): Priority {
  return b === "change" ? b : a;
}
