import { clusters } from "../../api/kinds.ts";
import { clustersFinalizer } from "../../api/marks.ts";
import type { WatchCache } from "../../kube/cache.ts";
import { span } from "../../kube/trace.ts";
import type { Controller, Pass } from "../../runtime/controller.ts";
import { finalizersPatch } from "../../runtime/finalizers.ts";
import type { Outcome } from "../../runtime/outcome.ts";
import { announcementsOf } from "./announcements.ts";
import type { BesidePasses } from "./beside-pass.ts";
import type { Credentials } from "./credentials.ts";
import type { Defaults } from "./defaults.ts";
import type { Fleet } from "./fleet.ts";
import type { Leaving } from "./leaving.ts";
import { type ClusterRecord, type ClustersMode, recordOf } from "./record.ts";
import { clusterStatusOf } from "./status.ts";
import { isUnderWay, viewOf } from "./view.ts";

interface ClusterControllerOptions {
  readonly mode: ClustersMode;
  readonly fleet: Fleet;
  readonly leaving: Leaving;
  readonly beside: BesidePasses;
  credentialsOf(record: ClusterRecord): Credentials;
  onClusters(objects: WatchCache<ClusterRecord>): void;
  /** Without it clusters that go by the default would seem to want nothing. */
  readonly defaults: Pick<Defaults, "synced" | "onChange">;
}

/** What is done within this time is told once, when it is done. */
const patienceMs = 2_000;
const lookAgainMs = 250;
/** A pass that waits for one cluster keeps no other waiting. */
const concurrency = 64;

/** Has every Cluster served, and tells what came of it. */
export function clusterController(options: ClusterControllerOptions): Controller<ClusterRecord> {
  const { mode, fleet, leaving, beside, defaults } = options;
  const underWaySinceMs = new Map<string, number>();
  let objects: WatchCache<ClusterRecord>;

  return {
    name: "clusters",
    resource: clusters,
    transform: (object) => recordOf(object, mode),
    // On the original's objects it would be in the way; what is there from before goes.
    finalizers: [{ name: clustersFinalizer, wanted: () => mode === "instead" }],
    concurrency,
    watches: [{ cache: { synced: (call) => defaults.synced(call), subscribe: () => () => {} }, wakes: () => [] }],
    wakers: [
      (wake) => fleet.begin(wake),
      (wake) =>
        defaults.onChange(() => {
          for (const key of objects.keys()) wake(key);
        }),
    ],

    onObjects(cache) {
      objects = cache;
      options.onClusters(cache);
      if (mode === "instead") return;
      cache.subscribe(({ after }) => void (after?.metadata.deletionTimestamp && leaving.leaveInTime(after)));
    },

    reconcile: (record, pass) =>
      span("clusters.status", { cluster: record.metadata.name }, () => reconcile(record, pass)),

    async finalize(record, pass) {
      const { isDone, event, recheckAfterMs } = await leaving.leave(record, options.credentialsOf(record), pass);
      if (isDone) fleet.release(record.metadata.name);
      const events = event ? [event] : [];
      return isDone ? { remove: [clustersFinalizer], events } : { recheckAfterMs };
    },

    gone(key, record) {
      underWaySinceMs.delete(record.metadata.uid);
      beside.forget(record.metadata.uid);
      if (mode === "beside") leaving.leaveInTime(record);
      else fleet.release(key);
    },
  };

  async function reconcile(record: ClusterRecord, pass: Pass): Promise<Outcome> {
    if (mode === "beside") await withdrawFinalizer(record, pass);
    const link = fleet.ensure({ record, credentials: options.credentialsOf(record) });
    const view = link && viewOf(link, fleet);
    if (!view) return {};
    if (isUnderWay(view) && !hasLasted(record)) return { recheckAfterMs: lookAgainMs };
    if (!isUnderWay(view)) underWaySinceMs.delete(record.metadata.uid);

    const status = clusterStatusOf(record, view);
    if (mode === "beside") return await beside.tell(record, status, pass);
    return { status, events: announcementsOf(record.status, status, record.metadata.resourceVersion) };
  }

  function hasLasted({ metadata: { uid } }: ClusterRecord): boolean {
    const nowMs = performance.now();
    const sinceMs = underWaySinceMs.get(uid) ?? nowMs;
    underWaySinceMs.set(uid, sinceMs);
    return nowMs - sinceMs >= patienceMs;
  }

  async function withdrawFinalizer(record: ClusterRecord, { kube, signal }: Pass): Promise<void> {
    const { finalizers = [] } = record.metadata;
    if (!finalizers.includes(clustersFinalizer)) return;
    const rest = finalizers.filter((name) => name !== clustersFinalizer);
    await kube.patch(clusters, record.metadata, finalizersPatch(record, rest), { signal });
  }
}
