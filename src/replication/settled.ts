import { keyOf, type NamespacedRef } from "../api/objects.ts";
import { type Desired, planCopy } from "./plan.ts";
import type { Copying } from "./replication.ts";

/** Nothing has to be written here, as far as the caches know: told without reading a byte of the source. */
export function isSettled(
  target: NamespacedRef,
  desired: Desired,
  { copies, namespaces, suspects }: Pick<Copying, "copies" | "namespaces" | "suspects">,
): boolean {
  const key = keyOf(target);
  const namespace = namespaces.get(target.namespace);
  if (!namespace || namespace.metadata.deletionTimestamp || suspects.has(key)) return false;
  return planCopy(copies.get(key), desired).kind === "keep";
}
