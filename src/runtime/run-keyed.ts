import type { Kube } from "../kube/client.ts";
import type { Log } from "../kube/log.ts";
import type { Watched } from "./controller.ts";
import type { Leadership } from "./lease.ts";
import type { Outcome } from "./outcome.ts";
import type { RunningController } from "./run-controller.ts";
import { Terms } from "./terms.ts";
import { endingOf, timedPass } from "./timed-pass.ts";

/** What a pass is given besides the key. */
export interface KeyedPass {
  /** Aborted at the deadline and when leadership is lost: then nobody waits for this pass any more. */
  readonly signal: AbortSignal;
  /** Writes only for as long as this pass may. */
  readonly kube: Kube;
  readonly log: Log;
}

/** Work by keys that are no objects of a kind of ours, for the leader alone. A key may be passed over twice without harm. */
export interface KeyedWorker {
  /** Label in logs and metrics, e.g. `pull-secrets`. */
  readonly name: string;
  /** Passes at once, over different keys. */
  readonly concurrency?: number;
  /** Started and disposed by whoever made them; passes begin once all are synced. */
  readonly caches: readonly Pick<Watched, "synced">[];
  /**
   * Called when this replica comes to lead; returns what ends it (asked again after passes that outlive the term).
   * `wake` is usable until then and does nothing afterwards.
   */
  begin(wake: (key: string) => void): () => void;
  /** Everything to look at when a term begins. */
  keys(): Iterable<string>;
  /** What it throws is logged and tried again with back-off. */
  pass(key: string, pass: KeyedPass): Promise<Pick<Outcome, "recheckAfterMs" | "retry">>;
}

interface RunOptions {
  /** Not fenced: each pass gets a view that is. */
  readonly kube: Kube;
  readonly election: Leadership;
  readonly log: Log;
  /** Its abort ends the work; the passes in flight may finish. */
  readonly signal: AbortSignal;
}

/** Runs a worker until the signal. */
export function runKeyed(worker: KeyedWorker, options: RunOptions): RunningController {
  const { kube, election, signal } = options;
  const { name, concurrency, caches } = worker;
  const terms: Terms<string> = new Terms(
    {
      ...{ name, concurrency, caches },
      begin: () => worker.begin((key) => terms.wake(key)),
      keys: () => worker.keys(),
      find: (key) => key,
      pass: (key, term) => {
        const log = options.log.with({ controller: name, key });
        const act = async (within: AbortSignal) => {
          const fenced = kube.fencedBy(() => election.isLeader() && !within.aborted);
          return endingOf(await worker.pass(key, { signal: within, kube: fenced, log }));
        };
        return timedPass(act, { signal: term, log });
      },
    },
    election,
  );
  return {
    name,
    get isSynced() {
      return terms.isSynced;
    },
    stalledMs: () => terms.stalledMs(),
    closed: terms.run(signal),
  };
}
