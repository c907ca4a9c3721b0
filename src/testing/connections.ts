import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { parse, stringify } from "yaml";
import { type KubeObject, namespaces as namespaceKind, type Secret, secrets } from "../api/objects.ts";
import type { Kube } from "../kube/client.ts";
import { createNamespace, removeQuietly, testNamespaces, uniqueName } from "./cluster.ts";
import { EventsOf } from "./events.ts";
import { sampleIn, scrape } from "./metrics.ts";
import { at, encoded, secret } from "./objects.ts";
import { changeSpec } from "./served-clusters.ts";
import { createPullSecret } from "./sidecars.ts";
import { whenAdmissionListens } from "./syncs.ts";
import { type Cluster, type ClusterSpec, cluster, clusters } from "./user-clusters.ts";
import { conditionIn, until, untilGone } from "./wait.ts";

type Fields = Readonly<Record<string, unknown>>;

interface Kubeconfig {
  readonly clusters: readonly { readonly name: string; readonly cluster: Fields }[];
  readonly users: readonly { readonly name: string; readonly user: Fields }[];
  readonly [field: string]: unknown;
}

/** The same with some entries changed, of its cluster, its user or the whole; `undefined` takes one out. */
export function kubeconfigLike(
  text: string,
  {
    cluster = {},
    user = {},
    whole = {},
  }: { readonly cluster?: Fields; readonly user?: Fields; readonly whole?: Fields },
): string {
  const config = parse(text) as Kubeconfig;
  return stringify({
    ...config,
    clusters: config.clusters.map((each) => ({ ...each, cluster: { ...each.cluster, ...cluster } })),
    users: config.users.map((each) => ({ ...each, user: { ...each.user, ...user } })),
    ...whole,
  });
}

type Lists = Readonly<Record<"clusters" | "users" | "contexts", readonly Fields[]>>;

/** The same with further entries, which its current context does not name. */
export function kubeconfigWith(text: string, more: Lists): string {
  const config = parse(text) as Lists;
  return stringify({
    ...config,
    clusters: [...config.clusters, ...more.clusters],
    users: [...config.users, ...more.users],
    contexts: [...config.contexts, ...more.contexts],
  });
}

/** A Cluster in the making: its name is known, and everything it leaves behind goes after the test. */
export interface Prepared {
  /** Of the home. */
  readonly kube: Kube;
  readonly name: string;
  /** Of the home, for its kubeconfig and its sources. */
  readonly namespace: string;
  /** `namespace/name` of the Secret that its kubeconfig is expected in, unless told otherwise. */
  readonly kubeconfig: string;
}

export async function prepareCluster(t: TestContext): Promise<Prepared> {
  const name = uniqueName("cluster");
  // Before the namespace's, for these hooks run in turn: without its kubeconfig nobody could clean up.
  const cleanUps: (() => Promise<void>)[] = [];
  t.after(async () => {
    for (const cleanUp of cleanUps) await cleanUp();
  });
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [namespace] = namespaces;
  cleanUps.push(() => removeCluster(kube, name));
  return { kube, name, namespace, kubeconfig: `${namespace}/${name}-kubeconfig` };
}

/** One that cannot be reached is paused first: else its deletion waits for it. */
export async function removeCluster(kube: Kube, name: string): Promise<void> {
  const found = await kube.get<Cluster>(clusters, { name });
  if (!found) return;
  if (conditionIn(found, "Reachable")?.status !== "True") await changeSpec({ kube, name }, { pause: true });
  await removeQuietly(() => kube.delete(clusters, { name }));
  await untilGone(kube, clusters, { name });
}

interface StoreOptions {
  /** `namespace/name` each. */
  readonly references?: readonly string[];
  readonly spec?: ClusterSpec;
  /** Says where its kubeconfig is: unless the spec tells otherwise, in `prepared.kubeconfig`. */
  readonly isReferring?: boolean;
}

export function storeCluster(
  { kube, name, namespace }: Prepared,
  { references = [], spec, isReferring = true }: StoreOptions = {},
): Promise<Cluster> {
  const referring = isReferring ? { kubeconfigSecretRef: { namespace } } : {};
  const draft = cluster(name, { references, spec: { ...referring, ...spec } });
  return whenAdmissionListens(() => kube.create<Cluster>(clusters, draft));
}

