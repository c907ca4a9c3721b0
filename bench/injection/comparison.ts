import type { Compared } from "../lib/comparison.ts";
import type { Creation } from "../lib/pods.ts";
import { median, percentile } from "../lib/stats.ts";

/** Rate, median and 99th percentile, each the median of all rounds. */
export function comparisonOf(what: string, ours: readonly Creation[], theirs: readonly Creation[]): Compared[] {
  const compare = (unit: string, of: (creation: Creation) => number): Compared => ({
    what: `${what}: ${unit}`,
    ours: median(ours.map(of)),
    theirs: median(theirs.map(of)),
  });
  return [
    compare("Pods per second", ({ pods, seconds }) => pods.length / seconds),
    compare("p50 ms", ({ latenciesMs }) => percentile(latenciesMs, 0.5)),
    compare("p99 ms", ({ latenciesMs }) => percentile(latenciesMs, 0.99)),
  ];
}

export function rotated<T>(values: readonly T[], by: number): readonly T[] {
  const at = by % values.length;
  return [...values.slice(at), ...values.slice(0, at)];
}
