import { measureCreation } from "./injection/creation.ts";
import { measureCrowd, measureNewNamespaces } from "./injection/crowds.ts";
import { measureReviews } from "./injection/reviews.ts";
import { measureRotation } from "./injection/rotation.ts";
import { openArena } from "./lib/arena.ts";
import { ratioOf, rowOf } from "./lib/comparison.ts";
import type { Report } from "./lib/report.ts";
import { createPullSecret, sourceCount } from "./lib/sidecars.ts";

const mark = "before";

/** What a Pod's creation costs with SidecarSets, and what their pull secrets cost. */
export async function injection(signal: AbortSignal): Promise<Report> {
  const timed = await measureTimes(signal);
  const counted = await measureWrites(signal);
  return {
    name: "injection",
    what: "Pods that get sidecars and the pull secrets of these, beside the same without Latchkey",
    rows: [...timed.rows, ...counted.rows],
    targets: [...timed.targets, ...counted.targets],
  };
}

type Part = Pick<Report, "rows" | "targets">;

async function measureTimes(signal: AbortSignal): Promise<Part> {
  await using arena = await openArena(signal, { isShipped: true });
  for (let at = 0; at < sourceCount; at++) await createPullSecret(arena.kube, at, mark);
  const creation = await measureCreation(arena);
  const { beside, withMany, apiCalls } = await measureReviews(arena);
  return {
    rows: [...creation, beside.p50, beside.p99, withMany.p50, withMany.p99].map(rowOf),
    targets: [
      { promise: "API calls during reviews with known copies", measured: apiCalls, atMost: 0 },
      ratioOf(beside.p99, 3),
      ratioOf(withMany.p99, 1.5),
    ],
  };
}

/** With the audit log on. */
async function measureWrites(signal: AbortSignal): Promise<Part> {
  await using arena = await openArena(signal, { isShipped: true, auditLog: true });
  await createPullSecret(arena.kube, 0, mark);
  const spread = await measureNewNamespaces(arena, mark);
  const crowd = await measureCrowd(arena, mark);
  const rotation = await measureRotation(arena);
  return {
    rows: [...spread, rotation.time].map(rowOf),
    targets: [
      { promise: "500 Pods at once: Secrets created", measured: crowd.creates, atMost: 1 },
      { promise: "500 Pods at once: Pods that do not name the copy", measured: crowd.unnamed, atMost: 0 },
      { promise: "changed source: writes of 100 copies", measured: rotation.secretWrites, atMost: 100 },
      { promise: "changed source: status writes", measured: rotation.statusWrites, atMost: 1 },
      { promise: "changed source: other writes", measured: rotation.otherWrites, atMost: 0 },
      ratioOf(rotation.time, 1.25),
    ],
  };
}
