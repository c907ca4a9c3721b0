import { after, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { parse } from "yaml";
import { kubeconfigOf } from "../../tools/local/certificates.ts";
import {
  type KubeObject,
  keyOf,
  type Namespace,
  namespaces,
  type Ref,
  type Resource,
  type Secret,
  secrets,
} from "../api/objects.ts";
import type { Kube } from "../kube/client.ts";
import { ApiProxy } from "./api-proxy.ts";
import { createNamespace, removeQuietly, uniqueName } from "./cluster.ts";
import { addedAnnotation, bindingObject, policyObject, recordObject } from "./injection.ts";
import { at } from "./objects.ts";
import { createPullSecret, serviceAccounts } from "./sidecars.ts";
import { whenAdmissionListens } from "./syncs.ts";
import {
  type Cluster,
  type ClusterOptions,
  type ClusterSpec,
  cluster,
  clusters,
  kubeconfigSecret,
  type UserCluster,
} from "./user-clusters.ts";
import { conditionIn, until, untilGone } from "./wait.ts";

/** A source in a fresh namespace, deleted after the test: its key. */
export async function createSource(t: TestContext, kube: Kube, token = "one", name = "quay"): Promise<string> {
  const namespace = uniqueName("vault");
  await createNamespace(t, namespace);
  await createPullSecret(kube, `${namespace}/${name}`, token);
  return `${namespace}/${name}`;
}

/** The Secret with a kubeconfig, in a fresh namespace: its key. It stays, for without it no Cluster is cleaned up after. */
export async function createKubeconfig(kube: Kube, kubeconfig: string): Promise<string> {
  const namespace = uniqueName("fleet");
  await kube.create<Namespace>(namespaces, { metadata: { name: namespace } });
  await kube.create<Secret>(secrets, kubeconfigSecret(`${namespace}/kubeconfig`, kubeconfig));
  return `${namespace}/kubeconfig`;
}

/** Under a name of its own, unless told; gone after the test, with or without an operator. */
export async function createCluster(
  t: TestContext,
  kube: Kube,
  { name = uniqueName("cluster"), ...options }: ClusterOptions & { readonly name?: string },
): Promise<Cluster> {
  t.after(() => removeCluster(kube, name));
  return whenAdmissionListens(() => kube.create<Cluster>(clusters, cluster(name, options)));
}

/** By an operator if there is one, which has its time; it need not wait for a server that is down. */
async function removeCluster(kube: Kube, name: string): Promise<void> {
  const found = await kube.get<Cluster>(clusters, { name });
  if (!found) return;
  if (conditionIn(found, "Reachable")?.status !== "True") {
    const body = { spec: { pause: true } };
    await removeQuietly(() => kube.patch(clusters, { name }, { type: "merge", body }));
  }
  await removeQuietly(() => kube.delete(clusters, { name }));
  const left = await Promise.race([untilGone(kube, clusters, { name }).then(() => false), sleep(30_000, true)]);
  if (!left) return;
  const body = { metadata: { finalizers: null } };
  await removeQuietly(() => kube.patch(clusters, { name }, { type: "merge", body }));
}

export function changeCluster(
  kube: Kube,
  { metadata }: Cluster,
  spec: { readonly [F in keyof ClusterSpec]: ClusterSpec[F] | null },
): Promise<Cluster> {
  const body = { spec };
  return whenAdmissionListens(() => kube.patch<Cluster>(clusters, { name: metadata.name }, { type: "merge", body }));
}

const proxies: ApiProxy[] = [];

// Not after each test: Clusters are cleaned up through them.
after(async () => {
  for (const proxy of proxies) await proxy[Symbol.asyncDispose]();
});

/** Stands between Latchkey and a user cluster; `kubeconfig` leads through it. */
export async function proxyTo(user: UserCluster): Promise<{ readonly proxy: ApiProxy; readonly kubeconfig: string }> {
  const proxy = await ApiProxy.start({ server: user.plane.server, ca: user.plane.admin.ca });
  proxies.push(proxy);
  const { users } = parse(user.kubeconfig) as { users: { user: { token: string } }[] };
  return { proxy, kubeconfig: kubeconfigOf(proxy.url, proxy.ca, "latchkey", { token: users[0]?.user.token ?? "" }) };
}

/** All copies of a source, by namespace. */
export async function copiesOf(kube: Kube, source: string): Promise<ReadonlyMap<string, Secret>> {
  const all = await kube.list<Secret>(secrets, { labelSelector: "latchkey.dev/source-hash" });
  const own = all.filter(({ metadata }) => metadata.annotations?.["latchkey.dev/source"] === source);
  return new Map(own.map((copy) => [copy.metadata.namespace ?? "", copy]));
}

/** What the injection of a cluster consists of: keys of objects, and of the accounts that have entries of ours. */
export async function injectionIn(kube: Kube): Promise<readonly string[]> {
  const [policy, binding, record, accounts] = await Promise.all([
    getIfServed(kube, policyObject),
    getIfServed(kube, bindingObject),
    kube.get(recordObject.resource, recordObject.ref),
    kube.list<KubeObject>(serviceAccounts),
  ]);
  const objects = { policy, binding, record };
  const marked = accounts.filter(({ metadata }) => metadata.annotations?.[addedAnnotation] !== undefined);
  return [
    ...Object.entries(objects).flatMap(([name, object]) => (object ? [name] : [])),
    ...marked.map(({ metadata }) => `account ${keyOf(metadata)}`),
  ];
}

/** Resolves once that is exactly this; it is of many kinds, so they are looked at again and again. */
export async function untilInjectionIn(kube: Kube, wanted: readonly string[]): Promise<void> {
  for (const deadline = performance.now() + 60_000; ; await sleep(200)) {
    const found = await injectionIn(kube);
    if (isDeepStrictEqual(found, wanted)) return;
    if (performance.now() > deadline) throw new Error(`there are ${found.join(", ")}, not ${wanted.join(", ")}`);
  }
}

async function getIfServed(
  kube: Kube,
  { resource, ref }: { readonly resource: Resource; readonly ref: Ref },
): Promise<KubeObject | undefined> {
  return (await kube.serves(resource)) ? kube.get(resource, ref) : undefined;
}

/** By what one object is told from another, and one state of it from the next. */
export const versionOf = ({ metadata: { uid, resourceVersion } }: KubeObject): string => `${uid}@${resourceVersion}`;

export const uidsOf = (objects: ReadonlyMap<string, KubeObject>): Readonly<Record<string, string>> =>
  Object.fromEntries([...objects].map(([key, { metadata }]) => [key, metadata.uid]).sort());

/** The label by which a source is followed. */
export async function untilLabelled(kube: Kube, source: string, isLabelled: boolean): Promise<void> {
  const what = isLabelled ? "is labelled" : "is not labelled";
  await until<Secret>(kube, secrets, at(source), what, (seen) => {
    return seen !== undefined && (seen.metadata.labels?.["latchkey.dev/source"] === "true") === isLabelled;
  });
}
