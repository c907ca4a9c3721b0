import { injectLabel } from "../../api/marks.ts";
import { type KubeObject, keyOf, type NamespacedRef } from "../../api/objects.ts";
import type { Change } from "../../kube/cache.ts";
import type { Call, Kube } from "../../kube/client.ts";
import { unlessAborted } from "../../kube/deadline.ts";
import { onceFor } from "../../kube/sharing.ts";
import type { Owner } from "../../ownership/holder.ts";
import type { Asker, Wanted } from "../../pullsecrets/asker.ts";
import { findSource } from "../../pullsecrets/find.ts";
import { judge } from "../../pullsecrets/judge.ts";
import { candidatesOf } from "../../pullsecrets/names.ts";
import { isCopyOf } from "../../pullsecrets/ours.ts";
import type { PullSecrets } from "../../pullsecrets/pull-secrets.ts";
import type { Reference } from "../../pullsecrets/references.ts";
import type { SourceState } from "../../pullsecrets/report.ts";
import type { Replication } from "../../replication/replication.ts";
import type { Naming } from "./injection/record.ts";
import { type NamingFacts, namesIn, namingOf, type Recorded, type Sight, usualNames } from "./naming.ts";

/** What a cluster is to have. */
export interface Claims {
  readonly references: readonly Reference[];
  readonly excluded: readonly string[];
  readonly retains: boolean;
}

interface DemandOptions {
  readonly home: Kube;
  readonly replication: Replication;
  readonly installation: Owner;
  readonly pullSecrets: Pick<PullSecrets, "copyIn" | "reportOf" | "wake">;
  readonly recorded: () => Recorded;
  /** Copies come after this. */
  readonly begun: Promise<unknown>;
  /** What came of a source has changed. */
  onReport(source: string): void;
}

/** First the injection changes; then Pods that were created meanwhile have a moment to start. */
const graceMs = 3_000;
/** Where the cluster's own parts are: served before all others. */
const system = "kube-system";
/** An injection that cannot be changed does not keep what is revoked for ever. */
const patienceMs = 30_000;

/** Which copies one cluster is to have, and by which names: in every namespace that is served. */
export class Demand implements Asker, Disposable {
  readonly feature = "clusters";
  readonly #options: DemandOptions;
  readonly #looked = new Map<string, SourceState>();
  /** Sources whose copies wait for the injection to change. */
  readonly #waiting = new Set<string>();
  #claims: Claims;
  #changedAtMs = performance.now();
  #settledAtMs: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** All copies of the cluster's own parts have come to something; until then they are all that is wanted. */
  #isPastSystem = false;

  constructor(claims: Claims, options: DemandOptions) {
    this.#claims = claims;
    this.#options = options;
  }

  get claims(): Claims {
    return this.#claims;
  }

  /** Tells which sources that concerns. */
  update(claims: Claims): readonly string[] {
    const before = this.#claims;
    this.#claims = claims;
    this.#changedAtMs = performance.now();
    this.#settledAtMs = undefined;
    this.#wakeWaitingInTime();
    return [...new Set([...before.references, ...claims.references].map(keyOf))];
  }

