import type { NamespacedRef } from "../../src/api/objects.ts";
import type { Operator } from "../../tools/local/operator.ts";
import type { Arena } from "../lib/arena.ts";
import { BareClient } from "../lib/bare.ts";
import type { Compared } from "../lib/comparison.ts";
import { Contents } from "../lib/contents.ts";
import { webhookCount } from "../lib/metrics.ts";
import {
  type Creation,
  createPods,
  deletePods,
  plainPod,
  readyNamespaces,
  type Template,
  templateOf,
} from "../lib/pods.ts";
import { tellProgress } from "../lib/report.ts";
import {
  checkPod,
  configKey,
  copyLabel,
  createSets,
  deleteSets,
  hasExactly,
  withLatchkey,
  withoutLatchkey,
} from "../lib/sidecars.ts";
import { comparisonOf, rotated } from "./comparison.ts";
import { podHook } from "./webhook.ts";

const sizes = [0, 1, 20];
const rounds = 5;
const inFlight = 8;
const count = 500;
const warmUps = 100;

/**
 * Pods with 0, 1 and 20 SidecarSets, and the same Pods, sidecars included, without Latchkey: what the API server has to do
 * for a larger Pod is in both.
 */
export async function measureCreation(arena: Arena): Promise<readonly Compared[]> {
  const { kube, plane } = arena;
  await using bare = new BareClient(plane, inFlight);
  await using copies = new Contents(kube, copyLabel, configKey);
  await copies.synced();
  const templates = new Map<number, Template>([[0, plainPod]]);
  const ours = new Map<number, Creation[]>(sizes.map((size) => [size, []]));
  const theirs = new Map<number, Creation[]>(sizes.map((size) => [size, []]));

  const injected = async (size: number, round: number, operator: Operator) => {
    const numbers = numbersTo(size);
    const [namespace = ""] = await readyNamespaces(kube, 1, `with-${round}-${size}`);
    await createSets(kube, numbers);
    await untilInjected(bare, namespace, numbers);
    await warmUp(bare, namespace, plainPod);
    const before = await reviewsOf(operator);
    const creation = await measured(bare, namespace, plainPod);
    if ((await reviewsOf(operator)) - before < count) throw new Error("void: not every Pod was reviewed");
    for (const pod of creation.pods) checkPod(pod, numbers);
    const [pod] = creation.pods;
    if (pod) templates.set(size, templateOf(pod));
    ours.get(size)?.push(creation);
    await deletePods(bare, [namespace]);
    await deleteSets(kube, numbers);
    await copies.untilEmpty();
  };
  const bareOnes = async (size: number, round: number) => {
    const [namespace = ""] = await readyNamespaces(kube, 1, `without-${round}-${size}`);
    const template = templates.get(size) ?? plainPod;
    await warmUp(bare, namespace, template);
    const creation = await measured(bare, namespace, template);
    for (const pod of creation.pods) checkPod(pod, numbersTo(size));
    theirs.get(size)?.push(creation);
    await deletePods(bare, [namespace]);
  };

  for (let round = 0; round < rounds; round++) {
    tellProgress(`Pods with ${sizes.join(", ")} SidecarSets: round ${round + 1} of ${rounds}`);
    const order = rotated(sizes, round);
    const running = () =>
      withLatchkey(arena, async (operator) => {
        for (const size of order) await injected(size, round, operator);
      });
    const stopped = () =>
      withoutLatchkey(arena, async () => {
        for (const size of order) await bareOnes(size, round);
      });
    for (const phase of round % 2 === 0 ? [running, stopped] : [stopped, running]) await phase();
  }
  return sizes.flatMap((size) =>
    comparisonOf(`${count} Pods, ${size} SidecarSets`, ours.get(size) ?? [], theirs.get(size) ?? []),
  );
}

const numbersTo = (size: number): readonly number[] => Array.from({ length: size }, (_, at) => at);

function placesIn(namespace: string, name: string, many: number): readonly NamespacedRef[] {
  return Array.from({ length: many }, (_, at) => ({ namespace, name: `${name}-${at}` }));
}

const warmUp = (bare: BareClient, namespace: string, template: Template): Promise<Creation> =>
  createPods(bare, placesIn(namespace, "warm", warmUps), inFlight, template);

const measured = (bare: BareClient, namespace: string, template: Template): Promise<Creation> =>
  createPods(bare, placesIn(namespace, "pod", count), inFlight, template);

/** A webhook that was registered just now is asked a moment later. */
async function untilInjected(bare: BareClient, namespace: string, numbers: readonly number[]): Promise<void> {
  for (let at = 0; at < 200; at++) {
    const { pods } = await createPods(bare, [{ namespace, name: `first-${at}` }], 1, plainPod);
    if (pods.every((pod) => hasExactly(pod, numbers))) return;
  }
  throw new Error("void: Pods do not get their sidecars");
}

const reviewsOf = (operator: Operator): Promise<number> =>
  webhookCount(operator, "latchkey_webhook_reviews_total", podHook);
