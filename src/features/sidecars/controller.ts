import { isDeepStrictEqual } from "node:util";
import type { KubeObject, Resource } from "../../api/objects.ts";
import type { Change, WatchCache } from "../../kube/cache.ts";
import { span } from "../../kube/trace.ts";
import type { PullSecrets } from "../../pullsecrets/pull-secrets.ts";
import { BesideWriter } from "../../runtime/beside-writer.ts";
import type { Controller, Pass } from "../../runtime/controller.ts";
import { Soon } from "../../runtime/soon.ts";
import type { Verdicts } from "./accepted.ts";
import { BesidePasses } from "./beside-pass.ts";
import { forgetInjections } from "./injections.ts";
import { InsteadPasses } from "./instead-pass.ts";
import { nameConflictOf, type Verdict } from "./judge.ts";
import { LeftOut } from "./left-out.ts";
import { showCopies, showPods } from "./metrics.ts";
import type { PodRecord } from "./pod-record.ts";
import { recordOf, type SidecarSetRecord, type SidecarsMode } from "./record.ts";
import { Trials } from "./trials.ts";
import { sourcesOf, type Wants } from "./wants.ts";

/** Between two passes because of Pods, and two writes because of numbers. */
const paceMs = 500;

export interface SidecarSetControllerOptions {
  readonly mode: SidecarsMode;
  /** In the version that is read and written. */
  readonly resource: Resource;
  /** The operator's own, where Pods may be tried. */
  readonly namespace: string;
  readonly defaultNamespace: string;
  /** With `podIndexes`. */
  readonly pods: WatchCache<PodRecord>;
  readonly namespaces: WatchCache;
  readonly pullSecrets: PullSecrets;
  readonly wants: Wants;
  readonly verdicts: Verdicts;
  /** Hands over the cache of SidecarSets. */
  onSets(sets: WatchCache<SidecarSetRecord>): void;
}

/** Judges SidecarSets and tells what came of them. What they ask for is done by webhook and pull secrets. */
export function sidecarSetController(options: SidecarSetControllerOptions): Controller<SidecarSetRecord> {
  const { mode, resource, namespace, pods, pullSecrets, wants, verdicts } = options;
  const leftOut = new LeftOut();
  const sight = { pods, pullSecrets, surroundings: wants.surroundings, leftOut };
  const soon = new Soon(paceMs);
  const trials = new Trials({ verdicts, namespace });
  const passes =
    mode === "beside"
      ? new BesidePasses(sight, new BesideWriter({ resource, objects: () => sets }))
      : new InsteadPasses({ sight, gapMs: paceMs, judge: verdictOf, nextTrialMs: (uid) => trials.nextDueMs(uid) });
  let sets: WatchCache<SidecarSetRecord>;
  let wake: (name: string) => void = () => {};

  return {
    name: "sidecars",
    resource,
    keepManagedFields: true,
    transform: (object) => recordOf(object, options),
    indexes: { source: sourcesOf, names: namesIn },
    watches: [
      { cache: pods, wakes: (change) => wokenByPod(change as Change<PodRecord>) },
      { cache: options.namespaces, wakes: wokenByNamespace },
    ],
    wakers: [beginTerm, (wakeSet) => soon.begin(wakeSet), (wakeSet) => wants.begin(wakeSet)],

    onObjects(objects) {
      sets = objects;
      wants.attach(objects);
      options.onSets(objects);
      objects.subscribe(({ key, after }) => void (!after && forgetInjections(key)));
      showPods(() => objects.list());
      showCopies(() => pullSecrets.reports());
    },

    reconcile: (record, pass) =>
      span("sidecars.pass", { sidecarset: record.metadata.name }, () => passes.pass(record, pass)),

    gone(key, { metadata: { uid } }) {
      verdicts.forget(uid);
      leftOut.forget(uid);
      trials.forget(uid);
      passes.forget(uid);
      soon.forget(key);
    },
  };

  /** Conflicts come and go with others; what the API server says holds for the whole generation. */
  async function verdictOf(record: SidecarSetRecord, pass: Pass): Promise<Verdict> {
    const conflict = nameConflictOf(record, rivalsOf(record));
    if (conflict) trials.forget(record.metadata.uid);
    const verdict = conflict ?? (await trials.verdictOf(record, pass));
    if (verdicts.note(record, verdict)) {
      wants.noteVerdict(record);
      for (const name of namesakesOf(record)) wake(name);
    }
    return verdict;
  }

  function beginTerm(wakeSet: (name: string) => void): () => void {
    wake = wakeSet;
    const unsubscribe = sets.subscribe(({ before, after }) => {
      if (before?.metadata.uid === after?.metadata.uid && before?.digest === after?.digest) return;
      for (const set of [before, after]) if (set) for (const name of namesakesOf(set)) wake(name);
    });
    return () => {
      unsubscribe();
      wake = () => {};
      verdicts.clear();
    };
  }

  /** The first by name keeps what both have; one that puts nothing into Pods keeps nothing. */
  function rivalsOf(record: SidecarSetRecord): readonly SidecarSetRecord[] {
    const names = namesakesOf(record).filter((name) => name < record.metadata.name);
    return names.flatMap((name) => sets.get(name) ?? []).filter((rival) => !verdicts.isRejected(rival));
  }

  /** Others with a container or a volume of the same name. */
  function namesakesOf(record: SidecarSetRecord): readonly string[] {
    const all = namesIn(record).flatMap((name) => sets.by("names", name).map(({ metadata }) => metadata.name));
    return [...new Set(all)].filter((name) => name !== record.metadata.name).sort();
  }

  function wokenByPod({ before, after }: Change<PodRecord>): readonly string[] {
    if (before && after && isDeepStrictEqual(factsOf(before), factsOf(after))) return [];
    return wakeSoon([before, after].flatMap((pod) => pod ?? []));
  }

  /** What else Pods list anyone may have written. */
  function wakeSoon(listing: readonly PodRecord[]): readonly string[] {
    const names = new Set(listing.flatMap(({ injected }) => injected));
    for (const name of names) if (sets.has(name)) soon.wake(name);
    return [];
  }

  /** Its labels decide which SidecarSets are for its Pods; and any change is worth another try. */
  function wokenByNamespace({ key, before, after }: Change<KubeObject>): readonly string[] {
    const isSame = isDeepStrictEqual(before?.metadata.labels, after?.metadata.labels);
    if (!leftOut.retry(key) && isSame) return [];
    return wakeSoon(pods.by("namespace", key));
  }
}

/** All but its version. */
const factsOf = ({ metadata, ...facts }: PodRecord) => [{ ...metadata, resourceVersion: "" }, facts];

function namesIn({
  spec: { containers = [], initContainers = [], volumes = [] },
}: SidecarSetRecord): readonly string[] {
  return [
    ...[...containers, ...initContainers].map(({ name }) => `container ${name}`),
    ...volumes.map(({ name }) => `volume ${name}`),
  ];
}
