import { type NamespacedRef, namespaceOf, refOf } from "../api/objects.ts";
import { span } from "../kube/trace.ts";
import type { CopyResult } from "../replication/ensure.ts";
import { isSealed } from "../replication/seal.ts";
import type { SourceContent, SourceRecord } from "../replication/source.ts";
import type { Wanted } from "./asker.ts";
import { fillerOf } from "./fill.ts";
import { isReady } from "./ground.ts";
import { copiesOf, isStaying, standingCopies } from "./ours.ts";
import { isTrouble, type Need, needsOf, placeOf, tryNames } from "./places.ts";
import type { Place } from "./report.ts";
import type { SourcePass } from "./source-pass.ts";
import type { Trouble } from "./troubles.ts";

/** What came of the copy in one namespace. */
interface Attempt extends Trouble {
  readonly namespace: string;
}

export interface Served {
  /** What came of the namespaces where a copy is wanted. */
  readonly places: ReadonlyMap<string, Place>;
  readonly results: readonly CopyResult[];
}

/** Makes the copies that are wanted, and keeps them and those that may be wanted again equal to the source. */
export function serve(known: SourceRecord | SourceContent, wanted: Wanted, at: SourcePass): Promise<Served> {
  return span("copies", { source: at.key }, async () => {
    const { source, key, installation, copying, kube, home = kube, troubles } = at;
    const { needs, others } = planWork(wanted, at);
    const looksFirst = ({ namespace }: NamespacedRef) => troubles.get(key, namespace) !== undefined;
    const fill = fillerOf({ source, known, installation, copying, home, looksFirst });

    const tried = await tryNames(needs, fill);
    const kept = await fill(others);
    const attempts = [
      ...needs.map(({ namespace }) => attemptIn(namespace, source, tried.get(namespace))),
      ...kept.map((result) => attemptIn(result.target.namespace, source, result)),
    ];
    noteAttempts(attempts, at);
    return { places: placesOf(wanted, attempts, at), results: [...tried.values(), ...kept] };
  });
}

/** What can be done now: not in a namespace that is missing or going, nor where a refusal is too fresh. */
function planWork(wanted: Wanted, at: SourcePass): { needs: readonly Need[]; others: readonly NamespacedRef[] } {
  const { source, key, askers, replication, troubles, memory } = at;
  const copies = copiesOf(source, at).filter(isStaying);
  const isOpen = ({ namespace }: { readonly namespace: string }) =>
    isReady(namespace, at) && troubles.isDue(key, namespace, "write");

  const standing = standingCopies(source, copies);
  const needs = needsOf({ source, wanted, standing, isReserved: (place) => askers.isReserved(place, key) });
  const graceMs = askers.graceMs(key);
  const isKept = (namespace: string) => wanted.has(namespace) || !memory.isForgotten(key, namespace, graceMs);
  // Marks create no claim, for anybody can write them: of copies that nobody wants those with a seal are kept equal,
  // for as long as they may lie idle.
  const others = copies
    .filter((copy) => !wanted.has(namespaceOf(copy)) || standing.get(namespaceOf(copy)) !== copy)
    .filter((copy) => isKept(namespaceOf(copy)))
    .filter((copy) => isSealed(copy, source, replication.fingerprint));
  return { needs: needs.filter(isOpen), others: others.map(refOf).filter(isOpen) };
}

const attemptIn = (namespace: string, source: NamespacedRef, result: CopyResult | undefined): Attempt => ({
  namespace,
  verb: "write",
  name: result?.target.name ?? "",
  place: placeOf(source, result),
});

/** Remembers what was refused, once for each namespace, and forgets what went well. */
function noteAttempts(attempts: readonly Attempt[], { key, troubles, log }: SourcePass): void {
  const troubled = new Map(attempts.filter(({ place }) => isTrouble(place)).map((each) => [each.namespace, each]));
  for (const namespace of new Set(attempts.map((attempt) => attempt.namespace))) {
    const trouble = troubled.get(namespace);
    if (!trouble) {
      // That a second copy there is not let go is another matter.
      if (troubles.get(key, namespace)?.verb !== "delete") troubles.clear(key, namespace);
      continue;
    }
    const reason = trouble.place.kind;
    const isNew = troubles.get(key, namespace)?.place.kind !== reason;
    if (isNew) log.warn("a copy could not be made", { source: key, namespace, reason });
    troubles.note(key, namespace, trouble);
  }
}

function placesOf(
  wanted: Wanted,
  attempts: readonly Attempt[],
  { troubles, key }: SourcePass,
): ReadonlyMap<string, Place> {
  const attempted = new Map(attempts.toReversed().map(({ namespace, place }) => [namespace, place]));
  const putOff = (namespace: string): Place => troubles.get(key, namespace)?.place ?? { kind: "pending" };
  return new Map([...wanted.keys()].map((namespace) => [namespace, attempted.get(namespace) ?? putOff(namespace)]));
}
