import { isDeepStrictEqual } from "node:util";
import { injectLabel } from "../../api/marks.ts";
import { type KubeObject, keyOf, type NamespacedRef, namespaceOf, refOfKey } from "../../api/objects.ts";
import type { Change, WatchCache } from "../../kube/cache.ts";
import type { Call, Kube } from "../../kube/client.ts";
import { unlessAborted } from "../../kube/deadline.ts";
import type { NameWatches } from "../../kube/name-watches.ts";
import type { Asker, Wanted } from "../../pullsecrets/asker.ts";
import { candidatesOf } from "../../pullsecrets/names.ts";
import type { PullSecrets } from "../../pullsecrets/pull-secrets.ts";
import type { Verdicts } from "./accepted.ts";
import { LastLook } from "./last-look.ts";
import { isInjectedBy, namesCopy, type Surroundings } from "./need.ts";
import type { PodRecord } from "./pod-record.ts";
import type { SidecarSetRecord, SidecarsMode } from "./record.ts";

type Cache<T extends KubeObject> = Pick<WatchCache<T>, "get" | "by" | "list" | "subscribe" | "synced">;

export interface WantsOptions {
  readonly mode: SidecarsMode;
  /** With `podIndexes`. */
  readonly pods: Cache<PodRecord>;
  readonly namespaces: Cache<KubeObject>;
  readonly pullSecrets: Pick<PullSecrets, "wake" | "noteWanted" | "copyIn">;
  readonly kube: Kube;
  /** `--sidecars-idle-copies` */
  readonly idleMs: number;
  readonly ownNamespace: string;
  readonly verdicts: Verdicts;
  /** Of Pods. */
  readonly podWatches: NameWatches;
}

/** Which copies SidecarSets and the Pods that have their containers ask for. */
export class Wants implements Asker, Disposable {
  readonly feature = "sidecars";
  readonly surroundings: Surroundings;
  readonly #options: WantsOptions;
  readonly #lastLook: LastLook;
  readonly #attached = Promise.withResolvers<Cache<SidecarSetRecord>>();
  readonly #unsubscribe: (() => void)[] = [];
  #sets: Cache<SidecarSetRecord> | undefined;
  #wakeSet: (name: string) => void = () => {};

  constructor(options: WantsOptions) {
    const { pods, namespaces, pullSecrets, ownNamespace } = options;
    this.#options = options;
    this.surroundings = {
      ownNamespace,
      factsOf: (name) => ({ name, labels: namespaces.get(name)?.metadata.labels }),
    };
    this.#lastLook = new LastLook({ ...options, wake: (source) => pullSecrets.wake(source) });
    this.#unsubscribe.push(
      pods.subscribe((change) => this.#onPod(change)),
      namespaces.subscribe((change) => this.#onNamespace(change)),
    );
  }

  /** Hands over the cache of SidecarSets, with an index `source`. */
  attach(sets: Cache<SidecarSetRecord>): void {
    this.#sets = sets;
    this.#unsubscribe.push(sets.subscribe((change) => this.#onSet(change)));
    this.#attached.resolve(sets);
  }

  /** For as long as this replica leads: how a SidecarSet hears of its sources. */
  begin(wakeSet: (name: string) => void): () => void {
    this.#wakeSet = wakeSet;
    return () => {
      this.#wakeSet = () => {};
      this.#lastLook.clear();
    };
  }

  /** What is said before everything is in the caches may be wrong. */
  async synced(call: Call = {}): Promise<void> {
    const sets = await unlessAborted(this.#attached.promise, call.signal);
    const { pods, namespaces } = this.#options;
    await Promise.all([sets, pods, namespaces].map((cache) => cache.synced(call)));
  }

  sources(): Iterable<string> {
    return new Set(this.#sets?.list().flatMap(sourcesOf));
  }

  lists(source: string): boolean {
    return this.#listing(source).length > 0;
  }

  wanted(source: string): Wanted {
    const candidates = candidatesOfKey(source);
    const sets = this.#listing(source).filter((set) => this.#isAccepted(set));
    const pods = this.#options.pods.by("source", source);
    const asking = pods.filter((pod) => this.#asksFor(pod, source, candidates, sets));
    const byNamespace = Map.groupBy(asking, namespaceOf);
    return new Map([...byNamespace].map(([namespace, those]) => [namespace, namesIn(those, candidates)]));
  }

  retains(): boolean {
    return false;
  }

  isReserved(place: NamespacedRef, source: string): boolean {
    return this.#options.pods
      .by("claim", keyOf(place))
      .some((pod) =>
        [...pod.pullSecrets].some(
          ([other, name]) => other !== source && name === place.name && this.#isReallyAsking(pod, other),
        ),
      );
  }

  graceMs(source: string): number {
    return this.lists(source) ? this.#options.idleMs : 0;
  }

  /** In a namespace that opted out, Pods that we put something into count as ended. */
  mayGo(copy: NamespacedRef, source: string, call: Call): Promise<boolean> {
    const { labels } = this.surroundings.factsOf(copy.namespace);
    const isOptedOut = labels?.[injectLabel] === "false" && this.lists(source);
    return this.#lastLook.mayGo(copy, source, (pod) => !isOptedOut || !pod.pullSecrets.has(source), call);
  }

  onReport(source: string): void {
    for (const { metadata } of this.#listing(source)) this.#wakeSet(metadata.name);
  }

  /** Another verdict about this SidecarSet: the copies for its Pods may be wanted now, or no longer. */
  noteVerdict(set: SidecarSetRecord): void {
    this.#wakeAll(sourcesOf(set));
  }

  [Symbol.dispose](): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#lastLook[Symbol.dispose]();
  }

  #listing(source: string): readonly SidecarSetRecord[] {
    return this.#sets?.by("source", source) ?? [];
  }

  /** The original judges its objects itself. */
  #isAccepted(set: SidecarSetRecord): boolean {
    return this.#options.mode === "beside" || this.#options.verdicts.isAccepted(set);
  }

  #isReallyAsking(pod: PodRecord, source: string): boolean {
    const sets = this.#listing(source).filter((set) => this.#isAccepted(set));
    return this.#asksFor(pod, source, candidatesOfKey(source), sets);
  }

  #asksFor(pod: PodRecord, source: string, candidates: readonly string[], sets: readonly SidecarSetRecord[]): boolean {
    return namesCopy(pod, source, candidates) && sets.some((set) => isInjectedBy(pod, set, this.surroundings));
  }

