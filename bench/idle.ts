import { setTimeout as sleep } from "node:timers/promises";
import { createNamespaces, openArena } from "./lib/arena.ts";
import { Contents } from "./lib/contents.ts";
import type { Report } from "./lib/report.ts";
import { createSource, createSyncs, encodedMark } from "./lib/syncs.ts";

const count = 100;
const minutes = Number(process.env.BENCH_IDLE_MINUTES ?? 10);

/** Nothing changes for ten minutes: how much is written? */
export async function idle(signal: AbortSignal): Promise<Report> {
  await using arena = await openArena(signal, { auditLog: true });
  const { kube } = arena;
  const namespaces = await createNamespaces(kube, count);
  await using operator = await arena.startOperator();
  await using copies = new Contents(kube, "latchkey.dev/owner-uid");
  await copies.synced();

  const source = { namespace: "default", name: "source" };
  await createSource(kube, source, "still");
  await createSyncs(
    kube,
    "idle",
    source,
    namespaces.map((namespace) => ({ namespace, name: "copy" })),
  );
  await copies.untilAll(count, encodedMark("still"));
  await sleep(15_000, undefined, { signal });

  const before = (await arena.writes()).length;
  process.stderr.write(`waiting for ${minutes} minutes\n`);
  await sleep(minutes * 60_000, undefined, { signal });
  const writes = (await arena.writes()).slice(before);
  copies.check(count, encodedMark("still"));
  if (operator.ending) throw new Error("void: the operator ended");
  return {
    name: "idle",
    what: `${count} copies, and nothing happens for ${minutes} minutes`,
    rows: [{ "writes before": before, "writes while idle": writes.length }],
    targets: [{ promise: "writes while idle", measured: writes.length, atMost: 0 }],
  };
}