  /** The injection is as it should be, or cannot be. */
  noteSettled(): void {
    if (this.#settledAtMs !== undefined) return;
    this.#settledAtMs = performance.now();
    this.#wakeWaitingInTime();
  }

  /** Pods get what is claimed now, or cannot get it. */
  get isSettled(): boolean {
    return this.#settledAtMs !== undefined;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }

  isServed(namespace: KubeObject | undefined): boolean {
    if (!namespace || namespace.metadata.deletionTimestamp) return false;
    const { name, labels } = namespace.metadata;
    return labels?.[injectLabel] !== "false" && !this.#claims.excluded.includes(name);
  }

  /** Whether a namespace has come to be served, or is served no longer. */
  concerns({ before, after }: Change<KubeObject>): boolean {
    return this.isServed(before) !== this.isServed(after);
  }

  /** Namespaces that get copies; those of the cluster's own parts first. */
  served(): readonly string[] {
    const all = this.#options.replication.namespaces.list().filter((namespace) => this.isServed(namespace));
    const names = all.map(({ metadata }) => metadata.name);
    return [...names.filter((name) => name === system), ...names.filter((name) => name !== system)];
  }

  namesIn(namespace: string): readonly string[] {
    const facts = this.#facts();
    return namesIn(namespace, usualNames(facts), facts);
  }

  usualNames(): readonly string[] {
    return usualNames(this.#facts());
  }

  /** What copies of a source are called where nothing stands in the way. */
  nameOf(source: Reference): string {
    return candidatesOf(source)[0] ?? "";
  }

  naming(exempt?: Naming["exempt"]): Naming {
    return namingOf(this.served(), this.#facts(), exempt);
  }

  stateOf(source: Reference): SourceState | undefined {
    const key = keyOf(source);
    const { pullSecrets, replication } = this.#options;
    const known = replication.sources.get(key);
    return pullSecrets.reportOf(key)?.state ?? (known ? judge(known) : this.#looked.get(key));
  }

  /** Looks at sources that nobody has looked at yet: of some, no name may be given to Pods. */
  async learn({ signal }: Call): Promise<void> {
    const { home, replication } = this.#options;
    const unknown = this.#claims.references.filter((source) => this.stateOf(source) === undefined);
    await Promise.all(
      unknown.map(async (source) => {
        const { state } = await findSource(source, replication, home, { signal });
        this.#looked.set(keyOf(source), state);
      }),
    );
  }

  async synced({ signal }: Call = {}): Promise<void> {
    await unlessAborted(this.#options.begun, signal);
  }

  sources(): Iterable<string> {
    return this.#claims.references.map(keyOf);
  }

  lists(source: string): boolean {
    return this.#claims.references.some((reference) => keyOf(reference) === source);
  }

  retains(): boolean {
    return this.#claims.retains;
  }

  wanted(source: string): Wanted {
    const at = this.#claims.references.findIndex((reference) => keyOf(reference) === source);
    const reference = this.#claims.references[at];
    if (!reference) return new Map();
    const facts = this.#facts();
    const usual = usualNames(facts);
    const places = this.#hasServedSystem() ? this.served() : [system];
    return new Map(
      places.map((namespace) => {
        const sight = facts.sightOf(reference, namespace);
        // Nearly everywhere: what else Pods there are given need not be worked out.
        const name = sight.kind === "named" ? sight.name : namesIn(namespace, usual, facts)[at];
        return [namespace, name ? [name] : []];
      }),
    );
  }

  isReserved({ namespace, name }: NamespacedRef, source: string): boolean {
    const others = namesakesIn(this.#claims)
      .get(name)
      ?.filter((other) => keyOf(other) !== source);
    // Asked for every namespace, while names hardly ever coincide.
    if (!others || others.length === 0) return false;
    const names = this.namesIn(namespace);
    return others.some((other) => names[this.#claims.references.indexOf(other)] === name);
  }

  graceMs(): number {
    return graceMs;
  }

  async mayGo(_copy: NamespacedRef, source: string): Promise<boolean> {
    // Its namespace has not had its turn yet.
    if (!this.#isPastSystem && this.lists(source)) return false;
    if (this.#untilGoingMs <= 0) return true;
    this.#waiting.add(source);
    this.#wakeWaitingInTime();
    return false;
  }

  onReport(source: string): void {
    const wasFirst = !this.#isPastSystem;
    if (wasFirst && this.#hasServedSystem()) for (const each of this.sources()) this.#options.pullSecrets.wake(each);
    this.#options.onReport(source);
  }

  #hasServedSystem(): boolean {
    const hasBeenThere = (source: Reference) => {
      const report = this.#options.pullSecrets.reportOf(keyOf(source));
      return report !== undefined && (report.state.kind !== "usable" || report.places.has(system));
    };
    this.#isPastSystem ||= this.served()[0] !== system || this.#claims.references.every(hasBeenThere);
    return this.#isPastSystem;
  }

  /** Until copies that nobody wants any more may go. */
  get #untilGoingMs(): number {
    const patientUntilMs = this.#changedAtMs + patienceMs;
    const settledUntilMs = (this.#settledAtMs ?? Number.POSITIVE_INFINITY) + graceMs;
    return Math.min(patientUntilMs, settledUntilMs) - performance.now();
  }

  /** A timer may fire a moment early: whoever is woken too soon waits once more. */
  #wakeWaitingInTime(): void {
    clearTimeout(this.#timer);
    if (this.#waiting.size > 0) this.#timer = setTimeout(() => this.#wakeWaiting(), this.#untilGoingMs);
  }

  #wakeWaiting(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const source of waiting) this.#options.pullSecrets.wake(source);
  }

  #facts(): NamingFacts {
    const { recorded, replication, installation } = this.#options;
    return {
      references: this.#claims.references,
      recorded: recorded(),
      isInjected: (source) => isInjectable(this.stateOf(source)),
      sightOf: (source, namespace) => this.#sightOf(source, namespace),
      isTaken: (name, source, namespace) => {
        const copy = replication.copies.get(keyOf({ namespace, name }));
        return copy !== undefined && !isCopyOf(copy, source, installation);
      },
    };
  }

  #sightOf(source: Reference, namespace: string): Sight {
    const { pullSecrets } = this.#options;
    const copy = pullSecrets.copyIn(source, namespace);
    if (copy) return { kind: "named", name: copy.metadata.name };
    const place = pullSecrets.reportOf(keyOf(source))?.places.get(namespace);
    if (place?.kind === "collision") return { kind: "collision" };
    return place?.kind === "refused" && place.name ? { kind: "named", name: place.name } : { kind: "nothing" };
  }
}

/** Whose copies can have a name. */
const namesakesIn = onceFor(({ references }: Claims): ReadonlyMap<string, readonly Reference[]> => {
  const names = new Set(references.flatMap(candidatesOf));
  const isFor = (name: string) => (source: Reference) => candidatesOf(source).includes(name);
  return new Map([...names].map((name) => [name, references.filter(isFor(name))]));
});

/** The name of a missing source is given as well: it heals when the source comes. */
export const isInjectable = (state: SourceState | undefined): boolean =>
  state?.kind !== "type-rejected" && state?.kind !== "is-a-copy" && state?.kind !== "vetoed";
