import { setTimeout as sleep } from "node:timers/promises";
import { namespaces as namespaceKind } from "../../src/api/objects.ts";
import type { Arena } from "../lib/arena.ts";
import { BareClient } from "../lib/bare.ts";
import type { Compared } from "../lib/comparison.ts";
import { webhookCount } from "../lib/metrics.ts";
import { createPods, deletePods, plainPod, readyNamespaces } from "../lib/pods.ts";
import { tellProgress } from "../lib/report.ts";
import { checkPod, copyNameOf, createSets, deleteSets, withLatchkey } from "../lib/sidecars.ts";
import { median, percentile } from "../lib/stats.ts";
import { rotated } from "./comparison.ts";
import { openWebhook, podHook, type Webhook } from "./webhook.ts";

const samples = 2000;
const rounds = 4;
const many = 200;

export interface Reviews {
  readonly beside: ByShare;
  readonly withMany: ByShare;
  /** Requests to the API server during all of them. */
  readonly apiCalls: number;
}

interface ByShare {
  readonly p50: Compared;
  readonly p99: Compared;
}

/** Reviews of a Pod whose copy is there, sent to the operator itself: no API server in between. */
export async function measureReviews(arena: Arena): Promise<Reviews> {
  const { kube, plane } = arena;
  return withLatchkey(arena, async (operator) => {
    await using bare = new BareClient(plane, 1);
    await createSets(kube, [0]);
    const [namespace = ""] = await readyNamespaces(kube, 1, "review");
    const quiet = "review-quiet";
    await kube.create(namespaceKind, { metadata: { name: quiet, labels: { "latchkey.dev/inject": "false" } } });
    const { pods } = await createPods(bare, [{ namespace, name: "pod" }], 1, plainPod);
    for (const pod of pods) checkPod(pod, [0]);
    await using webhook = await openWebhook(kube);
    await webhook.review(quiet);

    const before = await webhookCount(operator, "latchkey_webhook_api_calls_total", podHook);
    const others = Array.from({ length: many - 1 }, (_, at) => at + 1);
    const seen = { empty: [] as number[][], one: [] as number[][], many: [] as number[][] };
    const withOne = async () => {
      const { ours, theirs } = await sampled(webhook, namespace, quiet);
      seen.one.push(ours);
      seen.empty.push(theirs);
    };
    const withMany = async () => {
      await createSets(kube, others, "nobody");
      const { ours } = await sampled(webhook, namespace, quiet);
      seen.many.push(ours);
      await deleteSets(kube, others);
    };
    for (let round = 0; round < rounds; round++) {
      tellProgress(`reviews: round ${round + 1} of ${rounds}`);
      for (const run of rotated([withOne, withMany], round)) await run();
    }
    const apiCalls = (await webhookCount(operator, "latchkey_webhook_api_calls_total", podHook)) - before;
    await deletePods(bare, [namespace]);
    await deleteSets(kube, [0]);
    return {
      beside: byShare("review, beside one with nothing to do", seen.one, seen.empty),
      withMany: byShare(`review with ${many} SidecarSets, beside 1`, seen.many, seen.one),
      apiCalls,
    };
  });
}

/** Of the rounds the median one. */
function byShare(what: string, ours: readonly number[][], theirs: readonly number[][]): ByShare {
  const compare = (unit: string, share: number): Compared => ({
    what: `${what}: ${unit}`,
    ours: median(ours.map((round) => percentile(round, share))),
    theirs: median(theirs.map((round) => percentile(round, share))),
  });
  return { p50: compare("p50 ms", 0.5), p99: compare("p99 ms", 0.99) };
}

/** By turns: a Pod that gets a sidecar, and the same one in a namespace that opted out, where there is nothing to do. */
async function sampled(webhook: Webhook, namespace: string, quiet: string) {
  // SidecarSets that came or went just now are still being told about.
  await sleep(3000);
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let at = 0; at < samples; at++) {
    for (const place of at % 2 === 0 ? [namespace, quiet] : [quiet, namespace]) {
      const from = performance.now();
      const patch = await webhook.review(place);
      (place === quiet ? theirs : ours).push(performance.now() - from);
      if ((place === namespace) !== patch.includes(copyNameOf(0)))
        throw new Error("void: a review was answered wrongly");
    }
  }
  return { ours, theirs };
}
