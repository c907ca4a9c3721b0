import { type Condition, keyOf } from "../../api/objects.ts";
import type { SecretSync, SecretSyncStatus } from "../../api/secret-sync.ts";
import type { Announcement } from "../../runtime/outcome.ts";
import { policyOf } from "./owner.ts";
import { byGravity, type Problem, problemsOf, type Target } from "./problems.ts";

/** What a pass found out. */
export interface Findings {
  readonly targets: readonly Target[];
  /** Besides those that the targets tell of. */
  readonly problems: readonly Problem[];
}

export function statusOf(sync: SecretSync, { targets, problems }: Findings): SecretSyncStatus {
  const all = byGravity([...problems, ...problemsOf(targets)]);
  const gravest = all[0];
  const told = all.length > 0 ? all.map((problem) => problem.message) : [syncedMessage(sync)];
  const objection = policyOf(sync).objection;
  const hasSynced = !gravest || sync.status?.hasSynced === true;
  return {
    ...common(sync),
    phase: gravest ? (hasSynced ? "Degraded" : "Pending") : "Synced",
    hasSynced,
    copies: `${targets.filter((target) => target.state === "Synced").length}/${sync.spec.dest.length}`,
    conditions: [
      condition(sync, "Sync", {
        status: gravest ? "False" : "True",
        reason: gravest?.reason ?? "Synced",
        message: [...told, ...(objection ? [objection] : [])].join("; "),
      }),
      condition(sync, "Paused", { status: "False", reason: "SpecSaysUnpaused", message: "spec.paused is false" }),
    ],
    targets: targets.map((target) => ({ ...target })),
  };
}

/** While paused everything else stays as it was. */
export function pausedStatusOf(sync: SecretSync): SecretSyncStatus {
  const before = sync.status ?? {};
  const neverRan = condition(sync, "Sync", {
    status: "Unknown",
    reason: "Paused",
    message: "paused before it ever ran",
  });
  return {
    ...common(sync),
    phase: "Paused",
    hasSynced: before.hasSynced === true,
    copies: before.copies ?? `0/${sync.spec.dest.length}`,
    conditions: [
      before.conditions?.find(({ type }) => type === "Sync") ?? neverRan,
      condition(sync, "Paused", { status: "True", reason: "SpecSaysPaused", message: "spec.paused is true" }),
    ],
    targets:
      before.targets ?? sync.spec.dest.map(({ namespace, name }) => ({ namespace, name, state: "Pending" as const })),
  };
}

/** A missing source leaves copies as they are: each target stays what it was. */
export function targetsBefore(sync: SecretSync): readonly Target[] {
  const before = new Map((sync.status?.targets ?? []).map((target) => [keyOf(target), target]));
  return sync.spec.dest.map(({ namespace, name }) => {
    const known = before.get(keyOf({ namespace, name }));
    if (!known) return { namespace, name, state: "Pending" as const };
    return { namespace, name, state: known.state, ...(known.message && { message: known.message }) };
  });
}

/** One event per change of situation; what somebody else's words are in detail does not make another one. */
export function announcementsOf(sync: SecretSync, status: SecretSyncStatus): readonly Announcement[] {
  const now = syncCondition(status);
  if (!now || now.reason === "Paused") return [];
  const events: Announcement[] = [];
  const objection = policyOf(sync).objection;
  if (objection && !syncCondition(sync.status)?.message.includes(objection)) {
    events.push({ type: "Warning", reason: "InvalidCollisionProtection", message: objection });
  }
  const situation = situationOf(status);
  if (!sync.spec.paused && situation !== situationOf(sync.status)) {
    const type = now.status === "True" ? "Normal" : "Warning";
    events.push({ type, reason: now.reason, message: now.message, situation });
  }
  return events;
}

function situationOf(status: SecretSyncStatus | undefined): string | undefined {
  const sync = syncCondition(status);
  if (!sync) return undefined;
  const bad = (status?.targets ?? []).filter(({ state }) => state !== "Synced");
  return [sync.reason, status?.source, ...bad.map((target) => `${keyOf(target)}=${target.state}`)].join(" ");
}

const syncCondition = (status: SecretSyncStatus | undefined) => status?.conditions?.find(({ type }) => type === "Sync");

const common = (sync: SecretSync) => ({
  ...(sync.metadata.generation !== undefined && { observedGeneration: sync.metadata.generation }),
  source: keyOf(sync.spec.src),
  strategy: sync.spec.strategy.poll ? "poll" : "watch",
});

function syncedMessage({ spec }: SecretSync): string {
  const count = spec.dest.length;
  const source = keyOf(spec.src);
  return count === 1 ? `1 copy of ${source} is up to date` : `${count} copies of ${source} are up to date`;
}

function condition(sync: SecretSync, type: string, said: Pick<Condition, "status" | "reason" | "message">): Condition {
  const { generation } = sync.metadata;
  return { type, ...said, ...(generation !== undefined && { observedGeneration: generation }) };
}
