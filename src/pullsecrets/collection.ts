import { type NamespacedRef, namespaceOf } from "../api/objects.ts";
import type { CopyRecord } from "../replication/copy.ts";
import type { Wanted } from "./asker.ts";
import { isStaying, standingCopies } from "./ours.ts";

/** Nobody wants a copy in this namespace. */
export interface Idle {
  /** Of the copy that lies there. */
  readonly uid: string;
  /** Since when that one has been there for nobody. */
  readonly sinceMs: number;
  /** The same for all that were there before it: whoever puts back what he kept wins no time. */
  readonly unwantedSinceMs: number;
}

interface Situation {
  readonly source: NamespacedRef;
  /** All copies of the source. */
  readonly copies: readonly CopyRecord[];
  readonly wanted: Wanted;
  /** What was idle before, by namespace. */
  readonly idle: ReadonlyMap<string, Idle>;
  /** Namespaces that are there. */
  readonly namespaces: { has(name: string): boolean };
  /** How long a copy may lie idle. */
  readonly graceMs: number;
  readonly nowMs: number;
}

interface Collection {
  /** Nothing but a last look stands between these and their end. */
  readonly due: readonly CopyRecord[];
  readonly idle: ReadonlyMap<string, Idle>;
  /** Until the next one is due. */
  readonly nextDueMs: number | undefined;
}

/** Which copies have lain idle for long enough. Of two in one namespace the second is needed by nobody new. */
export function planCollection(situation: Situation): Collection {
  const { source, copies, wanted, idle, graceMs, nowMs, namespaces } = situation;
  const standing = standingCopies(source, copies);
  const waits = copies.filter(isStaying).flatMap((copy) => {
    const namespace = namespaceOf(copy);
    if (standing.get(namespace) !== copy || wanted.has(namespace)) return [];
    const { uid } = copy.metadata;
    const before = idle.get(namespace);
    const sinceMs = before?.uid === uid ? before.sinceMs : nowMs;
    const now: Idle = { uid, sinceMs, unwantedSinceMs: before?.unwantedSinceMs ?? nowMs };
    return [{ copy, namespace, now, leftMs: sinceMs + graceMs - nowMs }];
  });
  const seconds = copies.filter((copy) => isStaying(copy) && standing.get(namespaceOf(copy)) !== copy);
  const bereft = [...idle].filter(([namespace]) => namespaces.has(namespace) && !wanted.has(namespace));
  const later = waits.flatMap(({ leftMs }) => (leftMs > 0 ? [leftMs] : []));
  return {
    due: [...seconds, ...waits.flatMap(({ copy, leftMs }) => (leftMs > 0 ? [] : [copy]))],
    idle: new Map([...bereft, ...waits.map(({ namespace, now }) => [namespace, now] as const)]),
    nextDueMs: later.length > 0 ? later.reduce((a, b) => Math.min(a, b)) : undefined,
  };
}
