import type { Condition } from "../../api/objects.ts";
import { cut } from "../../runtime/cut.ts";
import type { Counters } from "./counters.ts";
import type { Verdict } from "./judge.ts";
import { byGravity, counted, type Problem } from "./problems.ts";
import type { SidecarSetRecord } from "./record.ts";
import type { Standing } from "./standing.ts";

/** What a pass found out. */
export interface Findings {
  /** None beside the original, which judges for itself. */
  readonly verdict?: Verdict | undefined;
  readonly counters: Counters;
  /** How many namespaces the matched Pods are in. */
  readonly namespaces: number;
  readonly standings: readonly Standing[];
}

type Said = Pick<Condition, "status" | "reason" | "message">;

export function conditionsOf(record: SidecarSetRecord, findings: Findings): readonly Condition[] {
  const { verdict, standings } = findings;
  const ready = condition(record, "Ready", readyOf(record, findings));
  const pullSecrets = condition(record, "PullSecretsReady", pullSecretsOf(record, standings));
  if (!verdict) return [ready, pullSecrets];
  return [ready, acceptedCondition(record, verdict), pullSecrets, condition(record, "Updated", notUpdated)];
}

export function acceptedCondition(record: SidecarSetRecord, verdict: Verdict): Condition {
  const said: Said = verdict.accepted
    ? { status: "True", reason: "Valid", message: "the API server accepts its containers" }
    : { status: "False", reason: verdict.reason, message: verdict.message };
  return condition(record, "Accepted", said);
}

function condition(
  { metadata: { generation } }: SidecarSetRecord,
  type: string,
  { message, ...said }: Said,
): Condition {
  return {
    type,
    ...said,
    message: cut(message, 16_384),
    ...(generation !== undefined && { observedGeneration: generation }),
  };
}

function readyOf(record: SidecarSetRecord, { verdict, counters, namespaces, standings }: Findings): Said {
  const isPaused = record.spec.injectionStrategy?.paused === true;
  const problems = byGravity([
    ...(verdict && !verdict.accepted ? [verdict] : []),
    ...referenceProblemsOf(record, standings),
  ]);
  const told = [...(isPaused ? ["injection is paused"] : []), ...problems.map(({ message }) => message)];
  const [gravest] = problems;
  if (isPaused || gravest) {
    return { status: "False", reason: isPaused || !gravest ? "Paused" : gravest.reason, message: told.join("; ") };
  }
  const copies = standings.reduce((sum, standing) => sum + standing.copies, 0);
  const where = `${counted(counters.matchedPods, "Pod")} in ${counted(namespaces, "namespace")}`;
  return { status: "True", reason: "Injecting", message: `${where}, ${counted(copies, "copy", "copies")}` };
}

const notUpdated: Said = {
  status: "Unknown",
  reason: "NotAvailable",
  message: "images of running Pods are not changed in place: new Pods get the new ones",
};

function pullSecretsOf(record: SidecarSetRecord, standings: readonly Standing[]): Said {
  const notes = [...standings.flatMap((standing) => standing.notes), ...(record.note ? [record.note] : [])];
  const problems = byGravity(referenceProblemsOf(record, standings));
  const [gravest] = problems;
  if (gravest) {
    const message = [...problems.map((problem) => problem.message), ...notes].join("; ");
    return { status: "False", reason: gravest.reason, message };
  }
  if (standings.some(({ state }) => state === "Local")) {
    return { status: "Unknown", reason: "Local", message: notes.join("; ") };
  }
  return { status: "True", ...inOrder(standings, notes) };
}

function inOrder(standings: readonly Standing[], notes: readonly string[]): Pick<Said, "reason" | "message"> {
  if (standings.length === 0) return { reason: "NoReferences", message: ["no Secret is listed", ...notes].join("; ") };
  const copies = standings.reduce((sum, standing) => sum + standing.copies, 0);
  const all = `${counted(copies, "copy", "copies")} of ${counted(standings.length, "Secret")}`;
  return { reason: "AllCopied", message: [all, ...notes].join("; ") };
}

function referenceProblemsOf({ objection }: SidecarSetRecord, standings: readonly Standing[]): readonly Problem[] {
  const invalid: readonly Problem[] = objection ? [{ reason: "InvalidReferences", message: objection }] : [];
  return [...invalid, ...standings.flatMap(({ problems }) => problems)];
}
