import { namespaceOf } from "../../api/objects.ts";
import { isExempt, type NamespaceFacts, selectsPod } from "./matching.ts";
import type { PodRecord } from "./pod-record.ts";
import type { SidecarSetRecord } from "./record.ts";

/** What a Pod's marks are held against. */
export interface Surroundings {
  readonly ownNamespace: string;
  factsOf(namespace: string): NamespaceFacts;
}

/** Its marks say that it has this SidecarSet's containers, and the SidecarSet says that it should. */
export function isInjectedBy(pod: PodRecord, set: SidecarSetRecord, surroundings: Surroundings): boolean {
  return isListing(pod, set, surroundings) && mayBeInjected(pod, surroundings);
}

export function mayBeInjected(pod: PodRecord, { ownNamespace, factsOf }: Surroundings): boolean {
  return !isExempt(pod, factsOf(namespaceOf(pod)), ownNamespace);
}

/** Unfinished, selected, and says that it has this SidecarSet's containers. */
export function isListing(pod: PodRecord, set: SidecarSetRecord, { factsOf }: Surroundings): boolean {
  if (pod.isFinished || !pod.injected.includes(set.metadata.name)) return false;
  return selectsPod(set, pod.metadata.labels, factsOf(namespaceOf(pod)));
}

/** It was given a copy of this source, and really names it. */
export function namesCopy({ pullSecrets, names }: PodRecord, source: string, candidates: readonly string[]): boolean {
  return pullSecrets.has(source) && candidates.some((name) => names.has(name));
}
