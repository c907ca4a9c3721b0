import { keyOf, namespaceOf } from "../../api/objects.ts";
import { candidatesOf } from "../../pullsecrets/names.ts";
import { namesCopy } from "./need.ts";
import { type PodRecord, placeOf } from "./pod-record.ts";
import type { SidecarReference, SidecarSetRecord } from "./record.ts";

/** What the Pods of a SidecarSet have to do with one of its references. */
export interface Tally {
  readonly reference: SidecarReference;
  /** How many name a copy of it, and where. */
  readonly pods: number;
  readonly namespaces: ReadonlySet<string>;
  /** Namespaces with Pods that were given none though it was listed already: the UID of the last such Pod. */
  readonly lacking: ReadonlyMap<string, string>;
}

/**
 * All references at once: with thousands of Pods it is the way through them that costs. `known` are places, by
 * `placeOf`, of which it was found out before why Pods there were given none.
 */
export function talliesOf(
  { references, changedAt }: Pick<SidecarSetRecord, "references" | "changedAt">,
  injected: readonly PodRecord[],
  known: ReadonlySet<string>,
): readonly Tally[] {
  const tallies = references.map((reference) => ({
    reference,
    source: keyOf(reference),
    candidates: candidatesOf(reference),
    pods: 0,
    namespaces: new Set<string>(),
    lacking: new Map<string, string>(),
  }));
  for (const pod of injected) {
    const namespace = namespaceOf(pod);
    const isYoung = pod.metadata.creationTimestamp >= changedAt;
    for (const tally of tallies) {
      if (namesCopy(pod, tally.source, tally.candidates)) {
        tally.pods += 1;
        tally.namespaces.add(namespace);
      } else if (!pod.pullSecrets.has(tally.source) && (isYoung || isAmong(known, namespace, tally.source))) {
        tally.lacking.set(namespace, pod.metadata.uid);
      }
    }
  }
  return tallies;
}

const isAmong = (known: ReadonlySet<string>, namespace: string, source: string): boolean =>
  known.size > 0 && known.has(placeOf(namespace, source));
