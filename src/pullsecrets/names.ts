import type { NamespacedRef } from "../api/objects.ts";
import { onceFor } from "../kube/sharing.ts";
import { sourceHashOf } from "../ownership/source-hash.ts";

const maxLength = 253;
const hashLength = 10;

/** May be longer than a name can be. */
export const literalNameOf = ({ namespace, name }: NamespacedRef): string => `${namespace}-${name}`;

/** Two sources may share a literal name (`a-b`/`c` and `a`/`b-c`), never this one. */
function suffixedNameOf(source: NamespacedRef): string {
  const room = maxLength - hashLength - 1;
  const stem = literalNameOf(source)
    .slice(0, room)
    .replace(/[^a-z0-9]+$/, "");
  return `${stem}-${sourceHashOf(source)}`;
}

/** The names that a copy of this source may have, the better one first. Asked for every copy of a source at each pass. */
export const candidatesOf = onceFor((source: NamespacedRef): readonly string[] => {
  const literal = literalNameOf(source);
  return literal.length > maxLength ? [suffixedNameOf(source)] : [literal, suffixedNameOf(source)];
});

interface Occasion {
  readonly source: NamespacedRef;
  /** Names by which a copy is asked for already, the best first. Anyone may have written them. */
  readonly carried: readonly string[];
  /** Somebody counts on this name for the copy of another source. */
  isReserved(name: string): boolean;
}

/** The names under which a missing copy is made, to be tried in this order. */
export function namesToTry({ source, carried, isReserved }: Occasion): readonly string[] {
  const candidates = candidatesOf(source);
  const known = carried.filter((name) => candidates.includes(name));
  return [...new Set([...known, ...candidates])].filter((name) => !isReserved(name));
}
