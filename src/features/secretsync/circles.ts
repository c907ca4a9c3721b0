import { keyOf, type NamespacedRef } from "../../api/objects.ts";
import type { SecretSync } from "../../api/secret-sync.ts";

/** What decides who comes before whom among the SecretSyncs of a circle. */
export interface Precedence {
  /** SecretSyncs that have this place as a destination. */
  writersTo(place: string): readonly SecretSync[];
  /** Is there a copy of this SecretSync in this place already? */
  holds(sync: SecretSync, place: string): boolean;
  /** In which order we came to see them: two of one second have no other. */
  seenAs(sync: SecretSync): number;
}

/**
 * Would copying to this target close a circle (its content comes back to it over other SecretSyncs)? Then one of the
 * circle must not copy, or they would overwrite each other without end: the one that comes last. For that one this
 * returns whose source the target is; whoever holds its place already comes before, then the older.
 */
export function closedCircle(sync: SecretSync, target: NamespacedRef, precedence: Precedence): SecretSync | undefined {
  const end = keyOf(target);
  const self: Entry = { sync, place: end };
  const seen = new Set<string>();
  const search = (place: string): SecretSync | undefined => {
    if (seen.has(place)) return undefined;
    seen.add(place);
    for (const writer of precedence.writersTo(place)) {
      if (writer.metadata.uid === sync.metadata.uid || writer.metadata.deletionTimestamp) continue;
      if (!isBefore({ sync: writer, place }, self, precedence)) continue;
      const from = keyOf(writer.spec.src);
      const found = from === end ? writer : search(from);
      if (found) return found;
    }
    return undefined;
  };
  return search(keyOf(sync.spec.src));
}

interface Entry {
  readonly sync: SecretSync;
  readonly place: string;
}

function isBefore(a: Entry, b: Entry, { holds, seenAs }: Precedence): boolean {
  const [aHolds, bHolds] = [holds(a.sync, a.place), holds(b.sync, b.place)];
  if (aHolds !== bHolds) return aHolds;
  const [aSince, bSince] = [a.sync.metadata.creationTimestamp, b.sync.metadata.creationTimestamp];
  return aSince === bSince ? seenAs(a.sync) < seenAs(b.sync) : aSince < bSince;
}
