import { type Place, variablesOf } from "../place.ts";
import { type Restartable, showClusters } from "./clusters.ts";
import { showCopies } from "./copies.ts";
import { guideFor } from "./guide.ts";
import { showSidecars } from "./sidecars.ts";

export interface TourOptions {
  readonly place: Place;
  readonly latchkey: Restartable;
  readonly write: (text: string) => void;
  /** Whether SidecarSets are Latchkey's here and the API server can ask it about Pods. */
  readonly hasSidecars: boolean;
}

/** Applies examples/tour step by step and shows what really comes of it. Throws when a step does not come out as told. */
export async function takeTour({ place, latchkey, write, hasSidecars }: TourOptions): Promise<void> {
  const guide = guideFor({ kubectl: place.kubectl, variables: variablesOf(place), write });
  await showCopies(guide);
  if (hasSidecars) await showSidecars(guide);
  if (place.user) await showClusters(guide, latchkey);
}
