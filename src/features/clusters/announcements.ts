import type { ClusterStatus } from "../../api/cluster.ts";
import type { Condition } from "../../api/objects.ts";
import { keyOf } from "../../api/objects.ts";
import type { Announcement } from "../../runtime/outcome.ts";
import type { ClusterRecord } from "./record.ts";
import { counted } from "./words.ts";

type Entry = NonNullable<ClusterStatus["imagePullSecrets"]>[number];

/** One event per change of situation, by comparison with the status that was told before. */
export function announcementsOf(
  before: ClusterStatus | undefined,
  after: ClusterStatus,
  { metadata: { resourceVersion: occasion }, wish: { retains } }: Pick<ClusterRecord, "metadata" | "wish">,
): readonly Announcement[] {
  const events = [
    ...connectionEvents(before, after),
    ...modeEvents(before, after),
    ...(after.imagePullSecrets ?? []).flatMap((entry) => sourceEvents(entry, entryLike(entry, before), retains)),
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
  return [normal("InjectionModeChanged", `the mode is ${now} now, no longer ${old}`)];
}

const entryLike = ({ namespace, name }: Entry, status: ClusterStatus | undefined): Entry | undefined =>
  status?.imagePullSecrets?.find((entry) => entry.namespace === namespace && entry.name === name);

function sourceEvents(entry: Entry, old: Entry | undefined, retains: boolean): readonly Announcement[] {
  const source = keyOf(entry);
  const isSuffixed = (entry.suffixed ?? 0) > 0 && (old?.suffixed ?? 0) === 0;
  const collides = entry.state === "Collision" && old?.state !== "Collision";
  return [
    ...(isSuffixed
      ? [normal("NameSuffixed", `copies of ${source} have another name than ${entry.copyName} where that is taken`)]
      : []),
    ...(collides ? [warning("Collision", `copies of ${source} find their names taken`)] : []),
    ...(entry.state === "SourceMissing" ? missingEvents(entry, old, retains) : []),
  ];
}

/** Copies that are to go with their source have a moment left: it may come back, and then nothing has happened. */
function missingEvents(entry: Entry, old: Entry | undefined, retains: boolean): readonly Announcement[] {
  const source = keyOf(entry);
  const gone = (old?.copies ?? 0) - entry.copies;
  if (gone > 0 && !retains) {
    return [
      warning("SourceDeleted", `Secret ${source} is gone, and so ${counted(gone, "copy is", "copies are")} deleted`),
    ];
  }
  if (entry.state === old?.state || (entry.copies > 0 && !retains)) return [];
  return [warning("SourceMissing", `Secret ${source} does not exist`)];
}

function injectionEvents(before: ClusterStatus | undefined, after: ClusterStatus): readonly Announcement[] {
  const [old, now] = [before, after].map((status) => conditionIn(status, "Injection"));
  return now?.reason === "Collision" && old?.reason !== "Collision" ? [warning("Collision", now.message)] : [];
}

function servedEvents(before: ClusterStatus | undefined, after: ClusterStatus): readonly Announcement[] {
  const [old, now] = [before, after].map((status) => conditionIn(status, "Ready"));
  return now?.status === "True" && old?.status !== "True" ? [normal("Served", now.message)] : [];
}
