import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Kube } from "../../kube/client.ts";
import type { Log } from "../../kube/log.ts";
import type { Owner } from "../../ownership/holder.ts";
import { PullSecrets } from "../../pullsecrets/pull-secrets.ts";
import type { Report } from "../../pullsecrets/report.ts";
import { startInspection } from "../../replication/inspection.ts";
import { openReplicationAway, type Replication } from "../../replication/replication.ts";
import { type Election, type Leadership, leadingWithin } from "../../runtime/lease.ts";
import { runKeyed } from "../../runtime/run-keyed.ts";
import { type Claims, Demand } from "./demand.ts";
import type { HomeAsker } from "./home-asker.ts";
import { type AnyCache, Injector } from "./injection/injector.ts";
import type { InjectionState, Way } from "./injection/mode.ts";
import type { PolicyVersion } from "./injection/objects.ts";

/** What every cluster is served from. */
export interface Home {
  readonly kube: Kube;
  readonly replication: Replication;
  readonly pullSecrets: PullSecrets;
  readonly asker: HomeAsker;
  readonly installation: Owner;
  readonly election: Election;
  readonly log: Log;
}

interface SessionOptions {
  readonly home: Home;
  /** Of the cluster; the home's own where it is the home. */
  readonly kube: Kube;
  readonly isHome: boolean;
  readonly way: Way;
  readonly version: PolicyVersion | undefined;
  readonly claims: Claims;
  readonly log: Log;
  /** There may be something new to tell. */
  onChange(): void;
}

/** The injection comes first, but what keeps it from coming does not keep the copies. */
const headStartMs = 5_000;

/** A cluster that is connected, at work: its caches, its copies, its injection. */
export class Session implements AsyncDisposable {
  readonly demand: Demand;
  readonly pullSecrets: PullSecrets;
  readonly replication: Replication;
  readonly #options: SessionOptions;
  readonly #injector: Injector;
  readonly #over = new AbortController();
  readonly #leading: Leadership;
  readonly #ends: (() => Promise<unknown>)[] = [];
  /** By source: what was last said about it that matters for names. */
  readonly #exceptions = new Map<string, string>();
  #inspectionError: unknown;

  constructor(options: SessionOptions) {
    const { home, kube, isHome, claims, way, version, log, onChange } = options;
    const { installation } = home;
    this.#options = options;
    this.#leading = leadingWithin(home.election, this.#over.signal);
    this.replication = isHome ? home.replication : openReplicationAway(kube, home.replication, log);
    this.pullSecrets = isHome
      ? home.pullSecrets
      : new PullSecrets({ kube, replication: this.replication, installation, log, home: home.kube });
    const demand = () => this.demand;
    this.#injector = new Injector({
      ...{ kube, replication: this.replication, installation, way, version, log, demand, onChange },
    });
    this.demand = new Demand(claims, {
      ...{ home: home.kube, replication: this.replication, installation, pullSecrets: this.pullSecrets },
      recorded: () => this.#injector.recorded(),
      begun: Promise.race([this.#injector.begun, sleep(headStartMs, undefined, { ref: false })]),
      onReport: (source) => {
        if (this.#isNewsForPods(source)) this.#injector.wake();
        onChange();
      },
    });
    if (isHome) this.#serveHome();
    else this.#serveAway();
    this.#run(this.#injector);
  }

  get injection(): InjectionState {
    return this.#injector.state();
  }

  /** Why the last look at the content of all copies failed. */
  get inspectionError(): unknown {
    return this.#inspectionError;
  }

  /** All caches that are this session's own. */
  get caches(): readonly AnyCache[] {
    const own = this.#options.isHome ? [] : [this.replication.copies, this.replication.namespaces];
    return [...own, ...this.#injector.caches];
  }

  update(claims: Claims): void {
    if (isDeepStrictEqual(claims, this.demand.claims)) return;
    const sources = this.demand.update(claims);
    this.#injector.wake();
    for (const source of sources) this.pullSecrets.wake(source);
    this.#options.onChange();
  }

  /** From now on nothing is written; what is under way is cut off. */
  cease(): void {
    this.#over.abort();
  }

  get isOver(): boolean {
    return this.#over.signal.aborted;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cease();
    this.demand[Symbol.dispose]();
    for (const end of this.#ends.toReversed()) await end();
    await Promise.all(this.caches.map((cache) => cache[Symbol.asyncDispose]()));
  }

  /** Names for all Pods are worked out anew only for what may change one: most reports tell that all is as usual. */
  #isNewsForPods(source: string): boolean {
    const news = exceptionsIn(this.pullSecrets.reportOf(source), source);
    const isNew = this.#exceptions.get(source) !== news;
    this.#exceptions.set(source, news);
    return isNew;
  }

  /** Copies at home are shared with others: the pass over a source is one for all of them. */
  #serveHome(): void {
    const { home, onChange } = this.#options;
    const { signal } = this.#over;
    const begin = () => {
      if (signal.aborted) return;
      const serving = home.asker.serve(this.demand);
      signal.addEventListener("abort", () => {
        serving();
        this.pullSecrets.wakeAll();
      });
      this.#injector.wake();
      // Also what it wants no more: nothing was let go while nobody served.
      this.pullSecrets.wakeAll();
    };
    // Not before: until then nobody knows by which names Pods count on their copies.
    void this.demand.synced({ signal }).then(begin, () => {});
    this.#follow(onChange);
  }

  #serveAway(): void {
    const { kube, log, onChange } = this.#options;
    const { pullSecrets, replication } = this;
    const election = this.#leading;
    const { signal } = this.#over;
    pullSecrets.addAsker(this.demand);
    const working = runKeyed(pullSecrets.worker, { kube, election, log, signal });
    const onEnded = (error: unknown) => {
      this.#inspectionError = error;
      onChange();
    };
    const inspecting = startInspection(replication, { kube, election, log, signal, onEnded });
    for (const cache of replication.caches) cache.start();
    this.#follow(onChange);
    this.#ends.push(
      () => pullSecrets[Symbol.asyncDispose](),
      async () => inspecting[Symbol.asyncDispose](),
      () => working.closed.catch(() => {}),
    );
  }

  /** A namespace that comes to be served wants every source; one that changes otherwise is not of interest. */
  #follow(onChange: () => void): void {
    const stop = this.replication.namespaces.subscribe((change) => {
      const isOther = (change.before === undefined) !== (change.after === undefined);
      const isServedOtherwise = this.demand.concerns(change);
      if (isServedOtherwise) for (const source of this.demand.sources()) this.pullSecrets.wake(source);
      if (isOther || isServedOtherwise) onChange();
    });
    this.#ends.push(async () => stop());
  }

  #run(injector: Injector): void {
    const { kube, log } = this.#options;
    const { signal } = this.#over;
    for (const cache of injector.caches) cache.start();
    const working = runKeyed(injector.worker, { kube, election: this.#leading, log, signal });
    this.#ends.push(() => working.closed.catch(() => {}));
  }
}

/** The state of a source, and where its copy is not there by its literal name. */
function exceptionsIn(report: Report | undefined, source: string): string {
  const literal = source.replace("/", "-");
  const places = [...(report?.places ?? [])].filter(
    ([, place]) => place.kind !== "pending" && !(place.kind === "copied" && place.name === literal),
  );
  return JSON.stringify([report?.state.kind, places]);
}