  /** Marks may be forged: sources that no SidecarSet lists are no reason to do anything. */
  #onPod({ before, after }: Change<PodRecord>): void {
    if (before && after && isSameNeed(before, after)) return;
    const [left, arrived] = [before, after].map((pod) => (pod && !pod.isFinished ? pod : undefined));
    const sources = new Set([left, arrived].flatMap((pod) => [...(pod?.pullSecrets.keys() ?? [])]));
    for (const source of sources) {
      if (!this.lists(source)) continue;
      if (left && arrived) this.#options.pullSecrets.wake(source);
      else if (arrived) this.#onArrival(source, arrived);
      else if (left) this.#onDeparture(source, namespaceOf(left));
    }
  }

  /** Only a Pod that may have the copy makes it wanted. */
  #onArrival(source: string, pod: PodRecord): void {
    const { pullSecrets } = this.#options;
    const namespace = namespaceOf(pod);
    const isThere = pullSecrets.copyIn(sourceRefOf(source), namespace) !== undefined;
    if (isThere && this.#isReallyAsking(pod, source)) pullSecrets.noteWanted(source, namespace);
    else pullSecrets.wake(source);
  }

  /** Only the last one matters; those that are not for real are none. */
  #onDeparture(source: string, namespace: string): void {
    const { pods, pullSecrets } = this.#options;
    const others = candidatesOfKey(source).flatMap((name) => pods.by("claim", keyOf({ namespace, name })));
    if (!others.some((pod) => !pod.isFinished && this.#isReallyAsking(pod, source))) pullSecrets.wake(source);
  }

  #onSet({ before, after }: Change<SidecarSetRecord>): void {
    const [old, now] = [before, after].map((set) => (set ? sourcesOf(set) : []));
    const isElsewhere =
      before?.metadata.uid !== after?.metadata.uid || !isDeepStrictEqual(scopeOf(before), scopeOf(after));
    const all = [...new Set([...(old ?? []), ...(now ?? [])])];
    this.#wakeAll(isElsewhere ? all : all.filter((source) => old?.includes(source) !== now?.includes(source)));
  }

  /** Its labels decide which of its Pods are for whom. */
  #onNamespace({ key, before, after }: Change<KubeObject>): void {
    if (isDeepStrictEqual(before?.metadata.labels, after?.metadata.labels)) return;
    const pods = this.#options.pods.by("namespace", key);
    this.#wakeAll(pods.flatMap(({ pullSecrets }) => [...pullSecrets.keys()]));
  }

  #wakeAll(sources: Iterable<string>): void {
    for (const source of new Set(sources)) this.#options.pullSecrets.wake(source);
  }
}

export const sourcesOf = ({ references }: SidecarSetRecord): readonly string[] => references.map(keyOf);

const scopeOf = (set: SidecarSetRecord | undefined) =>
  set && [set.spec.selector, set.spec.namespace, set.spec.namespaceSelector];

/** Marks of Pods may be forged: what has no namespace is a source of nobody. */
function sourceRefOf(source: string): NamespacedRef {
  const { namespace = "", name } = refOfKey(source);
  return { namespace, name };
}

const candidatesOfKey = (source: string): readonly string[] => candidatesOf(sourceRefOf(source));

/** Whatever decides about the need for copies is as it was. */
function isSameNeed(before: PodRecord, after: PodRecord): boolean {
  const needOf = ({ metadata, isFinished, pullSecrets, injected, names }: PodRecord) => [
    ...[metadata.uid, metadata.labels, isFinished, pullSecrets, injected, names],
  ];
  return isDeepStrictEqual(needOf(before), needOf(after));
}

/** A copy has one name: the one that most of these Pods can use. */
function namesIn(pods: readonly PodRecord[], candidates: readonly string[]): readonly string[] {
  const usersOf = (candidate: string) => pods.filter(({ names }) => names.has(candidate)).length;
  return candidates.filter((name) => usersOf(name) > 0).toSorted((a, b) => usersOf(b) - usersOf(a));
}
