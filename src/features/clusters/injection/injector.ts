import type { WatchCache } from "../../../kube/cache.ts";
import type { Kube } from "../../../kube/client.ts";
import { ApiError, isDenied, isTransient } from "../../../kube/errors.ts";
import type { Log } from "../../../kube/log.ts";
import { span } from "../../../kube/trace.ts";
import type { Owner } from "../../../ownership/holder.ts";
import type { Replication } from "../../../replication/replication.ts";
import type { Outcome } from "../../../runtime/outcome.ts";
import type { KeyedPass, KeyedWorker } from "../../../runtime/run-keyed.ts";
import type { Demand } from "../demand.ts";
import type { Recorded } from "../naming.ts";
import { classOf } from "../reachability.ts";
import { describeMissingVerb } from "../words.ts";
import { accountWay } from "./account-way.ts";
import type { InjectionState, Way } from "./mode.ts";
import { noInjection } from "./no-way.ts";
import { HeldByOthers, type PolicyVersion } from "./objects.ts";
import { policyWay } from "./policy-way.ts";

export interface Ending extends Pick<Outcome, "recheckAfterMs" | "retry"> {
  /** Nothing was done yet: what was known before still holds. */
  readonly isPutOff?: boolean;
}

/** What all ways have to go by. */
export interface WayOptions {
  /** Of the cluster; for caches. */
  readonly kube: Kube;
  readonly replication: Replication;
  readonly installation: Owner;
  /** Served by the cluster, whichever way is taken. */
  readonly version: PolicyVersion | undefined;
  readonly log: Log;
  demand(): Demand;
}

/** What is done with caches of any kind. */
export type AnyCache = Pick<WatchCache, "name" | "start" | "synced" | "isSynced" | "health" | "lastHeardAt"> &
  AsyncDisposable;

/** One way of injection at work. */
export interface WorkingWay {
  readonly caches: readonly AnyCache[];
  recorded(): Recorded;
  /** Keys of everything there is to do. */
  keys(): Iterable<string>;
  begin(wake: (key: string) => void): () => void;
  pass(key: string, pass: KeyedPass): Promise<Ending>;
  state(): InjectionState;
}

/** The key of what is not about one account. */
export const wholeCluster = "cluster";

interface InjectorOptions extends WayOptions {
  readonly way: Way;
  /** The state may have changed. */
  onChange(): void;
}

/** Gives the names of copies to the Pods of one cluster. */
export class Injector {
  readonly worker: KeyedWorker;
  readonly caches: readonly AnyCache[];
  /** Resolves once the first pass over the whole has come to its end, good or bad. */
  readonly begun: Promise<void>;
  readonly #options: InjectorOptions;
  readonly #way: WorkingWay;
  readonly #failures = new Map<string, InjectionState>();
  #wake: (key: string) => void = () => {};

  constructor(options: InjectorOptions) {
    this.#options = options;
    this.#way = workingWay(options);
    this.caches = this.#way.caches;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.begun = promise;
    const { copies, namespaces } = options.replication;
    this.worker = {
      name: "injection",
      caches: [copies, namespaces, ...this.caches],
      begin: (wake) => this.#begin(wake),
      keys: () => [wholeCluster, ...this.#way.keys()],
      pass: (key, pass) => this.#pass(key, pass).finally(resolve),
    };
  }

  recorded(): Recorded {
    return this.#way.recorded();
  }

  /** Names may have changed. */
  wake(): void {
    for (const key of [wholeCluster, ...this.#way.keys()]) this.#wake(key);
  }

  state(): InjectionState {
    const [failure = this.#refusedCache()] = this.#failures.values();
    return failure ?? (this.#options.demand().isSettled ? this.#way.state() : { kind: "pending" });
  }

  #begin(wake: (key: string) => void): () => void {
    this.#wake = wake;
    const stop = this.#way.begin(wake);
    return () => {
      this.#wake = () => {};
      stop();
    };
  }

  #pass(key: string, pass: KeyedPass): Promise<Ending> {
    return span("clusters.pass", { key }, () => span("inject", { key }, () => this.#inject(key, pass)));
  }

  async #inject(key: string, pass: KeyedPass): Promise<Ending> {
    try {
      const ending = await this.#way.pass(key, pass);
      if (!ending.isPutOff) this.#settle(key, undefined);
      return ending;
    } catch (error) {
      const failure = failureOf(error);
      if (!failure) throw error;
      if (!this.#failures.has(key)) pass.log.warn("Pods cannot be given their pull secrets", { error });
      this.#settle(key, failure);
      return { recheckAfterMs: key === wholeCluster ? recheckMs.cluster : recheckMs.account };
    }
  }

  #settle(key: string, failure: InjectionState | undefined): void {
    if (failure) this.#failures.set(key, failure);
    else this.#failures.delete(key);
    if (key === wholeCluster) this.#options.demand().noteSettled();
    this.#options.onChange();
  }

  /** What may not even be looked at. */
  #refusedCache(): InjectionState | undefined {
    return this.caches.map(({ health }) => refusedWatch(health.failing?.error)).find((each) => each !== undefined);
  }
}

/** Somebody was quicker: the next look tells. */
const passing = ["Conflict", "AlreadyExists", "NotFound", "Expired", "Gone"];
/** Somebody has to give a right, or give way. Of accounts there may be thousands. */
const recheckMs = { cluster: 60_000, account: 600_000 };

type Failed = Extract<InjectionState, { kind: "failed" }>;

/** What somebody has to change; undefined for what passes by itself. */
export function failureOf(error: unknown): Failed | undefined {
  if (error instanceof HeldByOthers) return { kind: "failed", reason: "Collision", message: error.message };
  if (!(error instanceof ApiError) || isTransient(error) || passing.includes(error.reason)) return undefined;
  const missing = describeMissingVerb(error);
  if (missing !== undefined) return { kind: "failed", reason: "Forbidden", message: missing };
  if (!isDenied(error) && error.status >= 500) return undefined;
  return { kind: "failed", reason: "TargetRefused", message: error.message };
}

/** The same of a watch. A server's words about what it was merely asked may be anything, credentials included. */
export function refusedWatch(error: unknown): Failed | undefined {
  const failure = failureOf(error);
  return failure?.reason === "TargetRefused"
    ? { ...failure, message: `a watch is refused: ${classOf(error)}` }
    : failure;
}

function workingWay(options: InjectorOptions): WorkingWay {
  const { way } = options;
  switch (way.kind) {
    case "Policy":
      return policyWay(way.version, options);
    case "ServiceAccount":
      return accountWay(options);
    case "None":
      return noInjection(options);
    case "unavailable":
      return {
        ...noInjection(options),
        keys: () => [],
        pass: async () => ({}),
        state: () => ({ kind: "failed", reason: "ModeNotAvailable", message: way.message }),
      };
  }
}
