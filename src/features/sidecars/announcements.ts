import { keyOf } from "../../api/objects.ts";
import type { SidecarSetStatus } from "../../api/sidecar-set.ts";
import type { Announcement } from "../../runtime/outcome.ts";
import type { Standing } from "./standing.ts";

type Entry = NonNullable<SidecarSetStatus["imagePullSecrets"]>[number];

/** States that are told when a reference gets into them. */
const told: readonly Entry["state"][] = ["SourceTypeRejected", "SourceIsACopy", "SourceVetoed", "Collision"];

/**
 * One event per change of situation, by comparison with the status that was told before. `occasion` tells this change
 * from an earlier one into the same situation.
 */
export function announcementsOf(
  before: SidecarSetStatus | undefined,
  standings: readonly Standing[],
  occasion: string,
): readonly Announcement[] {
  const events = standings.flatMap((standing) => {
    const { written, name } = standing.reference;
    const old = before?.imagePullSecrets?.find((entry) => entry.namespace === written && entry.name === name);
    return [...changesOf(standing, old), ...suffixesOf(standing, old)];
  });
  return events.map((event) => ({ ...event, situation: `${event.reason} ${event.message} ${occasion}` }));
}

function changesOf(standing: Standing, old: Entry | undefined): readonly Announcement[] {
  const { reference, state, problems } = standing;
  if (state === old?.state) return [];
  const source = keyOf(reference);
  const isGone = state === "SourceMissing" || state === "Local";
  if (isGone && (old?.state === "Copied" || old?.state === "Unused")) {
    return [warning("SourceDeleted", `Secret ${source} is gone, and its copies go with it`)];
  }
  if (state !== "SourceMissing" && !told.includes(state)) return [];
  return [warning(state, problems.map(({ message }) => message).join("; "))];
}

function suffixesOf({ suffixed, notes }: Standing, old: Entry | undefined): readonly Announcement[] {
  if (suffixed === 0 || (old?.suffixed ?? 0) > 0) return [];
  return [{ type: "Normal", reason: "NameSuffixed", message: notes.join("; ") }];
}

const warning = (reason: string, message: string): Announcement => ({ type: "Warning", reason, message });
