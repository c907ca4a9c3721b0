import { openArena, serveFanOut } from "./lib/arena.ts";
import type { Report } from "./lib/report.ts";
import { changeSource, encodedMark } from "./lib/syncs.ts";

const count = 1000;
const changes = 20;

/** A source that changes many times within the time of one fan-out: how many writes does a copy cost? */
export async function storm(signal: AbortSignal): Promise<Report> {
  await using arena = await openArena(signal);
  await using served = await serveFanOut(arena, "storm", count, "before");
  const { kube, copies, source } = served;

  copies.changes.clear();
  const last = encodedMark(`change ${changes}`);
  const all = copies.untilAll(count, last);
  const from = performance.now();
  for (let at = 1; at <= changes; at++) await changeSource(kube, source, `change ${at}`);
  const stormMs = performance.now() - from;
  const settledMs = (await all) - from;
  copies.check(count, last);

  const writes = [...copies.changes.values()];
  const most = Math.max(...writes);
  const sum = writes.reduce((total, each) => total + each, 0);
  return {
    name: "storm",
    what: `${changes} changes of one source with ${count} copies`,
    rows: [
      {
        "storm ms": Math.round(stormMs),
        "settled after ms": Math.round(settledMs),
        "writes per copy, most": most,
        "writes per copy, mean": sum / count,
        "stale copies": 0,
      },
    ],
    targets: [{ promise: "writes per copy", measured: most, atMost: 2 }],
  };
}
