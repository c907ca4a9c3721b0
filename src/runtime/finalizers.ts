import type { KubeObject } from "../api/objects.ts";
import type { Patch } from "../kube/client.ts";
import type { Finalizer } from "./controller.ts";

/** Finalizers the object needs and does not have. One that is no longer wanted stays: only `finalize` removes. */
export function missingFinalizers<T extends KubeObject>(object: T, finalizers: readonly Finalizer<T>[]): string[] {
  const present = object.metadata.finalizers ?? [];
  return finalizers.filter((each) => !present.includes(each.name) && each.wanted(object)).map(({ name }) => name);
}

/** Which of a controller's finalizers the object has. */
export function heldFinalizers<T extends KubeObject>(object: T, finalizers: readonly Finalizer<T>[]): string[] {
  return finalizers.map(({ name }) => name).filter((name) => object.metadata.finalizers?.includes(name));
}

/**
 * Writes the whole list, guarded by the resourceVersion it was read at: a stale one is answered with Conflict. (A JSON
 * patch with `test` is as safe, but its refusal looks like any other invalid patch.)
 */
export function finalizersPatch({ metadata }: KubeObject, finalizers: readonly string[]): Patch {
  return { type: "merge", body: { metadata: { resourceVersion: metadata.resourceVersion, finalizers } } };
}
