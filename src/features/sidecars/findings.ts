import { keyOf } from "../../api/objects.ts";
import type { WatchCache } from "../../kube/cache.ts";
import type { PullSecrets } from "../../pullsecrets/pull-secrets.ts";
import type { Report } from "../../pullsecrets/report.ts";
import type { Pass } from "../../runtime/controller.ts";
import type { Findings } from "./conditions.ts";
import { countersOf, matchedPods, namespacesOf } from "./counters.ts";
import type { LeftOut } from "./left-out.ts";
import { isListing, mayBeInjected, type Surroundings } from "./need.ts";
import { type PodRecord, placeOf } from "./pod-record.ts";
import type { SidecarSetRecord } from "./record.ts";
import { type Standing, standingOf } from "./standing.ts";
import { type Tally, talliesOf } from "./tally.ts";

export interface Sight {
  readonly pods: Pick<WatchCache<PodRecord>, "by">;
  readonly pullSecrets: Pick<PullSecrets, "reportOf" | "copyIn">;
  readonly surroundings: Surroundings;
  readonly leftOut: LeftOut;
}

/** Undefined while a source has not been looked at yet: its report wakes the SidecarSet. */
export async function findingsOf(
  record: SidecarSetRecord,
  sight: Sight,
  { kube, signal }: Pick<Pass, "kube" | "signal">,
): Promise<Omit<Findings, "verdict"> | undefined> {
  const { pods, pullSecrets, surroundings, leftOut } = sight;
  const { uid, name } = record.metadata;
  const reports = new Map(record.references.map((reference) => [reference, pullSecrets.reportOf(keyOf(reference))]));
  if ([...reports.values()].includes(undefined)) return undefined;

  const listing = pods.by("set", name).filter((pod) => isListing(pod, record, surroundings));
  const injected = listing.filter((pod) => mayBeInjected(pod, surroundings));
  const tallies = talliesOf(record, injected, leftOut.held(uid));
  const usable = tallies.filter(({ reference }) => reports.get(reference)?.state.kind === "usable");
  const held = await leftOut.look(uid, usable, { kube, pullSecrets, signal });
  const standings = tallies.flatMap((tally) => {
    const report = reports.get(tally.reference);
    return report ? [standingIn(tally, report, held, pullSecrets)] : [];
  });
  const matched = matchedPods(record, listing);
  return { counters: countersOf(record, matched), namespaces: namespacesOf(matched).size, standings };
}

function standingIn(
  tally: Tally,
  report: Report,
  held: ReadonlySet<string>,
  pullSecrets: Sight["pullSecrets"],
): Standing {
  const { reference, pods, namespaces, lacking } = tally;
  const source = keyOf(reference);
  return standingOf(reference, {
    ...{ report, pods, namespaces },
    // The report may not know of the copy yet that a webhook has just made.
    nameIn(namespace) {
      const place = report.places.get(namespace);
      return place?.kind === "copied" ? place.name : pullSecrets.copyIn(reference, namespace)?.metadata.name;
    },
    leftOut: [...lacking.keys()].filter((namespace) => held.has(placeOf(namespace, source))),
  });
}
