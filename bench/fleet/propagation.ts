import { hasCondition, setPaused, untilCondition } from "../lib/clusters.ts";
import type { Compared } from "../lib/comparison.ts";
import { tellProgress } from "../lib/report.ts";
import { withLatchkey } from "../lib/sidecars.ts";
import { median } from "../lib/stats.ts";
import { untilServed } from "./at-rest.ts";
import type { Ground } from "./ground.ts";
import { Rounds } from "./rounds.ts";
import { Twins } from "./twins.ts";

const cycles = 4;
const roundsEach = 6;
const slownessMs = 500;
/** A cluster that fell silent is told of after 10 s, and may have been silent for a moment before. */
const unnoticedMs = 5_000;

export interface Propagation {
  readonly bare: Compared;
  readonly atOnce: Compared;
  readonly later: Compared;
  /** What troubled clusters cost the others, apart from the work that they do not get. */
  readonly paused: Compared;
}

/** Milliseconds of each round. */
class Times {
  readonly bare: number[] = [];
  readonly healthy: number[] = [];
  readonly paused: number[] = [];
  readonly atOnce: number[] = [];
  readonly later: number[] = [];
}

/** A changed source until the healthy clusters have it: all healthy, then with one that is stopped and one that is slow. */
export async function measurePropagation(ground: Ground): Promise<Propagation> {
  const { arena, healthy, all } = ground;
  await using rounds = new Rounds(ground);
  await using twins = await Twins.create(ground);
  await rounds.synced();
  const times = new Times();
  await withLatchkey(arena, async () => {
    await untilServed(arena.kube, all);
    // The first ones warm up.
    await rounds.runMany(roundsEach);
    for (let cycle = 0; cycle < cycles; cycle++) {
      tellProgress(`propagation: cycle ${cycle + 1} of ${cycles}`);
      await runCycle(ground, rounds, twins, times);
    }
  });
  const compare = (what: string, ours: readonly number[], theirs: readonly number[]): Compared => ({
    what: `changed source, ${healthy.length} of ${all.length} clusters, ${what}: ms`,
    ours: median(ours),
    theirs: median(theirs),
  });
  return {
    bare: compare("all healthy, beside a bare client", times.healthy, times.bare),
    atOnce: compare("one just stopped and one slow, beside all healthy", times.atOnce, times.healthy),
    later: compare("one unreachable and one slow, beside all healthy", times.later, times.healthy),
    paused: compare("one unreachable and one slow, beside these two paused", times.later, times.paused),
  };
}

/** All clusters are well and equal before and after. */
async function runCycle(ground: Ground, rounds: Rounds, twins: Twins, times: Times): Promise<void> {
  const { arena, stopped, slow, all } = ground;
  const recovered = async () => {
    await untilServed(arena.kube, all);
    await rounds.untilEqual();
  };
  for (let at = 0; at < roundsEach; at++) {
    times.bare.push(await twins.round());
    times.healthy.push(await rounds.run());
    await rounds.untilEqual();
  }
  await withoutThem(ground, async () => {
    times.paused.push(...(await rounds.runMany(roundsEach)));
  });
  await recovered();
  await withTrouble(ground, async () => {
    const stoppedAt = performance.now();
    while (performance.now() - stoppedAt < unnoticedMs) times.atOnce.push(await rounds.run());
    await untilCondition(arena.kube, stopped.name, "Reachable", "False");
    times.later.push(...(await rounds.runMany(roundsEach)));
    if (!(await hasCondition(arena.kube, slow.name, "Reachable", "True"))) {
      throw new Error("void: the slow cluster is not served");
    }
  });
  await recovered();
}

async function withoutThem({ arena, stopped, slow }: Ground, task: () => Promise<void>): Promise<void> {
  for (const user of [stopped, slow]) await setPaused(arena.kube, user, true);
  await task();
  for (const user of [stopped, slow]) await setPaused(arena.kube, user, false);
}

/** One cluster keeps its connections and answers nothing, another answers late. */
async function withTrouble({ stopped, proxy }: Ground, task: () => Promise<void>): Promise<void> {
  const { apiserver } = stopped.plane.components;
  proxy.delayMs = slownessMs;
  apiserver.pause();
  try {
    await task();
  } finally {
    apiserver.resume();
    proxy.delayMs = 0;
  }
}