/** Creates the Secret that holds the kubeconfig, or changes what is in it. */
export async function writeKubeconfig(kube: Kube, key: string, text: string, field = "kubeconfig"): Promise<void> {
  if (!(await kube.getMetadata(secrets, at(key)))) {
    await kube.create<Secret>(secrets, secret(key, { [field]: text }));
    return;
  }
  await kube.patch(secrets, at(key), { type: "merge", body: { data: encoded({ [field]: text }) } });
}

export interface Connected extends Prepared {
  readonly cluster: Cluster;
  /** `namespace/name` of a pull secret that is referenced. */
  readonly source: string;
  readonly events: EventsOf;
}

/** A Cluster with this kubeconfig and one pull secret; what comes of it is not waited for. */
export async function connectCluster(
  t: TestContext,
  kubeconfig: string,
  { spec }: { readonly spec?: ClusterSpec } = {},
): Promise<Connected> {
  const prepared = await prepareCluster(t);
  const { kube, namespace } = prepared;
  const source = `${namespace}/quay`;
  await createPullSecret(kube, source);
  await writeKubeconfig(kube, prepared.kubeconfig, kubeconfig);
  const created = await storeCluster(prepared, { references: [source], ...(spec && { spec }) });
  return { ...prepared, cluster: created, source, events: new EventsOf(t, kube, created) };
}

/** Times of the API server have no fractions: whatever is created from then on is younger than this. */
export async function untilOlder({ metadata }: KubeObject): Promise<void> {
  const createdAtMs = Date.parse(metadata.creationTimestamp);
  while (Date.now() < createdAtMs + 1_000) await sleep(50);
}

/** As Kubermatic names the namespace in which it keeps what belongs to a cluster. */
export async function kubermaticNamespace(t: TestContext, { name }: Prepared): Promise<string> {
  await createNamespace(t, `cluster-${name}`);
  return `cluster-${name}`;
}

/** UID of the cluster's kube-system. */
export async function idOf(kube: Kube): Promise<string> {
  return (await kube.getMetadata(namespaceKind, { name: "kube-system" }))?.metadata.uid ?? "";
}

export async function untilClusterStatus(
  { kube, name }: Pick<Prepared, "kube" | "name">,
  what: string,
  accept: (status: NonNullable<Cluster["status"]>) => boolean,
): Promise<Cluster> {
  const found = await until<Cluster>(kube, clusters, { name }, what, (seen) => accept(seen?.status ?? {}));
  return found as Cluster;
}

/** Resolves once the operator's metric is as wanted; `undefined`: there is no such series. */
export async function untilMetric(
  metric: string,
  labels: Readonly<Record<string, string>>,
  accept: (value: number | undefined) => boolean,
): Promise<void> {
  for (const deadline = performance.now() + 60_000; ; await sleep(100)) {
    const value = sampleIn(await scrape(), metric, labels);
    if (accept(value)) return;
    if (performance.now() > deadline) throw new Error(`${metric} ${JSON.stringify(labels)} stays ${value}`);
  }
}

/** A port that somebody may connect to. */
export interface Listener {
  readonly port: number;
  /** How many have. */
  readonly connections: () => number;
}

async function listen(t: TestContext, server: Server): Promise<Listener> {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on("connection", (socket) => {
    connections++;
    sockets.add(socket.on("error", () => {}));
    socket.once("close", () => sockets.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, "close");
  });
  return { port: (server.address() as AddressInfo).port, connections: () => connections };
}

/** Hangs up on everybody. */
export function rudeServer(t: TestContext): Promise<Listener> {
  return listen(
    t,
    createServer((socket) => void socket.destroy()),
  );
}

/** An HTTP proxy, which connects to wherever it is told. */
export function forwardProxy(t: TestContext): Promise<Listener> {
  const proxy = createHttpServer().on("connect", ({ url = "" }, client, head) => {
    const [host = "", port = ""] = url.split(":");
    const upstream = connect(Number(port), host, () => {
      client.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      upstream.write(head);
      upstream.pipe(client).pipe(upstream);
    });
    const end = () => {
      upstream.destroy();
      client.destroy();
    };
    upstream.on("error", end).once("close", end);
    client.on("error", end).once("close", end);
  });
  return listen(t, proxy);
}
