import type { WatchCache } from "../../kube/cache.ts";
import { unlessAborted, withDeadline } from "../../kube/deadline.ts";
import { isUnjudged } from "./accepted.ts";
import type { Judged } from "./judged.ts";
import type { SidecarSetRecord } from "./record.ts";

/** Of the budget of a review: what is left is for copies. */
const patienceMs = 700;

interface Awaited {
  readonly sets: Pick<WatchCache<SidecarSetRecord>, "get" | "subscribe">;
  readonly judged: Pick<Judged, "has">;
  readonly signal: AbortSignal;
}

/**
 * What the admission of another replica has let pass, or none, is judged by the leader in a moment, and a Pod that is
 * admitted meanwhile cannot be mended. True if it was worth waiting.
 */
export async function untilJudged(matching: readonly SidecarSetRecord[], awaited: Awaited): Promise<boolean> {
  const { sets, judged, signal } = awaited;
  const names = matching.filter((set) => isUnjudged(set, judged)).map(({ metadata }) => metadata.name);
  if (names.length === 0) return false;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const unsubscribe = sets.subscribe(() => {
    const open = names.flatMap((name) => sets.get(name) ?? []).some((set) => isUnjudged(set, judged));
    if (!open) resolve(true);
  });
  return withDeadline(patienceMs, signal, (deadline) => unlessAborted(promise, deadline))
    .catch(() => false)
    .finally(unsubscribe);
}
