import { isDeepStrictEqual } from "node:util";
import { keyOf, type NamespacedRef, namespaces } from "../../api/objects.ts";
import { backoffMs } from "../../kube/backoff.ts";
import { Kube, type RequestSeen } from "../../kube/client.ts";
import type { Connection } from "../../kube/connection.ts";
import { withDeadline } from "../../kube/deadline.ts";
import type { Log } from "../../kube/log.ts";
import { countRequest } from "../../kube/metrics.ts";
import type { NameWatches } from "../../kube/name-watches.ts";
import { span } from "../../kube/trace.ts";
import { Alarm } from "../../runtime/alarm.ts";
import { version as ownVersion } from "../../version.ts";
import type { Credentials } from "./credentials.ts";
import type { Claims } from "./demand.ts";
import { findConnection, type NoConnection, type SearchOptions } from "./find-connection.ts";
import { chooseWay, findPolicyVersion } from "./injection/choose.ts";
import type { Way } from "./injection/mode.ts";
import type { PolicyVersion } from "./injection/objects.ts";
import { searchFor } from "./kubeconfig-search.ts";
import { type Failure, failureOf, unreachableAfterMs } from "./reachability.ts";
import type { ClusterRecord } from "./record.ts";
import { type Home, Session } from "./session.ts";

/** How the connection to a cluster stands. */
export type LinkState = { readonly kind: "connecting" } | NoConnection | Failure | { readonly kind: "connected" };

/** Which cluster answers. */
export interface Identity {
  /** UID of its Namespace kube-system. */
  readonly id: string;
  readonly version: string;
}

interface Line {
  readonly kube: Kube;
  readonly server: string;
  readonly identity: Identity;
  readonly policyVersion: PolicyVersion | undefined;
  readonly isHome: boolean;
}

/** What a Cluster asks for, with everything looked up. */
export interface Order {
  readonly record: ClusterRecord;
  readonly credentials: Credentials;
}

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

const attemptMs = unreachableAfterMs;
const retryBackoff = { baseMs: 1_000, maxMs: 60_000 };
/** How often a cluster that is silent by itself is asked for a sign of life, and how long it may take to give it. */
const beatMs = 10_000;
const signMs = 5_000;
const rediscoverMs = 10 * 60_000;
const maxFanOut = 8;

/** One Cluster's way to its cluster: found, tried, watched, and found again. Runs until closed. */
export class Link implements AsyncDisposable {
  readonly #options: LinkOptions;
  readonly #log: Log;
  readonly #alarm = new Alarm();
  readonly #over = new AbortController();
  readonly #follows = new Map<string, () => void>();
  /** Versions of the Secrets that the present kubeconfig was chosen from. */
  readonly #read = new Map<string, string | undefined>();
  readonly #running: Promise<void>;
  #order: Order;
  #state: LinkState = { kind: "connecting" };
  #line: Line | undefined;
  #identity: Identity | undefined;
  #session: Session | undefined;
  #sessionWay: Way | undefined;
  #isKubeconfigNew = false;
  #heardAtMs = Number.NEGATIVE_INFINITY;
  #troubleSinceMs: number | undefined;
  #discoveredAtMs = 0;
  #isRefused = false;
  #health = "";
  #isRetired = false;

