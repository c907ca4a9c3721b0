import { setTimeout as sleep } from "node:timers/promises";
import { openArena, serveFanOut } from "./lib/arena.ts";
import { type Report, round } from "./lib/report.ts";
import { percentile } from "./lib/stats.ts";
import { changeSource, createSource, createSyncs, encodedMark } from "./lib/syncs.ts";

const count = 1000;
const samples = 40;

/** A change that has nothing to do with a fan-out in progress: how long does it wait behind it? */
export async function headofline(signal: AbortSignal): Promise<Report> {
  await using arena = await openArena(signal);
  await using served = await serveFanOut(arena, "big", count, "b0");
  const { kube, copies, source: big } = served;
  const small = { namespace: "default", name: "small" };
  await createSource(kube, small, "s0");
  await createSyncs(kube, "small", small, [{ namespace: "ns-0", name: "small" }]);
  await copies.untilAll(1, encodedMark("s0"));

  const sample = async (mark: string) => {
    const seen = copies.untilAll(1, encodedMark(mark));
    await changeSource(kube, small, mark);
    // From the answer: how long the API server takes to accept the change is not ours.
    const from = performance.now();
    return Math.max(0, (await seen) - from);
  };
  const idle: number[] = [];
  for (let at = 0; at < samples; at++) idle.push(await sample(`idle ${at}`));

  const busy: number[] = [];
  for (let fan = 1; busy.length < samples; fan++) {
    const all = copies.untilAll(count, encodedMark(`b${fan}`));
    let isDone = false;
    void all.then(() => {
      isDone = true;
    });
    await changeSource(kube, big, `b${fan}`);
    await sleep(50);
    for (let at = 0; !isDone && busy.length < samples; at++) {
      const ms = await sample(`busy ${fan} ${at}`);
      if (!isDone) busy.push(ms);
    }
    await all;
  }

  const row = (what: string, values: readonly number[]) => ({
    what,
    samples: values.length,
    "p50 ms": round(percentile(values, 0.5)),
    "p99 ms": round(percentile(values, 0.99)),
  });
  const promised = (share: number) => Math.max(100, 2 * percentile(idle, share));
  return {
    name: "headofline",
    what: `One source with one copy changes while another goes to ${count} namespaces`,
    rows: [row("nothing else to do", idle), row("during the fan-out", busy)],
    targets: [
      { promise: "p50 ms: 100, or twice the idle one", measured: percentile(busy, 0.5), atMost: round(promised(0.5)) },
      {
        promise: "p99 ms: 100, or twice the idle one",
        measured: percentile(busy, 0.99),
        atMost: round(promised(0.99)),
      },
    ],
  };
}
