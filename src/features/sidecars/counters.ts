import { namespaceOf } from "../../api/objects.ts";
import type { PodRecord } from "./pod-record.ts";
import type { SidecarSetRecord } from "./record.ts";

export interface Counters {
  readonly matchedPods: number;
  readonly updatedPods: number;
  readonly readyPods: number;
  readonly updatedReadyPods: number;
}

/** Of the Pods that list the SidecarSet and are for it, those that still have all its containers. */
export function matchedPods(set: SidecarSetRecord, listing: readonly PodRecord[]): readonly PodRecord[] {
  return listing.filter((pod) => hasContainersOf(pod, set));
}

export function countersOf({ metadata, hash }: SidecarSetRecord, matched: readonly PodRecord[]): Counters {
  const updated = matched.filter(({ hashes }) => hashes.get(metadata.name) === hash);
  return {
    matchedPods: matched.length,
    updatedPods: updated.length,
    readyPods: readyOf(matched),
    updatedReadyPods: readyOf(updated),
  };
}

export const namespacesOf = (pods: readonly PodRecord[]): ReadonlySet<string> => new Set(pods.map(namespaceOf));

const readyOf = (pods: readonly PodRecord[]): number => pods.filter(({ isReady }) => isReady).length;

function hasContainersOf(
  pod: PodRecord,
  { spec: { containers = [], initContainers = [] } }: SidecarSetRecord,
): boolean {
  return (
    containers.every(({ name }) => pod.containers.includes(name)) &&
    initContainers.every(({ name }) => pod.initContainers.includes(name))
  );
}
