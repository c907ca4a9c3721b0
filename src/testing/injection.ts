import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { ControlPlane } from "../../tools/local/control-plane.ts";
import type { KubeObject, Resource } from "../api/objects.ts";
import type { Kube } from "../kube/client.ts";
import type { ApiProxy } from "./api-proxy.ts";
import { uniqueName } from "./cluster.ts";
import { at, configMaps, type Meta } from "./objects.ts";
import { createPullSecret, type Pod, type PodOptions, pod, pods, pullSecretsOf, serviceAccounts } from "./sidecars.ts";
import { whenAdmissionListens } from "./syncs.ts";
import { type Cluster, type ClusterSpec, clusters } from "./user-clusters.ts";
import { until } from "./wait.ts";

/** Written out again, not imported: a test that asks for what users ask for notices when the address changes. */
const admission = (plural: string, kind: string): Resource => ({
  group: "admissionregistration.k8s.io",
  version: "v1",
  plural,
  kind,
  namespaced: false,
});
export const policies = admission("mutatingadmissionpolicies", "MutatingAdmissionPolicy");
export const bindings = admission("mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding");

export const injectionName = "latchkey-pull-secrets";
/** Everything by which a user cluster injects in mode Policy. */
export const injectionObjects = [
  { resource: configMaps, ref: { namespace: "kube-system", name: injectionName } },
  { resource: policies, ref: { name: injectionName } },
  { resource: bindings, ref: { name: injectionName } },
] as const;
export const [recordObject, policyObject, bindingObject] = injectionObjects;

export const addedAnnotation = "latchkey.dev/added-pull-secrets";
export const enforcing: Meta = { annotations: { "kubernetes.io/enforce-mountable-secrets": "true" } };
export const optedOut: Meta = { labels: { "latchkey.dev/inject": "false" } };

export interface InjectionRecord extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

export interface ServiceAccount extends KubeObject {
  readonly imagePullSecrets?: readonly { readonly name?: string }[];
}

/** The injection record once it is accepted. */
export async function untilRecord(
  kube: Kube,
  what: string,
  accept: (data: Readonly<Record<string, string>>) => boolean,
): Promise<Readonly<Record<string, string>>> {
  const { resource, ref } = recordObject;
  const found = await until<InjectionRecord>(
    kube,
    resource,
    ref,
    what,
    (record) => record !== undefined && accept(record.data ?? {}),
  );
  return found?.data ?? {};
}

/** The account once its list is exactly this. */
export async function untilListed(kube: Kube, key: string, names: readonly string[]): Promise<ServiceAccount> {
  const found = await until<ServiceAccount>(
    kube,
    serviceAccounts,
    at(key),
    `lists ${names.join(", ") || "nothing"}`,
    (account) => account !== undefined && isDeepStrictEqual(listOf(account), names),
  );
  return found as ServiceAccount;
}

export const listOf = ({ imagePullSecrets = [] }: ServiceAccount): readonly (string | undefined)[] =>
  imagePullSecrets.map(({ name }) => name);

export function createAccount(
  kube: Kube,
  key: string,
  { names, ...meta }: Meta & { readonly names?: readonly string[] } = {},
): Promise<ServiceAccount> {
  const imagePullSecrets = names?.map((name) => ({ name }));
  const account = { metadata: { ...at(key), ...meta }, ...(imagePullSecrets && { imagePullSecrets }) };
  return kube.create<ServiceAccount>(serviceAccounts, account);
}

/** What a Pod would be given if it were created now. */
export async function givenIn(kube: Kube, namespace: string, options: PodOptions = {}) {
  const draft = pod(`${namespace}/${uniqueName("try")}`, options);
  return pullSecretsOf(await kube.create<Pod>(pods, draft, { dryRun: true }));
}

/** Waits for a policy, of which the API server takes notice within a second or so and tells nobody. */
export async function untilGiven(
  kube: Kube,
  namespace: string,
  names: readonly string[],
  options: PodOptions = {},
): Promise<void> {
  const name = options.spec?.serviceAccountName ?? "default";
  await until(kube, serviceAccounts, { namespace, name }, "exists", (account) => account !== undefined);
  const deadline = performance.now() + 60_000;
  for (;;) {
    const given = await givenIn(kube, namespace, options).catch((error: Error) => [error.message]);
    if (isDeepStrictEqual(given, names)) return;
    if (performance.now() > deadline) throw new Error(`Pods in ${namespace} get ${given}, not ${names}`);
    await sleep(50);
  }
}

/** Pull secrets `quay`, `hub`, … in a namespace of the home: keys of sources, in order. */
export async function createSources(kube: Kube, namespace: string, ...names: readonly string[]): Promise<string[]> {
  const sources = names.map((name) => `${namespace}/${name}`);
  for (const source of sources) await createPullSecret(kube, source);
  return sources;
}

export function changeCluster(kube: Kube, { metadata: { name } }: Cluster, spec: ClusterSpec): Promise<Cluster> {
  return whenAdmissionListens(() => kube.patch<Cluster>(clusters, { name }, { type: "merge", body: { spec } }));
}

export const references = (...sources: readonly string[]): ClusterSpec => ({ imagePullSecrets: sources.map(at) });

/** A kubeconfig that leads there through the proxy. */
export function through(
  proxy: ApiProxy,
  { kubeconfig, plane }: { readonly kubeconfig: string; readonly plane: Pick<ControlPlane, "server"> },
): string {
  const ca = Buffer.from(proxy.ca).toString("base64");
  return kubeconfig
    .replace(plane.server, proxy.url)
    .replace(/certificate-authority-data: .*/, `certificate-authority-data: ${ca}`);
}
