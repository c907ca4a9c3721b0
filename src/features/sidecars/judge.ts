import type { Call, Kube } from "../../kube/client.ts";
import { cut } from "../../runtime/cut.ts";
import { dryRun } from "./dry-run.ts";
import { conflictOf } from "./overlap.ts";
import type { SidecarSetRecord } from "./record.ts";

export interface Rejected {
  readonly accepted: false;
  readonly reason: "InvalidContainers" | "NameConflict";
  readonly message: string;
}

export interface Accepted {
  readonly accepted: true;
  /** For want of a better answer. */
  readonly isUnproven?: true;
}

/** Whether a SidecarSet may be put into Pods. */
export type Verdict = Accepted | Rejected;

export interface Judging extends Call {
  /** Those that keep their names when this one has the same. */
  readonly sets: Iterable<SidecarSetRecord>;
  readonly kube: Kube;
  /** Where Pods may be tried. */
  readonly namespace: string;
}

export async function judge(record: SidecarSetRecord, judging: Judging): Promise<Verdict> {
  return nameConflictOf(record, judging.sets) ?? (await judgeContainers(record, judging));
}

export function nameConflictOf(record: SidecarSetRecord, sets: Iterable<SidecarSetRecord>): Rejected | undefined {
  for (const other of sets) {
    if (other.metadata.name === record.metadata.name) continue;
    const message = conflictOf(record, other);
    if (message !== undefined) return { accepted: false, reason: "NameConflict", message };
  }
  return undefined;
}

/** A container that the API server refuses would keep every matching Pod from being created. */
export async function judgeContainers(
  record: SidecarSetRecord,
  { kube, namespace, signal }: Omit<Judging, "sets">,
): Promise<Verdict> {
  const trial = await dryRun(kube, namespace, record, { signal });
  if (trial.kind === "invalid")
    return { accepted: false, reason: "InvalidContainers", message: cut(trial.words, 8_192) };
  return trial.kind === "valid" ? { accepted: true } : { accepted: true, isUnproven: true };
}
