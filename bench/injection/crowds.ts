import type { NamespacedRef } from "../../src/api/objects.ts";
import type { Pod } from "../../src/api/pods.ts";
import type { Arena } from "../lib/arena.ts";
import { BareClient } from "../lib/bare.ts";
import type { Compared } from "../lib/comparison.ts";
import { Contents } from "../lib/contents.ts";
import {
  type Creation,
  containersOf,
  createPods,
  deletePods,
  plainPod,
  pullSecretsOf,
  readyNamespaces,
  type Template,
  templateOf,
} from "../lib/pods.ts";
import { createTwin } from "../lib/pull-secret-twins.ts";
import { tellProgress } from "../lib/report.ts";
import {
  checkCopies,
  checkPod,
  configKey,
  copyLabel,
  copyNameOf,
  createSets,
  deleteSets,
  hasExactly,
  withLatchkey,
  withoutLatchkey,
} from "../lib/sidecars.ts";
import { comparisonOf } from "./comparison.ts";
import { settledWrites } from "./settled-writes.ts";

const rounds = 4;
const inFlight = 8;
const spaces = 100;
const count = 1000;
const atOnce = 500;

/** 1,000 Pods over 100 namespaces that are new, against the same Pods and Secrets created by a bare client. */
export async function measureNewNamespaces(arena: Arena, mark: string): Promise<readonly Compared[]> {
  const { kube, plane } = arena;
  await using bare = new BareClient(plane, inFlight);
  await using copies = new Contents(kube, copyLabel, configKey);
  await copies.synced();
  const ours: Creation[] = [];
  const theirs: Creation[] = [];
  let template: Template = plainPod;

  const running = (round: number) =>
    withLatchkey(arena, async () => {
      await createSets(kube, [0]);
      const namespaces = await readyNamespaces(kube, spaces, `new-${round}`);
      const creation = await createPods(bare, placesOver(namespaces), inFlight, plainPod);
      checkNamed(creation.pods);
      await checkCopies(kube, namespaces, mark);
      ours.push(creation);
      const settled = creation.pods.find((pod) => hasExactly(pod, [0]));
      if (settled) template = templateOf(settled);
      await deletePods(bare, namespaces);
      await deleteSets(kube, [0]);
      await copies.untilEmpty();
    });
  const stopped = (round: number) =>
    withoutLatchkey(arena, async () => {
      const namespaces = await readyNamespaces(kube, spaces, `bare-${round}`);
      const bringSecret = async ({ namespace }: NamespacedRef, at: number) =>
        at < spaces && createTwin(bare, namespace, copyNameOf(0), mark);
      const creation = await createPods(bare, placesOver(namespaces), inFlight, template, bringSecret);
      for (const pod of creation.pods) checkPod(pod, [0]);
      theirs.push(creation);
      await deletePods(bare, namespaces);
    });
  for (let round = 0; round < rounds; round++) {
    tellProgress(`Pods over ${spaces} new namespaces: round ${round + 1} of ${rounds}`);
    for (const phase of round % 2 === 0 ? [running, stopped] : [stopped, running]) await phase(round);
  }
  return comparisonOf(`${count} Pods over ${spaces} new namespaces`, ours, theirs);
}

/** A Pod may have got both names of the copy, if the API server was slow; one without it makes the run void. */
function checkNamed(pods: readonly Pod[]): void {
  const isNamed = (pod: Pod) => containersOf(pod).includes("sidecar-0") && pullSecretsOf(pod).includes(copyNameOf(0));
  const unnamed = pods.filter((pod) => !isNamed(pod)).length;
  if (unnamed > 0) throw new Error(`void: ${unnamed} of ${pods.length} Pods do not name the copy`);
  const unsettled = pods.filter((pod) => !hasExactly(pod, [0])).length;
  if (unsettled > 0) tellProgress(`${unsettled} of ${pods.length} Pods got both names`);
}

/** By turns, so that the first Pods of all namespaces come first. */
const placesOver = (namespaces: readonly string[]): readonly NamespacedRef[] =>
  Array.from({ length: count }, (_, at) => ({ namespace: namespaces[at % spaces] ?? "", name: `pod-${at}` }));

export interface Crowd {
  readonly seconds: number;
  /** Pods that came out without the name of the copy. */
  readonly unnamed: number;
  /** Requests to create a Secret. */
  readonly creates: number;
}

/** 500 Pods at once in a namespace that is new. */
export async function measureCrowd(arena: Arena, mark: string): Promise<Crowd> {
  const { kube, plane } = arena;
  tellProgress(`${atOnce} Pods at once`);
  return withLatchkey(arena, async () => {
    await using bare = new BareClient(plane, atOnce);
    await createSets(kube, [0]);
    const [namespace = ""] = await readyNamespaces(kube, 1, "crowd");
    await Promise.all(Array.from({ length: atOnce }, () => bare.send("GET", "/version")));
    const before = (await arena.writes()).length;
    const places = Array.from({ length: atOnce }, (_, at) => ({ namespace, name: `pod-${at}` }));
    const { seconds, pods } = await createPods(bare, places, atOnce, plainPod);
    const writes = await settledWrites(arena, before);
    await checkCopies(kube, [namespace], mark);
    const unnamed = pods.filter((pod) => !pullSecretsOf(pod).includes(copyNameOf(0))).length;
    const creates = writes.filter(({ verb, resource }) => verb === "create" && resource === "secrets").length;
    await deletePods(bare, [namespace]);
    await deleteSets(kube, [0]);
    return { seconds, unnamed, creates };
  });
}