  constructor(order: Order, options: LinkOptions) {
    this.#order = order;
    this.#options = options;
    this.#log = options.log.with({ cluster: order.record.metadata.name });
    this.#running = this.#run();
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
  heard(): readonly (readonly [kind: string, atMs: number])[] {
    return (this.#session?.caches ?? []).map((cache) => [cache.name, cache.lastHeardAt]);
  }

  update(order: Order): void {
    const before = this.#order;
    this.#order = order;
    if (targetOf(before.record) !== targetOf(order.record)) this.#isKubeconfigNew = true;
    if (isDeepStrictEqual(wishOf(before), wishOf(order))) return;
    this.#session?.update(this.#claims);
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
          if (!this.#line || this.#isKubeconfigNew) await this.#reconnect();
          if (this.#line) await this.#arrange(this.#line);
        } catch (error) {
          if (!signal.aborted) this.#log.error("a cluster could not be served, trying again", { error });
        }
        failures = this.#line ? 0 : failures + 1;
        const waitMs = this.#line ? beatMs : this.#retryMs(failures);
        if (!signal.aborted) await this.#alarm.wait(waitMs, { signal });
        if (this.#line && !signal.aborted) await this.#beat(this.#line);
      }
    } finally {
      await this.#hangUp();
      for (const stop of this.#follows.values()) stop();
    }
  }

  /** What a change of a Secret ends is not tried again by the clock. */
  #retryMs(failures: number): number {
    if (this.#state.kind === "no-kubeconfig") return retryBackoff.maxMs;
    const waitMs = backoffMs(failures - 1, retryBackoff);
    if (this.#troubleSinceMs === undefined || this.#state.kind === "unreachable") return waitMs;
    // The moment at which silence is told of must not be slept through.
    const leftMs = this.#troubleSinceMs + unreachableAfterMs - performance.now();
    return Math.max(100, Math.min(waitMs, leftMs));
  }

  /** The new client first; only then the old one ends. */
  async #reconnect(): Promise<void> {
    this.#isKubeconfigNew = false;
    const next = await span("connect", { cluster: this.#order.record.metadata.name }, () => this.#connect());
    await this.#hangUp();
    this.#line = next;
    if (!next) return;
    this.#identity = next.identity;
    this.#troubleSinceMs = undefined;
    this.#discoveredAtMs = performance.now();
    this.#become({ kind: "connected" });
  }

  async #connect(): Promise<Line | undefined> {
    const { home, homeId } = this.#options;
    if (this.#order.record.wish.isHome) return this.#try(home.kube, "the home", { isHome: true });
    const connection = await this.#findConnection();
    if (!connection) return undefined;
    const onRequest = (request: RequestSeen) => {
      countRequest(request);
      if (typeof request.status === "number" && request.status < 500) this.#heardAtMs = performance.now();
      // Who is not connected yet notices by himself.
      if (request.status !== 401 || this.#line?.kube !== kube) return;
      this.#isRefused = true;
      this.ring();
    };
    const kube = new Kube(connection, { userAgent: `latchkey/${ownVersion}`, maxFanOut, onRequest });
    const line = await this.#try(kube, new URL(connection.server).origin, { isHome: false });
    if (!line || line.identity.id === homeId) await kube[Symbol.asyncDispose]();
    return line?.identity.id === homeId ? { ...line, kube: home.kube, isHome: true } : line;
  }

  async #try(kube: Kube, server: string, { isHome }: { readonly isHome: boolean }): Promise<Line | undefined> {
    this.#troubleSinceMs ??= performance.now();
    try {
      const within = <T>(ask: (signal: AbortSignal) => Promise<T>) => withDeadline(attemptMs, this.#over.signal, ask);
      const identity = await identify(kube, within);
      const policyVersion = await within((signal) => findPolicyVersion(kube, { signal }));
      return { kube, server, identity, policyVersion, isHome };
    } catch (error) {
      if (this.#over.signal.aborted) return undefined;
      this.#fail(failureOf(error, server));
      this.#log.debug("a cluster does not answer", { error });
      return undefined;
    }
  }

  async #findConnection(): Promise<Connection | undefined> {
    const { record } = this.#order;
    // First followed, then read: a change in between is heard of.
    this.#followAll(searchFor(record, this.#options.clusterApiNamespaces).flat());
    const { versions, result } = await findConnection(record, this.#options.home.kube, this.#options, this.#over);
    for (const [key, version] of versions) this.#read.set(key, version);
    if (result.kind === "found") return result.connection;
    this.#become(result);
    return undefined;
  }

  #followAll(places: readonly NamespacedRef[]): void {
    const wanted = new Map(places.map((place) => [keyOf(place), place]));
    for (const [key, stop] of this.#follows) {
      if (wanted.has(key)) continue;
      stop();
      this.#follows.delete(key);
    }
    for (const [key, place] of wanted) {
      if (this.#follows.has(key)) continue;
      const stop = this.#options.kubeconfigs.follow(place, (object) => {
        if (this.#read.get(key) === object?.metadata.resourceVersion) return;
        this.#isKubeconfigNew = true;
        this.ring();
      });
      this.#follows.set(key, stop);
    }
  }

  /** Opens, updates or ends the session, as things stand now. */
  async #arrange(line: Line): Promise<void> {
    const { home } = this.#options;
    const way = this.way;
    const isWanted =
      !this.#isRetired && way !== undefined && !this.#order.record.wish.isPaused && this.#options.mayServe(this);
    const isAnother = this.#session !== undefined && JSON.stringify(way) !== JSON.stringify(this.#sessionWay);
    if (!isWanted || isAnother) await this.stopServing();
    if (!isWanted || this.#session) return;
    this.#sessionWay = way;
    const { kube, isHome, policyVersion: version } = line;
    this.#session = new Session({
      ...{ home, kube, isHome, way, version, claims: this.#claims, log: this.#log },
      onChange: () => this.#options.onChange(this),
    });
    this.#options.onChange(this);
  }

  get #claims(): Claims {
    const { record, credentials } = this.#order;
    const { excluded, retains } = record.wish;
    return { references: credentials.references, excluded, retains };
  }

  /** Asks the cluster for a sign of life if it gave none by itself. */
  async #beat(line: Line): Promise<void> {
    if (this.#isRefused || this.#isDiscoveryDue) return await this.#lookAgain(line);
    const heardAtMs = Math.max(
      this.#heardAtMs,
      ...this.heard().map(([, atMs]) => performance.now() - (Date.now() - atMs)),
    );
    if (line.isHome || performance.now() - heardAtMs < beatMs / 2) this.#troubleSinceMs = undefined;
    else await this.#ask(line, heardAtMs);
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

  async #ask(line: Line, heardAtMs: number): Promise<void> {
    try {
      await withDeadline(signMs, this.#over.signal, (signal) => line.kube.request("GET", "/version", { signal }));
      this.#troubleSinceMs = undefined;
    } catch (error) {
      if (this.#over.signal.aborted) return;
      this.#troubleSinceMs ??= heardAtMs;
      if (performance.now() - this.#troubleSinceMs < unreachableAfterMs) return this.ring();
      await this.#lose(failureOf(error, line.server));
    }
  }

  get #isDiscoveryDue(): boolean {
    return performance.now() - this.#discoveredAtMs > rediscoverMs;
  }

  /** Credentials that were refused are asked about once more; what the cluster serves may have changed. */
  async #lookAgain(line: Line): Promise<void> {
    this.#isRefused = false;
    this.#discoveredAtMs = performance.now();
    const again = await this.#try(line.kube, line.server, { isHome: line.isHome });
    if (again) {
      this.#troubleSinceMs = undefined;
      this.#line = again;
    } else if (this.#state.kind !== "connected") {
      await this.#hangUp();
    }
  }

  /** Silence is told of when it has lasted; everything else at once. */
  #fail(failure: Failure): void {
    const silentMs = performance.now() - (this.#troubleSinceMs ?? performance.now());
    if (failure.kind === "unreachable" && silentMs < unreachableAfterMs) return;
    this.#become(failure);
  }

  async #lose(failure: Failure): Promise<void> {
    this.#become(failure);
    await this.#hangUp();
  }

  async #hangUp(): Promise<void> {
    const line = this.#line;
    this.#line = undefined;
    // Before the session: what waits for an answer ends with the connections.
    if (line && !line.isHome) await line.kube[Symbol.asyncDispose]();
    await this.stopServing();
  }

  #become(state: LinkState): void {
    const isSame = JSON.stringify(state) === JSON.stringify(this.#state);
    this.#state = state;
    if (isSame) return;
    this.#log.info("connection", { ...state });
    this.#options.onChange(this);
  }
}

type Within = <T>(ask: (signal: AbortSignal) => Promise<T>) => Promise<T>;

async function identify(kube: Kube, within: Within): Promise<Identity> {
  const system = await within((signal) => kube.getMetadata(namespaces, { name: "kube-system" }, { signal }));
  const version = (await within((signal) => kube.request("GET", "/version", { signal }))) as { gitVersion?: unknown };
  if (!system) throw new Error("the cluster has no Namespace kube-system");
  return { id: system.metadata.uid, version: String(version?.gitVersion ?? "") };
}

/** Another one leads elsewhere. */
const targetOf = ({ wish: { isHome, kubeconfig }, status }: ClusterRecord): string =>
  JSON.stringify([isHome, kubeconfig, status?.namespaceName]);

const wishOf = ({ record, credentials }: Order) => [record.wish, record.status?.namespaceName, credentials];
