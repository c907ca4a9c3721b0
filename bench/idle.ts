import { setTimeout as sleep } from "node:timers/promises";
import { openArena, serveFanOut } from "./lib/arena.ts";
import type { Report } from "./lib/report.ts";
import { encodedMark } from "./lib/syncs.ts";

const count = 100;
const minutes = Number(process.env.BENCH_IDLE_MINUTES ?? 10);

/** Nothing changes for ten minutes: how much is written? */
export async function idle(signal: AbortSignal): Promise<Report> {
  await using arena = await openArena(signal, { auditLog: true });
  await using served = await serveFanOut(arena, "idle", count, "still");
  const { copies, operator } = served;
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
