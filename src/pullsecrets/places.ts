import type { NamespacedRef } from "../api/objects.ts";
import type { CopyRecord } from "../replication/copy.ts";
import type { CopyResult } from "../replication/ensure.ts";
import type { Wanted } from "./asker.ts";
import type { Fill } from "./fill.ts";
import { candidatesOf, namesToTry } from "./names.ts";
import type { Place } from "./report.ts";

/** A namespace that needs a copy, and the names it may have there, to be tried in this order. */
export interface Need {
  readonly namespace: string;
  readonly names: readonly string[];
}

interface Demand {
  readonly source: NamespacedRef;
  readonly wanted: Wanted;
  /** The copies that are there, by namespace. */
  readonly standing: ReadonlyMap<string, CopyRecord>;
  isReserved(place: NamespacedRef): boolean;
}

/** A copy that is there keeps its name; others follow in case it is lost to somebody else just now. */
export function needsOf({ source, wanted, standing, isReserved }: Demand): readonly Need[] {
  return [...wanted].map(([namespace, carried]) => {
    const names = namesToTry({ source, carried, isReserved: (name) => isReserved({ namespace, name }) });
    const present = standing.get(namespace)?.metadata.name;
    return { namespace, names: present === undefined ? names : [...new Set([present, ...names])] };
  });
}

/**
 * Tries the names in rounds, all namespaces at once: the next name only where somebody else holds the one before.
 * Tells the last result for each namespace; none for one without a name to try.
 */
export async function tryNames(needs: readonly Need[], fill: Fill): Promise<ReadonlyMap<string, CopyResult>> {
  const results = new Map<string, CopyResult>();
  for (let round = 0; ; round++) {
    const targets = needs.flatMap(({ namespace, names }) => {
      const name = names[round];
      const before = results.get(namespace);
      return name === undefined || (before && !isHeld(before)) ? [] : [{ namespace, name }];
    });
    if (targets.length === 0) return results;
    for (const result of await fill(targets)) results.set(result.target.namespace, result);
  }
}

/** Somebody else has the name, if only for a moment longer. */
const isHeld = ({ kind }: CopyResult): boolean => kind === "collision" || kind === "leaving";

/** What came of a namespace in the end. */
export function placeOf(source: NamespacedRef, result: CopyResult | undefined): Place {
  if (!result || isHeld(result)) return { kind: "collision", names: candidatesOf(source) };
  if (result.kind === "current") return { kind: "copied", name: result.target.name };
  if (result.kind === "refused") {
    const { target, message, missing } = result;
    return { kind: "refused", name: target.name, message, ...(missing && { missing }) };
  }
  // That somebody was quicker is settled by the next try and not worth telling.
  if (result.kind === "unfinished" && result.isFailure) {
    return { kind: "pending", message: result.message, ...(result.isLasting && { isLasting: true }) };
  }
  return { kind: "pending" };
}

/** Somebody has to give way before another try can succeed. */
export const isTrouble = ({ kind }: Place): boolean => kind === "refused" || kind === "collision";
