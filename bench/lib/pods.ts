import { setTimeout as sleep } from "node:timers/promises";
import type { KubeObject, NamespacedRef } from "../../src/api/objects.ts";
import { type Pod, serviceAccounts } from "../../src/api/pods.ts";
import type { Kube } from "../../src/kube/client.ts";
import { createNamespaces } from "./arena.ts";
import { type BareClient, metadataListOnly } from "./bare.ts";
import { inParallel } from "./parallel.ts";

/** What is sent to create a Pod, without its name. */
export interface Template {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec: object;
}

/** Nobody schedules it, and no token is mounted: what is measured is its creation. */
export const plainPod: Template = {
  labels: { app: "bench" },
  spec: {
    automountServiceAccountToken: false,
    containers: [{ name: "app", image: "registry.example.com/app:1" }],
  },
};

/** What would make the same Pod without anybody's help. */
export function templateOf({ metadata, spec }: Pod): Template {
  const { labels = {}, annotations = {} } = metadata;
  return { labels, annotations, spec: spec ?? {} };
}

/** Namespaces in which Pods can be created. */
export async function readyNamespaces(kube: Kube, count: number, prefix: string): Promise<readonly string[]> {
  const names = await createNamespaces(kube, count, prefix);
  for (;;) {
    const accounts = await kube.listMetadata(serviceAccounts, { fieldSelector: "metadata.name=default" });
    const ready = new Set(accounts.map(({ metadata }) => metadata.namespace));
    if (names.every((name) => ready.has(name))) return names;
    await sleep(100);
  }
}

export interface Creation {
  readonly seconds: number;
  /** Of each request. */
  readonly latenciesMs: readonly number[];
  readonly pods: readonly Pod[];
}

/** Creates Pods, `limit` at a time. Their answers are looked at only afterwards. */
export async function createPods(
  bare: BareClient,
  places: readonly NamespacedRef[],
  limit: number,
  template: Template,
  before: (place: NamespacedRef, at: number) => Promise<unknown> = async () => {},
): Promise<Creation> {
  const answers: string[] = [];
  const latenciesMs: number[] = [];
  const from = performance.now();
  await inParallel(places, limit, async (place, at) => {
    const sent = performance.now();
    await before(place, at);
    answers.push(await bare.send("POST", pathOf(place.namespace), bodyOf(place, template)));
    latenciesMs.push(performance.now() - sent);
  });
  const seconds = (performance.now() - from) / 1000;
  return { seconds, latenciesMs, pods: answers.map((answer) => JSON.parse(answer)) };
}

/** One by one: a whole collection in one request may take longer than the API server allows. */
export async function deletePods(bare: BareClient, namespaces: readonly string[]): Promise<void> {
  for (const namespace of namespaces) {
    const { items } = JSON.parse(await bare.send("GET", pathOf(namespace), undefined, metadataListOnly)) as {
      readonly items: readonly KubeObject[];
    };
    await inParallel(items, 8, ({ metadata }) => bare.send("DELETE", `${pathOf(namespace)}/${metadata.name}`));
  }
}

const pathOf = (namespace: string) => `/api/v1/namespaces/${namespace}/pods`;

function bodyOf({ namespace, name }: NamespacedRef, { spec, ...marks }: Template): object {
  return { apiVersion: "v1", kind: "Pod", metadata: { namespace, name, ...marks }, spec };
}

export const pullSecretsOf = ({ spec }: Pod): readonly string[] =>
  spec?.imagePullSecrets?.flatMap(({ name }) => name ?? []) ?? [];

export const containersOf = ({ spec }: Pod): readonly string[] => spec?.containers?.map(({ name }) => name) ?? [];
