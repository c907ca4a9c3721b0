import { createHash } from "node:crypto";
import { keyOf, type NamespacedRef } from "../api/objects.ts";
import { sharing } from "../kube/sharing.ts";

/** A label cannot hold `namespace/name`, and names of copies must not coincide: this stands for the source in both. */
export const sourceHashOf = (source: NamespacedRef): string => hashOfKey(keyOf(source));

/** The same for what an annotation says the source is. Asked for every copy of a source at each pass. */
export const hashOfKey = sharing((source) => createHash("sha256").update(source).digest("hex").slice(0, 10), {
  maxKept: 4_096,
});
