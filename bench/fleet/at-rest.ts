import { setTimeout as sleep } from "node:timers/promises";
import type { Kube } from "../../src/kube/client.ts";
import type { Operator } from "../../tools/local/operator.ts";
import { createCluster, untilCondition } from "../lib/clusters.ts";
import type { Compared } from "../lib/comparison.ts";
import { memoryAtRest, untilIdle } from "../lib/memory.ts";
import { countOf, sumOf } from "../lib/metrics.ts";
import { tellProgress } from "../lib/report.ts";
import { checkCopies, withLatchkey } from "../lib/sidecars.ts";
import { firstMark, type Ground, type Member } from "./ground.ts";

export interface AtRest {
  readonly resident: Compared;
  readonly requests: Compared;
  /** For each further cluster. */
  readonly memoryMiB: number;
  readonly requestsPerMinute: number;
  /** The most in any. */
  readonly watches: number;
}

/** What user clusters cost in which nothing happens: all of them, beside one. Leaves a Cluster for each. */
export async function measureAtRest({ arena, healthy, all }: Ground): Promise<AtRest> {
  const before = await watchesIn(all);
  const serve = async (users: readonly Member[]) => {
    await withLatchkey(arena, async () => {
      for (const user of users) await createCluster(arena.kube, user);
      await untilServed(arena.kube, users);
    });
  };
  const measure = async (users: readonly Member[]) => {
    tellProgress(`at rest with ${users.length} of ${all.length} clusters`);
    const perMinute: number[] = [];
    const memory = await memoryAtRest(arena, async (operator, start) => {
      await untilServed(arena.kube, users);
      if (start === 0) perMinute.push(await requestsInAMinute(operator));
    });
    for (const { kube, spaces } of users) await checkCopies(kube, spaces, firstMark);
    return { memory, requests: perMinute[0] ?? 0 };
  };
  const alone = healthy.slice(0, 1);
  await serve(alone);
  const one = await measure(alone);
  await serve(all.filter((user) => !alone.includes(user)));
  const many = await measure(all);
  const after = await withLatchkey(arena, async (operator) => {
    await untilIdle(operator);
    return watchesIn(all);
  });

  const further = all.length - 1;
  return {
    resident: { what: `${all.length} idle clusters, beside 1: resident MiB`, ours: many.memory, theirs: one.memory },
    requests: {
      what: `${all.length} idle clusters, beside 1: requests a minute, the home's included`,
      ours: many.requests,
      theirs: one.requests,
    },
    memoryMiB: (many.memory - one.memory) / further,
    requestsPerMinute: (many.requests - one.requests) / further,
    watches: Math.max(...after.map((watches, at) => watches - (before[at] ?? 0))),
  };
}

export async function untilServed(home: Kube, users: readonly Member[]): Promise<void> {
  for (const { name } of users) await untilCondition(home, name, "Ready", "True");
}

async function requestsInAMinute(operator: Operator): Promise<number> {
  await untilIdle(operator);
  const before = await countOf(operator, "latchkey_api_requests_total");
  await sleep(60_000);
  return (await countOf(operator, "latchkey_api_requests_total")) - before;
}

/** As their API servers count them, everybody's. */
function watchesIn(users: readonly Member[]): Promise<readonly number[]> {
  return Promise.all(
    users.map(async ({ kube }) => {
      const text = String(await kube.request("GET", "/metrics"));
      return sumOf(text, "apiserver_longrunning_requests", (series) => series.includes('verb="WATCH"'));
    }),
  );
}
