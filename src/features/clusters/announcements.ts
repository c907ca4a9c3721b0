import type { ClusterStatus } from "../../api/cluster.ts";
import type { Condition } from "../../api/objects.ts";
import { keyOf } from "../../api/objects.ts";
import type { Announcement } from "../../runtime/outcome.ts";

type Entry = NonNullable<ClusterStatus["imagePullSecrets"]>[number];

/** One event per change of situation, by comparison with the status that was told before. */
export function announcementsOf(
  before: ClusterStatus | undefined,
  after: ClusterStatus,
  occasion: string,
): readonly Announcement[] {
  const events = [
    ...connectionEvents(before, after),
    ...modeEvents(before, after),
    ...(after.imagePullSecrets ?? []).flatMap((entry) => sourceEvents(entry, entryLike(entry, before))),
    ...injectionEvents(before, after),
    ...servedEvents(before, after),
  ];
  return events.map((event) => ({ ...event, situation: `${event.reason} ${event.message} ${occasion}` }));
}

const conditionIn = (status: ClusterStatus | undefined, wanted: string): Condition | undefined =>
  status?.conditions?.find(({ type }) => type === wanted);

const warning = (reason: string, message: string): Announcement => ({ type: "Warning", reason, message });
const normal = (reason: string, message: string): Announcement => ({ type: "Normal", reason, message });

function connectionEvents(before: ClusterStatus | undefined, after: ClusterStatus): readonly Announcement[] {
  const [old, now] = [before, after].map((status) => conditionIn(status, "Reachable"));
  const lost = now?.status === "False" && (old?.status !== "False" || old.reason !== now.reason);
  const isOther =
    before?.clusterID !== undefined && after.clusterID !== undefined && before.clusterID !== after.clusterID;
  return [
    ...(lost ? [warning("Unreachable", now.message)] : []),
    ...(old?.status === "False" && now?.status === "True" ? [normal("Reachable", "its API server answers again")] : []),
    ...(isOther
      ? [
          warning(
            "TargetChanged",
            `the kubeconfig leads to cluster ${after.clusterID} now, no longer to ${before.clusterID}, which is left as it is`,
          ),
        ]
      : []),
  ];
}

function modeEvents(before: ClusterStatus | undefined, after: ClusterStatus): readonly Announcement[] {
  const [old, now] = [before?.injection?.mode, after.injection?.mode];
  if (old === undefined || now === undefined || old === now) return [];
  return [normal("InjectionModeChanged", `Pods get their pull secrets by mode ${now}, no longer by ${old}`)];
}

const entryLike = ({ namespace, name }: Entry, status: ClusterStatus | undefined): Entry | undefined =>
  status?.imagePullSecrets?.find((entry) => entry.namespace === namespace && entry.name === name);

function sourceEvents(entry: Entry, old: Entry | undefined): readonly Announcement[] {
  const source = keyOf(entry);
  const suffixed = entry.suffixed ?? 0;
  const events =
    suffixed > 0 && (old?.suffixed ?? 0) === 0
      ? [normal("NameSuffixed", `copies of ${source} have another name than ${entry.copyName} where that is taken`)]
      : [];
  if (entry.state === old?.state) return events;
  if (entry.state === "Collision")
    return [...events, warning("Collision", `copies of ${source} find their names taken`)];
  if (entry.state !== "SourceMissing") return events;
  const isDeleted = old !== undefined && old.copies > 0;
  return [
    ...events,
    isDeleted
      ? warning("SourceDeleted", `Secret ${source} is gone`)
      : warning("SourceMissing", `Secret ${source} does not exist`),
  ];
}

function injectionEvents(before: ClusterStatus | undefined, after: ClusterStatus): readonly Announcement[] {
  const [old, now] = [before, after].map((status) => conditionIn(status, "Injection"));
  return now?.reason === "Collision" && old?.reason !== "Collision" ? [warning("Collision", now.message)] : [];
}

function servedEvents(before: ClusterStatus | undefined, after: ClusterStatus): readonly Announcement[] {
  const [old, now] = [before, after].map((status) => conditionIn(status, "Ready"));
  return now?.status === "True" && old?.status !== "True" ? [normal("Served", now.message)] : [];
}
