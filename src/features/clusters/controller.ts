import { clusters } from "../../api/kinds.ts";
import { clustersFinalizer, statusAnnotation } from "../../api/marks.ts";
import type { WatchCache } from "../../kube/cache.ts";
import { span } from "../../kube/trace.ts";
import { BesideWriter } from "../../runtime/beside-writer.ts";
import type { Controller, Pass } from "../../runtime/controller.ts";
import { finalizersPatch } from "../../runtime/finalizers.ts";
import type { Outcome } from "../../runtime/outcome.ts";
import { announcementsOf } from "./announcements.ts";
import { BesidePasses } from "./beside-pass.ts";
import type { Fleet } from "./fleet.ts";
import type { Leaving } from "./leaving.ts";
import type { Order } from "./order.ts";
import { type ClusterRecord, type ClustersMode, clusterAnnotations, recordOf } from "./record.ts";
import type { Roster } from "./roster.ts";
import type { Session } from "./session.ts";
import { clusterStatusOf } from "./status.ts";
import { isUnderWay, viewOf } from "./view.ts";

interface ClusterControllerOptions {
  readonly mode: ClustersMode;
  readonly fleet: Fleet;
  readonly leaving: Leaving;
  readonly roster: Roster;
}

/** What is done within this time is told once, when it is done. */
const patienceMs = 2_000;
/** After a start, while what was told before may well be true still. */
const startPatienceMs = 30_000;
const lookAgainMs = 250;
/** A pass that waits for one cluster keeps no other waiting. */
const concurrency = 64;

/** Has every Cluster served, and tells what came of it. */
export function clusterController({
  mode,
  fleet,
  leaving,
  roster,
}: ClusterControllerOptions): Controller<ClusterRecord> {
  const { defaults } = roster;
  const beside = new BesidePasses(new BesideWriter({ resource: clusters, objects: () => objects }));
  const underWaySinceMs = new Map<string, number>();
  /** Of which everything was in its place once. */
  const settled = new WeakSet<Session>();
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
      (wake) => {
        const end = fleet.begin(wake);
        objects.list().forEach(noticeDeletion);
        return end;
      },
      (wake) =>
        defaults.onChange(() => {
          for (const key of objects.keys()) wake(key);
        }),
    ],

    onObjects(cache) {
      objects = cache;
      roster.attach(cache);
      cache.subscribe(({ after }) => after && noticeDeletion(after));
    },

    reconcile: (record, pass) =>
      span("clusters.status", { cluster: record.metadata.name }, () => reconcile(record, pass)),

    async finalize(record, pass) {
      const { isDone, event, recheckAfterMs } = await leaving.leave(orderOf(record), pass);
      if (isDone) fleet.release(record.metadata.name);
      const events = event ? [event] : [];
      return isDone ? { remove: [clustersFinalizer], events } : { recheckAfterMs };
    },

    gone(key, record) {
      underWaySinceMs.delete(record.metadata.uid);
      beside.forget(record.metadata.uid);
      if (mode === "beside") leaving.leaveInTime(orderOf(record));
      else fleet.release(key);
      leaving.forget(record.metadata.uid);
    },
  };

  function orderOf(record: ClusterRecord): Order {
    return { record, credentials: roster.credentialsOf(record) };
  }

  /** Without our finalizer there is no pass that would see to it. */
  function noticeDeletion(record: ClusterRecord): void {
    const { name, deletionTimestamp, finalizers = [] } = record.metadata;
    if (!deletionTimestamp) return;
    if (mode === "beside") leaving.leaveInTime(orderOf(record));
    // Others may keep it for long.
    else if (!finalizers.includes(clustersFinalizer)) fleet.release(name);
  }

  async function reconcile(record: ClusterRecord, pass: Pass): Promise<Outcome> {
    const order = orderOf(record);
    if (mode === "beside") await withdrawFinalizer(record, pass);
    if (mode === "beside" && !isAsking(order)) return await leaveAlone(order, pass);
    const link = fleet.ensure(order);
    if (link?.isRetired) {
      // It was being left, and asks again: from the beginning.
      fleet.release(record.metadata.name);
      return { recheckAfterMs: lookAgainMs };
    }
    const view = link && viewOf(link, fleet);
    if (!view) return {};
    if (isUnderWay(view) && !hasLasted(record, link.session)) return { recheckAfterMs: lookAgainMs };
    if (!isUnderWay(view)) {
      underWaySinceMs.delete(record.metadata.uid);
      if (link.session) settled.add(link.session);
    }

    const status = clusterStatusOf(record, view);
    if (mode === "beside") return await beside.tell(record, status, pass);
    return { status, events: announcementsOf(record.status, status, record) };
  }

  function hasLasted(record: ClusterRecord, session: Session | undefined): boolean {
    const { uid } = record.metadata;
    const nowMs = performance.now();
    const sinceMs = underWaySinceMs.get(uid) ?? nowMs;
    underWaySinceMs.set(uid, sinceMs);
    const isStarting = session !== undefined && !settled.has(session) && isTold(record);
    return nowMs - sinceMs >= (isStarting ? startPatienceMs : patienceMs);
  }

  /** Most of the original's Clusters want nothing of us. What was done for one that did goes, and then it is forgotten. */
  async function leaveAlone(order: Order, pass: Pass): Promise<Outcome> {
    const { record } = order;
    const { name, annotations = {} } = record.metadata;
    if (annotations[statusAnnotation] === undefined && !fleet.get(name)) return {};
    const { isDone, recheckAfterMs } = await leaving.leaveUnasked(order, pass);
    if (!isDone) return { recheckAfterMs };
    fleet.release(name);
    return await beside.fallSilent(record, pass);
  }

  async function withdrawFinalizer(record: ClusterRecord, { kube, signal }: Pass): Promise<void> {
    const { finalizers = [] } = record.metadata;
    if (!finalizers.includes(clustersFinalizer)) return;
    const rest = finalizers.filter((name) => name !== clustersFinalizer);
    await kube.patch(clusters, record.metadata, finalizersPatch(record, rest), { signal });
  }
}

/** Something about it is written down for us, or the default is for it. */
const isAsking = ({ record, credentials }: Order): boolean =>
  credentials.from !== "None" || clusterAnnotations.some((name) => record.metadata.annotations?.[name]);

/** Somebody has served this very order before. */
const isTold = ({ metadata: { generation }, status }: ClusterRecord): boolean =>
  status?.conditions?.some(
    ({ type, status: state, observedGeneration }) =>
      type === "Reachable" && state === "True" && observedGeneration === generation,
  ) ?? false;
