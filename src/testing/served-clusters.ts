import { createHash } from "node:crypto";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { namespaces as namespaceKind, type Secret, secrets } from "../api/objects.ts";
import type { Kube } from "../kube/client.ts";
import { testNamespaces } from "./cluster.ts";
import { EventsOf } from "./events.ts";
import { givenIn, type InjectionRecord, recordObject } from "./injection.ts";
import { at } from "./objects.ts";
import { createPullSecret, literalName, serviceAccounts } from "./sidecars.ts";
import { whenAdmissionListens } from "./syncs.ts";
import {
  type Cluster,
  type ClusterSpec,
  clusters,
  serveCluster,
  type UserCluster,
  untilCluster,
} from "./user-clusters.ts";
import { until } from "./wait.ts";

/** A Cluster at work: its sources, its user cluster, and what is told of it. */
export interface ServedCluster {
  /** Of the home. */
  readonly kube: Kube;
  readonly user: UserCluster;
  /** Of the Cluster. */
  readonly name: string;
  /** In the home, for sources. */
  readonly vault: string;
  /** `namespace/name` each, in the order of the references. */
  readonly sources: readonly string[];
  readonly cluster: Cluster;
  readonly events: EventsOf;
}

interface ServeOptions {
  /** Names of pull secrets that are made and referenced. */
  readonly sources?: readonly string[];
  /** References besides, as they are. */
  readonly references?: readonly string[];
  readonly spec?: ClusterSpec;
  /** Another way to the user cluster than its own. */
  readonly kubeconfig?: string;
}

/** Makes sources in a fresh namespace of the home and a Cluster that references them; what comes of it is not waited for. */
export async function beginServing(
  t: TestContext,
  user: UserCluster,
  { sources: names = ["quay"], references = [], spec, kubeconfig = user.kubeconfig }: ServeOptions = {},
): Promise<ServedCluster> {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [vault] = namespaces;
  const sources = names.map((name) => `${vault}/${name}`);
  for (const source of sources) await createPullSecret(kube, source);
  const all = [...sources, ...references];
  const { cluster } = await serveCluster(t, { user: { kubeconfig }, references: all, ...(spec && { spec }) });
  const { name } = cluster.metadata;
  return { kube, user, name, vault, sources: all, cluster, events: new EventsOf(t, kube, cluster) };
}

/** The same, and waits until everything is as it should be. */
export async function served(t: TestContext, user: UserCluster, options: ServeOptions = {}): Promise<ServedCluster> {
  const serving = await beginServing(t, user, options);
  await untilCluster(serving.kube, serving.name, "Ready", { status: "True" });
  return serving;
}

export function changeSpec({ kube, name }: Pick<ServedCluster, "kube" | "name">, spec: object): Promise<Cluster> {
  const body = { spec };
  return whenAdmissionListens(() => kube.patch<Cluster>(clusters, { name }, { type: "merge", body }));
}

/** `namespace/name` each, in place of those there were. */
export function refer(serving: Pick<ServedCluster, "kube" | "name">, references: readonly string[]): Promise<Cluster> {
  return changeSpec(serving, { imagePullSecrets: references.map(at) });
}

export async function untilStatus(
  { kube, name }: Pick<ServedCluster, "kube" | "name">,
  what: string,
  accept: (status: NonNullable<Cluster["status"]>) => boolean,
): Promise<NonNullable<Cluster["status"]>> {
  const found = await until<Cluster>(kube, clusters, { name }, what, (cluster) => accept(cluster?.status ?? {}));
  return found?.status ?? {};
}

/** Of the source `namespace/name`, as labels have it. */
export const hashOf = (source: string): string =>
  createHash("sha256").update(source, "utf8").digest("hex").slice(0, 10);

/** Where a copy of a source is in a namespace where nothing stands in the way. */
export const copyAt = (namespace: string, source: string): string => `${namespace}/${literalName(source)}`;

/** UID of the home's kube-system, by which copies tell whose they are. */
export async function installationOf(kube: Kube): Promise<string> {
  const system = await kube.get(namespaceKind, { name: "kube-system" });
  return system?.metadata.uid ?? "";
}

/** Everything that proves a copy ours, but for the fingerprint, which takes the installation's key. */
export function forgedMarks(key: string, source: string, installation: string) {
  return {
    labels: {
      "app.kubernetes.io/managed-by": "latchkey",
      "latchkey.dev/owner-uid": installation,
      "latchkey.dev/source-hash": hashOf(source),
    },
    annotations: {
      "latchkey.dev/owner": "Installation",
      "latchkey.dev/source": source,
      "latchkey.dev/self": key,
    },
  };
}

/** The names that a Pod would be given there now. */
export async function namesGiven({ kube }: UserCluster, namespace: string): Promise<readonly (string | undefined)[]> {
  await until(kube, serviceAccounts, { namespace, name: "default" }, "exists", (account) => account !== undefined);
  return givenIn(kube, namespace);
}

/** What the injection record says now. */
export async function recordedIn({ kube }: UserCluster): Promise<Readonly<Record<string, string>>> {
  const { resource, ref } = recordObject;
  return (await kube.get<InjectionRecord>(resource, ref))?.data ?? {};
}

/** All Secrets of the user cluster that say they are copies, by key. */
export async function copiesIn({ kube }: UserCluster): Promise<ReadonlyMap<string, Secret>> {
  const all = await kube.list<Secret>(secrets, { labelSelector: "app.kubernetes.io/managed-by=latchkey" });
  return new Map(all.map((copy) => [`${copy.metadata.namespace}/${copy.metadata.name}`, copy]));
}

export async function untilEvent(events: EventsOf, wanted: string): Promise<void> {
  for (const deadline = performance.now() + 120_000; !events.inShort.includes(wanted); await sleep(20)) {
    if (performance.now() > deadline) throw new Error(`only ${JSON.stringify(events.inShort)} were told`);
  }
}
