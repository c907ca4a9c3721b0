import { after, before, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { type ControlPlane, startControlPlane } from "../../tools/local/control-plane.ts";
import { sourceLabel } from "../api/marks.ts";
import { type NamespacedRef, secrets } from "../api/objects.ts";
import { Kube, type RequestSeen } from "../kube/client.ts";
import { loadConnection } from "../kube/kubeconfig.ts";
import { createLog } from "../kube/log.ts";
import type { Owner } from "../ownership/holder.ts";
import { marksOf } from "../ownership/marks.ts";
import type { Asker, Wanted } from "../pullsecrets/asker.ts";
import { candidatesOf } from "../pullsecrets/names.ts";
import { PullSecrets } from "../pullsecrets/pull-secrets.ts";
import type { Place, Report } from "../pullsecrets/report.ts";
import { openReplication, type Replication } from "../replication/replication.ts";
import { Election } from "../runtime/lease.ts";
import { runKeyed } from "../runtime/run-keyed.ts";
import { testEnvironment, testNamespaces, uniqueName } from "./cluster.ts";
import { at } from "./objects.ts";
import { createPullSecret, dockerConfig } from "./sidecars.ts";
import { untilGone, untilMetadata, untilSecret } from "./wait.ts";

/** A control plane of its own, without an operator: two would argue about the labels of sources. */
export function barePlane(): void {
  let plane: ControlPlane | undefined;
  before(async () => {
    plane = await startControlPlane();
    process.env.LATCHKEY_TEST_KUBECONFIG = plane.kubeconfig;
  });
  after(() => plane?.stop());
}

/** Asks for what a test tells it to. */
export class TestAsker implements Asker {
  readonly feature = "test";
  readonly listed = new Set<string>();
  readonly wants = new Map<string, Map<string, readonly string[]>>();
  readonly reserved = new Set<string>();
  /** Copies that are in use. */
  readonly inUse = new Set<string>();
  readonly told: string[] = [];
  idleMs = 60_000;

  async synced(): Promise<void> {}

  sources(): Iterable<string> {
    return this.listed;
  }

  lists(source: string): boolean {
    return this.listed.has(source);
  }

  retains(): boolean {
    return false;
  }

  wanted(source: string): Wanted {
    return this.wants.get(source) ?? new Map();
  }

  isReserved({ namespace, name }: NamespacedRef): boolean {
    return this.reserved.has(`${namespace}/${name}`);
  }

  graceMs(source: string): number {
    return this.lists(source) ? this.idleMs : 0;
  }

  async mayGo({ namespace, name }: NamespacedRef): Promise<boolean> {
    return !this.inUse.has(`${namespace}/${name}`);
  }

  onReport(source: string): void {
    this.told.push(source);
  }

  /** Lists the source and wants it exactly there; by these names, if given. */
  want(source: string, namespaces: readonly string[], carried: readonly string[] = []): void {
    this.listed.add(source);
    this.wants.set(source, new Map(namespaces.map((namespace) => [namespace, carried])));
  }

  unlist(source: string): void {
    this.listed.delete(source);
    this.wants.delete(source);
  }
}

interface ReplicaOptions {
  readonly asker?: TestAsker;
  /** Where the key of the fingerprints is: replicas of one installation share it. */
  readonly home: string;
  readonly installation: Owner;
  readonly leads?: boolean;
  /** Somebody with fewer rights than the admin. */
  readonly as?: string;
}

/** One process of an operator, as far as pull secrets go. */
export class Replica {
  readonly asker: TestAsker;
  readonly pullSecrets: PullSecrets;
  readonly replication: Replication;
  /** Everything but watches. */
  readonly requests: RequestSeen[];
  readonly #end: () => Promise<void>;

  private constructor(
    parts: Pick<Replica, "asker" | "pullSecrets" | "replication" | "requests">,
    end: () => Promise<void>,
  ) {
    this.asker = parts.asker;
    this.pullSecrets = parts.pullSecrets;
    this.replication = parts.replication;
    this.requests = parts.requests;
    this.#end = end;
  }

  static async start(t: TestContext, options: ReplicaOptions): Promise<Replica> {
    const { asker = new TestAsker(), home, installation, leads = true, as } = options;
    const requests: RequestSeen[] = [];
    const connection = await loadConnection({ kubeconfig: testEnvironment("LATCHKEY_TEST_KUBECONFIG"), env: {} });
    const whom = as ? { ...connection, impersonate: { user: as } } : connection;
    const kube = new Kube(whom, {
      userAgent: "latchkey-test",
      onRequest: (seen) => void (seen.verb !== "watch" && requests.push(seen)),
    });
    const log = createLog({ level: "error", format: "text" });
    const replication = await openReplication({ kube, namespace: home, log });
    for (const cache of replication.caches) cache.start();
    const pullSecrets = new PullSecrets({ kube, replication, installation, log });
    pullSecrets.addAsker(asker);
    const election = new Election({ kube, namespace: home, name: "test", identity: "me", log, enabled: false });
    if (leads) election.start();
    const stop = new AbortController();
    const running = runKeyed(pullSecrets.worker, { kube, election, log, signal: stop.signal });
    await Promise.all([replication.copies, replication.sources, replication.namespaces].map((cache) => cache.synced()));

    let ended: Promise<void> | undefined;
    const end = async () => {
      stop.abort();
      await running.closed;
      await pullSecrets[Symbol.asyncDispose]();
      await election[Symbol.asyncDispose]();
      await replication[Symbol.asyncDispose]();
      await kube[Symbol.asyncDispose]();
    };
    const replica = new Replica({ asker, pullSecrets, replication, requests }, () => (ended ??= end()));
    t.after(() => replica.stop());
    return replica;
  }

  stop(): Promise<void> {
    return this.#end();
  }

  /** Tells the asker's wishes and wakes the source, as an asker does. */
  want(source: string, namespaces: readonly string[], carried: readonly string[] = []): void {
    this.asker.want(source, namespaces, carried);
    this.pullSecrets.wake(source);
  }

  unlist(source: string): void {
    this.asker.unlist(source);
    this.pullSecrets.wake(source);
  }

  /** Resolves with the first report that is accepted. */
  async report(source: string, accept: (report: Report) => boolean): Promise<Report> {
    for (const deadline = performance.now() + 30_000; ; await sleep(10)) {
      const report = this.pullSecrets.reportOf(source);
      if (report && accept(report)) return report;
      if (performance.now() > deadline) throw new Error(`waited in vain; the last report was ${describe(report)}`);
    }
  }

  /** Resolves once nothing has been asked of the API server for a while; forgets the requests so far. */
  async quiet(): Promise<void> {
    for (let before = -1; before !== this.requests.length; await sleep(500)) before = this.requests.length;
    this.requests.length = 0;
  }

  /** How many of the requests since the last quiet were about this. */
  count(...verbs: readonly string[]): number {
    return this.requests.filter(({ verb }) => verbs.includes(verb)).length;
  }
}

function describe(report: Report | undefined): string {
  return JSON.stringify(report && { ...report, places: [...report.places] });
}

/** An installation that no other test has. */
export const testInstallation = (): Owner => ({
  uid: uniqueName("installation"),
  title: "Installation",
  isInstallation: true,
});

/** A source `registry` in a namespace of its own, and two namespaces that may want it. */
export async function scene(t: TestContext) {
  const { kube, namespaces } = await testNamespaces(t, 4);
  const [home, vault, teamA, teamB] = namespaces;
  const source = `${vault}/registry`;
  const [literal = "", suffixed = ""] = candidatesOf(at(source));
  const installation = testInstallation();
  const start = (asker = new TestAsker(), more: Partial<ReplicaOptions> = {}) =>
    Replica.start(t, { asker, home, installation, ...more });
  return { kube, home, vault, teamA, teamB, source, literal, suffixed, installation, start };
}

/** The same with a copy of `one` in both of them, and a replica that keeps it. */
export async function served(t: TestContext) {
  const stage = await scene(t);
  const { kube, source, teamA, teamB, literal, start } = stage;
  await createPullSecret(kube, source, "one");
  const replica = await start();
  replica.want(source, [teamA, teamB]);
  const copies = [`${teamA}/${literal}`, `${teamB}/${literal}`] as const;
  for (const copy of copies) await untilSecret(kube, copy, holding("one"));
  await untilLabelled(kube, source);
  await replica.report(source, allCopied);
  return { ...stage, replica, copies };
}

/** The values of a pull secret with this token. */
export const holding = (token: string) => dockerConfig("robot", token);

export const untilAbsent = (kube: Kube, key: string) => untilGone(kube, secrets, at(key));
export const untilLabelled = (kube: Kube, key: string) =>
  untilMetadata(kube, key, "is labelled", ({ metadata }) => metadata.labels?.[sourceLabel] === "true");
export const untilUnlabelled = (kube: Kube, key: string) =>
  untilMetadata(kube, key, "is not labelled", ({ metadata }) => metadata.labels?.[sourceLabel] === undefined);

export const allCopied = ({ places }: Report): boolean =>
  places.size > 0 && [...places.values()].every(({ kind }) => kind === "copied");
export const isPlaced =
  (namespace: string, place: Place) =>
  ({ places }: Report): boolean =>
    isDeepStrictEqual(places.get(namespace), place);

/** All marks of a copy, as somebody may forge them; only the fingerprint takes a key that nobody has. */
export function forgedMarks(place: string, source: string, installation: Owner, fingerprint = "guessed") {
  const { labels, annotations } = marksOf(installation, at(place), at(source), fingerprint);
  return { labels, annotations };
}
