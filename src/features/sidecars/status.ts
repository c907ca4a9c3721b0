import { isDeepStrictEqual } from "node:util";
import type { SidecarSetStatus } from "../../api/sidecar-set.ts";
import { acceptedCondition, conditionsOf, type Findings } from "./conditions.ts";
import type { Verdict } from "./judge.ts";
import type { SidecarSetRecord } from "./record.ts";
import { isInOrder, type Standing } from "./standing.ts";

/** The whole of it. */
export function statusOf(record: SidecarSetRecord, findings: Findings): SidecarSetStatus {
  return { specChangedAt: record.changedAt, ...findings.counters, ...besideStatusOf(record, findings) };
}

/** Beside the original: what only we can tell. */
export function besideStatusOf(record: SidecarSetRecord, findings: Findings): SidecarSetStatus {
  const { standings } = findings;
  const { generation } = record.metadata;
  return {
    ...(generation !== undefined && { observedGeneration: generation }),
    pullSecrets: `${standings.filter(isInOrder).length}/${standings.length}`,
    imagePullSecrets: standings.map(entryOf),
    conditions: conditionsOf(record, findings),
  };
}

/** What was told before, with another verdict. */
export function withVerdict(record: SidecarSetRecord, verdict: Verdict): SidecarSetStatus {
  const { conditions = [], ...rest } = record.status ?? {};
  const accepted = acceptedCondition(record, verdict);
  const isKept = conditions.some(({ type }) => type === accepted.type);
  const kept = conditions.map((each) => (each.type === accepted.type ? accepted : each));
  return { ...rest, conditions: isKept ? kept : [...kept, accepted] };
}

function entryOf({ reference, copyName, state, copies, suffixed }: Standing) {
  return { namespace: reference.written, name: reference.name, copyName, state, copies, suffixed };
}

/** How much a status says that another did not. */
export type Difference = "none" | "numbers" | "situation";

export function differenceOf(before: SidecarSetStatus | undefined, after: SidecarSetStatus): Difference {
  if (!before || !isDeepStrictEqual(situationOf(before), situationOf(after))) return "situation";
  return isDeepStrictEqual(withoutTimes(before), withoutTimes(after)) ? "none" : "numbers";
}

/** All but numbers, and messages, which repeat them. */
function situationOf({ observedGeneration, specChangedAt, imagePullSecrets = [], conditions = [] }: SidecarSetStatus) {
  return [
    observedGeneration,
    specChangedAt,
    imagePullSecrets.map(({ namespace, name, copyName, state }) => [namespace, name, copyName, state]),
    conditions.map(({ type, status, reason, observedGeneration: of }) => [type, status, reason, of]),
  ];
}

function withoutTimes({ conditions = [], ...rest }: SidecarSetStatus) {
  return { ...rest, conditions: conditions.map(({ lastTransitionTime: _since, ...condition }) => condition) };
}
