import { createCluster, untilCondition } from "./lib/clusters.ts";
import { ratioOf, rowOf } from "./lib/comparison.ts";
import { untilIdle } from "./lib/memory.ts";
import type { Report } from "./lib/report.ts";
import { withLatchkey } from "./lib/sidecars.ts";
import { measureFirstSync } from "./namespaces/first-sync.ts";
import { count, firstMark, openGround, references } from "./namespaces/ground.ts";
import { measureMemory } from "./namespaces/memory.ts";
import { measureNewNamespaces } from "./namespaces/new-namespace.ts";
import { lastMark, measureRotation } from "./namespaces/rotation.ts";
import { countWrites } from "./namespaces/writes.ts";

/** Pull secrets in every namespace of one large user cluster, beside a bare client that makes the same writes. */
export async function namespaces(signal: AbortSignal): Promise<Report> {
  const timed = await measureTimes(signal);
  const counted = await measureWrites(signal);
  return {
    name: "namespaces",
    what: `A user cluster with ${count} namespaces, beside a bare client that makes the same writes`,
    rows: timed.rows,
    targets: [...timed.targets, ...counted],
  };
}

async function measureTimes(signal: AbortSignal): Promise<Pick<Report, "rows" | "targets">> {
  await using ground = await openGround(signal);
  const { arena, user } = ground;
  const { first, rotation, added } = await withLatchkey(arena, async () => {
    const first = await measureFirstSync(ground);
    await createCluster(arena.kube, user);
    await untilCondition(arena.kube, user.name, "Ready", "True");
    const rotation = await measureRotation(ground);
    const added = await measureNewNamespaces(ground, { samples: 100, references: 1, mark: lastMark });
    return { first, rotation, added };
  });
  const { resident, perCopyKiB } = await measureMemory(ground);
  const addedToMany = await withLatchkey(arena, async (operator) => {
    await untilIdle(operator);
    return measureNewNamespaces(ground, { samples: 20, references, mark: firstMark });
  });
  const times = [first.whole, first.pass, rotation, added.p50, added.p95, addedToMany.p50, addedToMany.p95];
  return {
    rows: [...times, resident].map(rowOf),
    targets: [
      ratioOf(first.pass, 1.25),
      ratioOf(rotation, 1.25),
      { promise: added.p95.what, measured: added.p95.ours, atMost: 1000 },
      { promise: addedToMany.p95.what, measured: addedToMany.p95.ours, atMost: 1000 },
      { promise: "resident KiB for each further copy", measured: perCopyKiB, atMost: 2 },
    ],
  };
}

async function measureWrites(signal: AbortSignal): Promise<Report["targets"]> {
  await using ground = await openGround(signal, { auditLog: true });
  return await countWrites(ground);
}
