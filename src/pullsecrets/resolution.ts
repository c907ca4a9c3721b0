import { keyOf, type NamespacedRef } from "../api/objects.ts";
import type { CopyResult } from "../replication/ensure.ts";
import type { Ground } from "./ground.ts";
import { judge } from "./judge.ts";
import { copyIn } from "./ours.ts";
import { placeOf } from "./places.ts";
import type { SourceState } from "./report.ts";

/** What a Pod in one namespace can count on. */
export type Resolution =
  /** It is there; for a dry run, it would be. */
  | { readonly kind: "copy"; readonly name: string }
  /** The source does not exist: the name that its copy will have. */
  | { readonly kind: "missing"; readonly name: string }
  /** It could not be made now: the name that it will have. */
  | { readonly kind: "refused"; readonly name: string }
  | { readonly kind: "left-out"; readonly why: SourceState | { readonly kind: "collision" } }
  /** No answer in time: it will have one of its two names. */
  | { readonly kind: "unknown" };

export const collided: Resolution = { kind: "left-out", why: { kind: "collision" } };

/** What can be told without asking anybody. */
export function knownResolution(source: NamespacedRef, namespace: string, ground: Ground): Resolution | undefined {
  const key = keyOf(source);
  const known = ground.replication.sources.get(key);
  const state = known && judge(known);
  if (state && state.kind !== "usable") return { kind: "left-out", why: state };
  const copy = copyIn(source, namespace, ground);
  if (copy) return { kind: "copy", name: copy.metadata.name };
  if (ground.troubles.isDue(key, namespace, "write")) return undefined;
  const trouble = ground.troubles.get(key, namespace);
  return trouble?.place.kind === "refused" ? { kind: "refused", name: trouble.name } : collided;
}

/** The same for what came of an attempt to make the copy. */
export function resolutionOf(source: NamespacedRef, result: CopyResult | undefined): Resolution {
  const place = placeOf(source, result);
  switch (place.kind) {
    case "copied":
      return { kind: "copy", name: place.name };
    case "refused":
      return { kind: "refused", name: result?.target.name ?? "" };
    case "collision":
      return collided;
    case "pending":
      return { kind: "unknown" };
  }
}
