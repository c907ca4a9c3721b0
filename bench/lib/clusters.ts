import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster } from "../../src/api/cluster.ts";
import { clusters } from "../../src/api/kinds.ts";
import { injectLabel } from "../../src/api/marks.ts";
import { namespaces as namespaceKind, type Secret, secrets } from "../../src/api/objects.ts";
import { Kube } from "../../src/kube/client.ts";
import { loadConnection } from "../../src/kube/kubeconfig.ts";
import { type ControlPlane, startControlPlane } from "../../tools/local/control-plane.ts";
import { userClusterKubeconfig } from "../../tools/local/user-cluster.ts";
import { sourceOf } from "./sidecars.ts";

/** How many writes Latchkey has under way at once against one user cluster. */
export const inFlight = 8;

/** A user cluster: a control plane of its own. */
export interface UserCluster extends AsyncDisposable {
  /** Of its Cluster at home. */
  readonly name: string;
  readonly plane: ControlPlane;
  /** Its admin's client, for setting things up and looking at them. */
  readonly kube: Kube;
  /** What Latchkey gets: the text, with the rights of the published role and no others. */
  readonly kubeconfig: string;
}

export async function openUserCluster(
  name: string,
  { auditLog = false, signal }: { readonly auditLog?: boolean; readonly signal: AbortSignal },
): Promise<UserCluster> {
  const plane = await startControlPlane({ auditLog, signal });
  const kube = new Kube(await loadConnection({ kubeconfig: plane.kubeconfig, env: {} }), { userAgent: "bench" });
  return {
    ...{ name, plane, kube },
    kubeconfig: await userClusterKubeconfig(plane, { signal }),
    async [Symbol.asyncDispose]() {
      await kube[Symbol.asyncDispose]();
      await plane.stop();
    },
  };
}

/** The namespaces that Latchkey serves: all but those that opted out. */
export async function servedNamespaces(kube: Kube): Promise<readonly string[]> {
  const all = await kube.listMetadata(namespaceKind, { labelSelector: `${injectLabel}!=false` });
  return all.map(({ metadata }) => metadata.name);
}

/** The Secret with its kubeconfig; by another address where somebody is to stand in between. */
export async function createKubeconfig(
  home: Kube,
  { name, plane, kubeconfig }: UserCluster,
  server = plane.server,
): Promise<void> {
  const text = kubeconfig.replaceAll(plane.server, server);
  const data = { kubeconfig: Buffer.from(text).toString("base64") };
  await home.create<Secret>(secrets, { metadata: { namespace: "default", name: `${name}-kubeconfig` }, data });
}

const referencesTo = (count: number) => Array.from({ length: count }, (_, at) => sourceOf(at));

/** A Cluster that references so many pull secrets. */
export async function createCluster(home: Kube, { name }: UserCluster, references = 1): Promise<void> {
  await home.create<Cluster>(clusters, {
    metadata: { name },
    spec: { kubeconfigSecretRef: { namespace: "default" }, imagePullSecrets: referencesTo(references) },
  });
}

export async function changeReferences(home: Kube, { name }: UserCluster, references: number): Promise<void> {
  const body = { spec: { imagePullSecrets: referencesTo(references) } };
  await home.patch(clusters, { name }, { type: "merge", body });
}

/** Resolves once that is said of it. */
export async function setPaused(home: Kube, { name }: UserCluster, pause: boolean): Promise<void> {
  await home.patch(clusters, { name }, { type: "merge", body: { spec: { pause } } });
  await untilCondition(home, name, "Paused", pause ? "True" : "False");
}

/** Resolves once it is gone, and with it all that Latchkey made in the user cluster. */
export async function deleteCluster(home: Kube, { name }: UserCluster): Promise<void> {
  await home.delete(clusters, { name });
  while (await home.getMetadata(clusters, { name })) await sleep(100);
}

/** Resolves once the Cluster's status has the condition. */
export async function untilCondition(home: Kube, name: string, type: string, status: "True" | "False"): Promise<void> {
  while (!(await hasCondition(home, name, type, status))) await sleep(100);
}

export async function hasCondition(home: Kube, name: string, type: string, status: string): Promise<boolean> {
  const cluster = await home.get<Cluster>(clusters, { name });
  return cluster?.status?.conditions?.some((each) => each.type === type && each.status === status) ?? false;
}
