import { isDeepStrictEqual } from "node:util";
import { backoffMs } from "../../kube/backoff.ts";
import type { Kube, RequestSeen } from "../../kube/client.ts";
import type { Connection } from "../../kube/connection.ts";
import { withDeadline } from "../../kube/deadline.ts";
import { ApiError } from "../../kube/errors.ts";
import type { Log } from "../../kube/log.ts";
import type { NameWatches } from "../../kube/name-watches.ts";
import { detached, span } from "../../kube/trace.ts";
import { Alarm } from "../../runtime/alarm.ts";
import { findConnection, type NoConnection, type SearchOptions } from "./find-connection.ts";
import { FollowedSecrets } from "./followed-secrets.ts";
import { type Identity, toldIdentityOf } from "./identity.ts";
import { chooseWay } from "./injection/choose.ts";
import type { AnyCache } from "./injection/injector.ts";
import type { Way } from "./injection/mode.ts";
import type { PolicyVersion } from "./injection/objects.ts";
import { searchFor } from "./kubeconfig-search.ts";
import { askAlong, isLine, type Line, openLine } from "./line.ts";
import { asksTheSame, claimsOf, leadsElsewhere, type Order } from "./order.ts";
import { Pulse } from "./pulse.ts";
import { type Failure, failureOf } from "./reachability.ts";
import { type Home, Session } from "./session.ts";

/** How the connection to a cluster stands. */
export type LinkState = { readonly kind: "connecting" } | NoConnection | Failure | { readonly kind: "connected" };

type Heard = readonly (readonly [kind: string, atMs: number])[];

export interface LinkOptions extends SearchOptions {
  readonly home: Home;
  readonly homeId: string;
  /** Of Secrets at home. */
  readonly kubeconfigs: NameWatches;
  readonly log: Log;
  /** Of several Clusters that lead to one cluster only one is served. */
  mayServe(link: Link): boolean;
  onChange(link: Link): void;
}

const retryBackoff = { baseMs: 1_000, maxMs: 60_000 };
/** How long a cluster may take to give a sign of life. */
const signMs = 5_000;
const rediscoverMs = 10 * 60_000;

/** One Cluster's way to its cluster: found, tried, watched, and found again. Runs until closed. */
export class Link implements AsyncDisposable {
  readonly #options: LinkOptions;
  readonly #log: Log;
  readonly #alarm = new Alarm();
  readonly #over = new AbortController();
  readonly #secrets: FollowedSecrets;
  readonly #pulse = new Pulse();
  readonly #running: Promise<void>;
  #order: Order;
  #state: LinkState = { kind: "connecting" };
  #line: Line | undefined;
  #identity: Identity | undefined;
  #session: Session | undefined;
  #sessionWay: Way | undefined;
  #isToReconnect = false;
  /** From a cluster that was lost since. */
  #heardBefore: Heard = [];
  #discoveredAtMs = 0;
  #isRefused = false;
  #health = "";
  #isRetired = false;

