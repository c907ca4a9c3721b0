import { measureAtRest } from "./fleet/at-rest.ts";
import { count, namespacesEach, openGround } from "./fleet/ground.ts";
import { measurePropagation } from "./fleet/propagation.ts";
import { ratioOf, rowOf } from "./lib/comparison.ts";
import type { Report } from "./lib/report.ts";

/** One source in many user clusters: what each costs, and what the others lose when one is in trouble. */
export async function fleet(signal: AbortSignal): Promise<Report> {
  await using ground = await openGround(signal);
  const rest = await measureAtRest(ground);
  const { bare, atOnce, later, paused } = await measurePropagation(ground);
  return {
    name: "fleet",
    what: `${count} user clusters with ${namespacesEach} namespaces each, one source referenced by all`,
    rows: [bare, atOnce, later, paused, rest.resident, rest.requests].map(rowOf),
    targets: [
      ratioOf(atOnce, 1.1),
      ratioOf(later, 1.1),
      { promise: "resident MiB for each further idle cluster", measured: rest.memoryMiB, atMost: 4 },
      { promise: "requests a minute for each further idle cluster", measured: rest.requestsPerMinute, atMost: 12 },
      { promise: "watches for each idle cluster", measured: rest.watches, atMost: 6 },
    ],
  };
}
