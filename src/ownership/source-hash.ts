import { createHash } from "node:crypto";
import { keyOf, type NamespacedRef } from "../api/objects.ts";

/** A label cannot hold `namespace/name`, and names of copies must not coincide: this stands for the source in both. */
export const sourceHashOf = (source: NamespacedRef): string => hashOfKey(keyOf(source));

/** The same for what an annotation says the source is. */
export function hashOfKey(source: string): string {
  return createHash("sha256").update(source).digest("hex").slice(0, 10);
}
