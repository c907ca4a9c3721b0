import { isDnsLabel, isDnsSubdomain } from "../api/dns-names.ts";
import { sourceAnnotation } from "../api/marks.ts";
import { type KubeObject, keyOf, type NamespacedRef, namespaceOf, refOfKey } from "../api/objects.ts";
import { onceFor, sharing } from "../kube/sharing.ts";
import { isProvenOurs, type Owner } from "../ownership/holder.ts";
import type { CopyRecord } from "../replication/copy.ts";
import type { Replication } from "../replication/replication.ts";
import { candidatesOf } from "./names.ts";

/** Where copies are found, and whose they have to be. */
export interface Whose {
  readonly replication: Pick<Replication, "copies">;
  readonly installation: Owner;
}

/** Undefined for what cannot name a Secret: anyone may have written it on a copy. */
export const parseSource = sharing((key): NamespacedRef | undefined => {
  const { namespace = "", name } = refOfKey(key);
  return isDnsLabel(namespace) && isDnsSubdomain(name) ? { namespace, name } : undefined;
});

export const isCopyOf = (copy: KubeObject, source: NamespacedRef, installation: Owner): boolean =>
  copy.metadata.annotations?.[sourceAnnotation] === keyOf(source) && sourceOf(copy, installation) !== undefined;

/** The source of a Secret that is proven to be a copy of ours. */
export const sourceOf = (copy: KubeObject, installation: Owner): NamespacedRef | undefined =>
  provenBy(installation)(copy);

/** All marks agree and it has a name that a copy of its source can have. Less is no proof. */
const provenBy = onceFor((installation: Owner) =>
  onceFor((copy: KubeObject): NamespacedRef | undefined => {
    const source = parseSource(copy.metadata.annotations?.[sourceAnnotation] ?? "");
    const isNamedSo = source && candidatesOf(source).includes(copy.metadata.name);
    return isNamedSo && isProvenOurs(copy, installation) ? source : undefined;
  }),
);

/** In all namespaces; those that are going away too. */
export function copiesOf(source: NamespacedRef, { replication, installation }: Whose): readonly CopyRecord[] {
  return replication.copies.by("source", keyOf(source)).filter((copy) => isCopyOf(copy, source, installation));
}

/** Of two copies in one namespace the better named one counts; one that is going away does not. */
export function copyIn(
  source: NamespacedRef,
  namespace: string,
  { replication, installation }: Whose,
): CopyRecord | undefined {
  for (const name of candidatesOf(source)) {
    const copy = replication.copies.get(keyOf({ namespace, name }));
    if (copy && isStaying(copy) && isCopyOf(copy, source, installation)) return copy;
  }
  return undefined;
}

/** The same for every namespace that has a copy. */
export function standingCopies(source: NamespacedRef, copies: readonly CopyRecord[]): ReadonlyMap<string, CopyRecord> {
  const worstFirst = candidatesOf(source).toReversed();
  const staying = worstFirst.flatMap((name) => copies.filter((copy) => copy.metadata.name === name && isStaying(copy)));
  return new Map(staying.map((copy) => [namespaceOf(copy), copy]));
}

export const isStaying = ({ metadata }: KubeObject): boolean => !metadata.deletionTimestamp;
