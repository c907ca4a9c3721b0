import { fingerprintAnnotation } from "../api/marks.ts";
import { type KubeObject, keyOf, type NamespacedRef, type Ref } from "../api/objects.ts";
import type { Fingerprint } from "./fingerprint.ts";

/**
 * The fingerprint on a shared copy is tied to its source and its place by the installation's key. All other marks can be
 * forged: what carries this one is our work, or was put back by somebody who had it there before.
 */
export function sealedPrint(print: string, copy: Ref, source: NamespacedRef, fingerprint: Fingerprint): string {
  // The data of no Secret has a blank in it, so nobody can have us compute this by a Secret of his own.
  return `${print}.${fingerprint("", { seal: `${print} ${keyOf(copy)} ${keyOf(source)}` })}`;
}

export function isSealed({ metadata }: KubeObject, source: NamespacedRef, fingerprint: Fingerprint): boolean {
  const mark = metadata.annotations?.[fingerprintAnnotation] ?? "";
  return mark === sealedPrint(printOf(mark), metadata, source, fingerprint);
}

/** What the mark says about the content, sealed or not. */
export const printOf = (mark: string): string => mark.split(".", 1)[0] ?? "";