  constructor(order: Order, options: LinkOptions) {
    this.#order = order;
    this.#options = options;
    this.#identity = toldIdentityOf(order.record);
    this.#secrets = new FollowedSecrets(options.kubeconfigs, () => {
      this.#isToReconnect = true;
      this.ring();
    });
    this.#log = options.log.with({ cluster: order.record.metadata.name });
    this.#running = detached(() => this.#run());
  }

  get order(): Order {
    return this.#order;
  }

  get state(): LinkState {
    return this.#state;
  }

  /** Which cluster answered last. */
  get identity(): Identity | undefined {
    return this.#identity;
  }

  get session(): Session | undefined {
    return this.#session;
  }

  /** It could be served, and is not: another Cluster is. */
  get isWaiting(): boolean {
    return this.#line !== undefined && !this.#session && !this.#isRetired && !this.#order.record.wish.isPaused;
  }

  /** How Pods get their names, while the cluster is connected. */
  get way(): Way | undefined {
    return this.#line && chooseWay(this.#order.record.wish.mode, this.#line.policyVersion);
  }

  get isHome(): boolean {
    return this.#line?.isHome ?? false;
  }

  /** Of the cluster, while it answers. */
  get kube(): Kube | undefined {
    return this.#line?.kube;
  }

  get policyVersion(): PolicyVersion | undefined {
    return this.#line?.policyVersion;
  }

  /** Milliseconds of `Date.now()` at which each watch last heard from the cluster. */
  heard(): Heard {
    return this.#session?.caches.map((cache) => [cache.name, cache.lastHeardAt] as const) ?? this.#heardBefore;
  }

  update(order: Order): void {
    const before = this.#order;
    this.#order = order;
    const isElsewhere = leadsElsewhere(before, order);
    if (isElsewhere) this.#isToReconnect = true;
    if (asksTheSame(before, order)) return;
    // At once, not when the loop comes round: what is new in this order is not for the cluster that is served now.
    if (isElsewhere || order.record.wish.isPaused || this.#isAnotherWay) this.#session?.cease();
    else this.#session?.update(claimsOf(this.#order));
    this.ring();
  }

  /** Look again now: something about who may be served has changed, or a try is worth it. */
  ring(): void {
    this.#alarm.ring();
  }

  /** It is not served any more, whatever happens. */
  retire(): void {
    this.#isRetired = true;
  }

  get isRetired(): boolean {
    return this.#isRetired;
  }

  /** Stops serving and leaves the connection as it is, for a clean-up. */
  async stopServing(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    await session?.[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#over;
    let failures = 0;
    try {
      while (!signal.aborted) {
        try {
          if (this.#isToReconnect) failures = 0;
          if (!this.#line || this.#isToReconnect) await this.#reconnect();
          // What is new in an order that leads elsewhere is not for the cluster that has just answered.
          if (this.#line && !this.#isToReconnect) await this.#arrange(this.#line);
        } catch (error) {
          if (!signal.aborted) this.#onError(error);
        }
        failures = this.#line ? 0 : failures + 1;
        const waitMs = this.#line ? this.#pulse.nextBeatMs(this.#ages) : this.#retryMs(failures);
        if (!signal.aborted) await this.#alarm.wait(waitMs, { signal });
        if (this.#line && !signal.aborted) await this.#beat(this.#line);
      }
    } finally {
      await this.#hangUp();
      this.#secrets[Symbol.dispose]();
    }
  }

  /** Nobody foresaw it; a Cluster that says nothing for ever would be worse than one that says little. */
  #onError(error: unknown): void {
    this.#log.error("a cluster could not be served, trying again", { error });
    this.#pulse.doubt();
    if (!this.#line) this.#fail(failureOf(error, "the cluster"));
  }

  /** What a change of a Secret ends is not tried again by the clock. */
  #retryMs(failures: number): number {
    if (this.#state.kind === "no-kubeconfig") return retryBackoff.maxMs;
    const waitMs = backoffMs(failures - 1, retryBackoff);
    if (!this.#pulse.isTroubled || this.#state.kind === "unreachable") return waitMs;
    // The moment at which silence is told of must not be slept through.
    return Math.max(100, Math.min(waitMs, this.#pulse.leftMs));
  }

  /** The new client first; only then the old one ends. */
  async #reconnect(): Promise<void> {
    this.#isToReconnect = false;
    const next = await this.#connecting().catch((error: unknown) => {
      this.#isToReconnect = true;
      throw error;
    });
    await this.#hangUp();
    this.#line = next;
    if (!next) return;
    this.#heardBefore = [];
    const isOther = next.identity.id !== this.#identity?.id;
    this.#identity = next.identity;
    this.#pulse.clear();
    this.#discoveredAtMs = performance.now();
    this.#become({ kind: "connected" });
    if (isOther) this.#options.onChange(this);
  }

  #connecting(): Promise<Line | undefined> {
    const { name: cluster } = this.#order.record.metadata;
    return span("clusters.pass", { cluster }, () => span("connect", { cluster }, () => this.#connect()));
  }

  async #connect(): Promise<Line | undefined> {
    const { home, homeId } = this.#options;
    const { signal } = this.#over;
    if (this.#order.record.wish.isHome) {
      return await this.#answerOf(askAlong({ kube: home.kube, server: "the home", isHome: true }, signal));
    }
    const connection = await this.#findConnection();
    if (!connection) return undefined;
    const onRequest = (kube: Kube, { status }: RequestSeen) => {
      // Who is not connected yet notices by himself.
      if (this.#line?.kube === kube) this.#onAnswer(status);
    };
    return await this.#answerOf(openLine(connection, { home: home.kube, homeId, signal, onRequest }));
  }

  async #answerOf(asking: Promise<Line | Failure>): Promise<Line | undefined> {
    this.#pulse.doubt();
    const answer = await asking;
    if (isLine(answer)) return answer;
    if (this.#over.signal.aborted) return undefined;
    this.#fail(answer);
    this.#log.debug("a cluster does not answer", { ...answer });
    return undefined;
  }

  async #findConnection(): Promise<Connection | undefined> {
    const { record } = this.#order;
    this.#secrets.follow(searchFor(record, this.#options.clusterApiNamespaces).flat());
    const { versions, decisive, result } = await findConnection(
      record,
      this.#options.home.kube,
      this.#options,
      this.#over,
    );
    this.#secrets.noteRead(versions);
    this.#secrets.follow(decisive);
    if (result.kind !== "found") {
      this.#pulse.clear();
      this.#become(result);
      return undefined;
    }
    if (this.#state.kind === "no-kubeconfig") this.#state = { kind: "connecting" };
    return result.connection;
  }

  /** Opens, updates or ends the session, as things stand now. */
  async #arrange(line: Line): Promise<void> {
    const { home } = this.#options;
    if (!this.#isToServe || this.#isAnotherWay || this.#session?.isOver) await this.stopServing();
    // Asked again: while the last session ended the order may have changed, or the Cluster be on its way out.
    const { way } = this;
    if (way === undefined || !this.#isToServe || this.#isToReconnect || this.#session) return;
    this.#sessionWay = way;
    const { kube, isHome, policyVersion: version } = line;
    this.#session = new Session({
      ...{ home, kube, isHome, way, version, claims: claimsOf(this.#order) },
      log: this.#log.with({ mode: way.kind }),
      onChange: () => this.#options.onChange(this),
    });
    this.#options.onChange(this);
  }

  /** The session injects by another way than it should. */
  get #isAnotherWay(): boolean {
    return !isDeepStrictEqual(this.way, this.#sessionWay);
  }

  /** A Cluster that is going is only seen off, also by an operator that has just come. */
  get #isToServe(): boolean {
    const { metadata, wish } = this.#order.record;
    return !this.#isRetired && !metadata.deletionTimestamp && !wish.isPaused && this.#options.mayServe(this);
  }

  #onAnswer(status: RequestSeen["status"]): void {
    const wasTroubled = this.#pulse.isTroubled;
    if (status === "unreachable") {
      this.#pulse.doubt();
      if (!wasTroubled) this.ring();
    } else if (status < 500) {
      this.#pulse.heard();
      // It may have come back as another one: an upgrade is a short outage.
      if (wasTroubled) this.#discoveredAtMs = Number.NEGATIVE_INFINITY;
    }
    if (status !== 401) return;
    this.#isRefused = true;
    this.ring();
  }

  /** How long ago each watch heard something; the home is looked after by others. */
  get #ages(): readonly number[] {
    if (this.isHome) return [0];
    return this.heard().map(([, atMs]) => Date.now() - atMs);
  }

  /** Asks the cluster for a sign of life if it gave none by itself. */
  async #beat(line: Line): Promise<void> {
    if (this.#isRefused || this.#isDiscoveryDue) return await this.#lookAgain(line);
    if (this.#pulse.isDoubtful(this.#ages)) await this.#ask(line);
    this.#noticeHealth();
  }

  /** No event tells that a watch is refused, or no longer. */
  #noticeHealth(): void {
    const failing = (this.#session?.caches ?? []).map(({ health }) => health.failing?.error.message);
    const health = JSON.stringify(failing);
    if (health === this.#health) return;
    this.#health = health;
    this.#options.onChange(this);
  }

  async #ask(line: Line): Promise<void> {
    const askedAtMs = performance.now();
    try {
      await withDeadline(signMs, this.#over.signal, (signal) => line.kube.request("GET", "/version", { signal }));
      this.#pulse.heard();
    } catch (error) {
      // A refusal is a sign of life as well.
      if (this.#over.signal.aborted || (error instanceof ApiError && error.status < 500)) return;
      this.#pulse.doubt(askedAtMs);
      // Its connections may be dead without saying so, those of the watches too.
      if (!(error instanceof ApiError)) line.kube.resetConnections();
      if (this.#pulse.leftMs > 0) return;
      await this.#lose(failureOf(error, line.server));
    }
  }

  get #isDiscoveryDue(): boolean {
    const isUnknownThere = ({ health }: AnyCache) =>
      health.failing?.error instanceof ApiError && health.failing.error.status === 404;
    return performance.now() - this.#discoveredAtMs > rediscoverMs || !!this.#session?.caches.some(isUnknownThere);
  }

  /** Credentials that were refused are asked about once more; what the cluster serves may have changed. */
  async #lookAgain(line: Line): Promise<void> {
    this.#isRefused = false;
    this.#discoveredAtMs = performance.now();
    const again = await this.#answerOf(askAlong(line, this.#over.signal));
    if (again) {
      this.#pulse.clear();
      this.#recognise(line, again);
    } else if (this.#state.kind !== "connected") {
      await this.#hangUp();
    }
  }

  /** It may have been upgraded, or be another cluster at the same address. */
  #recognise(before: Line, again: Line): void {
    if (again.identity.id !== before.identity.id) {
      this.#isToReconnect = true;
      this.ring();
      return;
    }
    this.#line = again;
    if (isDeepStrictEqual(again.identity, this.#identity)) return;
    this.#identity = again.identity;
    this.#options.onChange(this);
  }

  /** Silence is told of when it has lasted; everything else at once. */
  #fail(failure: Failure): void {
    if (failure.kind !== "unreachable") this.#pulse.clear();
    else if (this.#pulse.leftMs > 0) return;
    this.#become(failure);
  }

  async #lose(failure: Failure): Promise<void> {
    this.#become(failure);
    await this.#hangUp();
  }

  async #hangUp(): Promise<void> {
    const line = this.#line;
    this.#line = undefined;
    this.#heardBefore = this.heard();
    await this.stopServing();
    if (line && !line.isHome) await line.kube[Symbol.asyncDispose]();
  }

  #become(state: LinkState): void {
    const isSame = JSON.stringify(state) === JSON.stringify(this.#state);
    this.#state = state;
    if (isSame) return;
    const { kind, message, ...about } = { message: "", ...state };
    this.#log.info("connection", { ...about, state: kind, ...(message && { detail: message }) });
    this.#options.onChange(this);
  }
}
