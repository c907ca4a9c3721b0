import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Condition,
  crds,
  type Draft,
  type KubeObject,
  namespaces as namespaceKind,
  type Resource,
  type Secret,
  secrets,
} from "../api/objects.ts";
import type { Kube } from "../kube/client.ts";
import { adminKube, removeQuietly, uniqueName } from "./cluster.ts";
import type { Meta } from "./objects.ts";
import { createSecret } from "./secrets.ts";
import { whenAdmissionListens } from "./syncs.ts";
import { statusAnnotation } from "./told.ts";
import { clusters, kubeconfigSecret, kubermaticConfigurations } from "./user-clusters.ts";
import { until, untilGone } from "./wait.ts";

/** Kubermatic's own Cluster, as far as it matters here. */
export interface KubermaticCluster extends KubeObject {
  readonly spec: { readonly [field: string]: unknown };
  readonly status?: { readonly [field: string]: unknown };
}

export interface KubermaticOptions {
  /** Whether its schema has references to pull secrets: no release does. */
  readonly hasReferences?: boolean;
  /** Which of its kinds. */
  readonly kinds?: readonly Resource[];
}

interface Crd extends KubeObject {
  readonly spec: unknown;
  readonly status?: { readonly conditions?: readonly Condition[] };
}

const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const text = { type: "string" };
const secretRef = { type: "object", properties: { name: text, namespace: text } };

/** Without our label, with a status of its own, and with pull secrets that are not ours. */
function crdOf({ group, version, plural, kind, namespaced }: Resource, spec: object) {
  const schema = {
    openAPIV3Schema: { type: "object", properties: { spec: { ...open, properties: spec }, status: open } },
  };
  const names = { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() };
  const versions = [{ name: version, schema, served: true, storage: true, subresources: { status: {} } }];
  const annotations = {
    "controller-gen.kubebuilder.io/version": "v0.17.2",
    "kubermatic.k8c.io/location": "master,seed",
  };
  const scope = namespaced ? "Namespaced" : "Cluster";
  return { metadata: { name: `${plural}.${group}`, annotations }, spec: { group, names, scope, versions } };
}

function fieldsOf(kind: Resource, { hasReferences = false }: KubermaticOptions): object {
  if (kind === kubermaticConfigurations) return { imagePullSecret: text, userCluster: open };
  const own = { humanReadableName: text, pause: { type: "boolean" }, pauseReason: text, imagePullSecret: secretRef };
  return { ...own, ...(hasReferences && { imagePullSecrets: { type: "array", items: secretRef } }) };
}

/** In place of whatever CRDs of these names are there; the objects stay where one is replaced, not deleted. */
export async function installKubermatic(kube: Kube, options: KubermaticOptions = {}): Promise<void> {
  const { kinds = [clusters, kubermaticConfigurations] } = options;
  for (const draft of kinds.map((kind) => crdOf(kind, fieldsOf(kind, options)))) {
    const { name } = draft.metadata;
    const present = await kube.get<Crd>(crds, { name });
    if (!present) await kube.create<Crd>(crds, draft);
    else {
      const { resourceVersion, uid, creationTimestamp } = present.metadata;
      await kube.replace<Crd>(crds, {
        ...draft,
        metadata: { ...draft.metadata, resourceVersion, uid, creationTimestamp },
      });
    }
    await until<Crd>(kube, crds, { name }, "is established", (crd) => {
      return crd?.status?.conditions?.some(({ type, status }) => type === "Established" && status === "True") ?? false;
    });
  }
  for (const resource of kinds) {
    for (const deadline = performance.now() + 60_000; !(await kube.serves(resource)); await sleep(50)) {
      if (performance.now() > deadline) throw new Error(`${resource.plural} are not served`);
    }
  }
}

/** With all objects. */
export async function removeKubermatic(kube: Kube): Promise<void> {
  for (const { plural, group } of [clusters, kubermaticConfigurations]) {
    const name = `${plural}.${group}`;
    await kube.delete(crds, { name });
    await untilGone(kube, crds, { name });
  }
}

export interface OriginalOptions extends Meta {
  readonly name?: string;
  readonly spec?: object;
  /** Text of the kubeconfig that Kubermatic keeps for it; without it the cluster is only being created. */
  readonly kubeconfig?: string;
}

const ownFields = {
  cloud: { dc: "x" },
  version: "1.36.4",
  imagePullSecret: { name: "nodes", namespace: "kube-system" },
};

export function original(
  name: string,
  { spec, ...meta }: Omit<OriginalOptions, "kubeconfig"> = {},
): Draft<KubermaticCluster> {
  return { metadata: { name, ...meta }, spec: { ...ownFields, ...spec } };
}

/** As Kubermatic makes it: with a namespace of its own, in which it keeps the kubeconfig. Gone after the test. */
export async function createOriginal(
  t: TestContext,
  { name = uniqueName("c"), kubeconfig, ...options }: OriginalOptions = {},
): Promise<KubermaticCluster> {
  const kube = await adminKube();
  t.after(() => removeOriginal(kube, name));
  const draft = original(name, options);
  const created = await whenAdmissionListens(() => kube.create<KubermaticCluster>(clusters, draft));
  if (kubeconfig !== undefined) await bringUp(t, created, kubeconfig);
  return created;
}

/** Where Kubermatic says that it keeps what belongs to a cluster; not where one would guess. */
export const namespaceOfCluster = (name: string): string => `seed-${name}`;

/** Its API server is there now: the status says where, and the Secrets are written. */
export async function bringUp(
  t: TestContext,
  { metadata: { name } }: KubermaticCluster,
  kubeconfig: string,
): Promise<void> {
  const kube = await adminKube();
  const namespaceName = namespaceOfCluster(name);
  t.after(() => removeQuietly(() => kube.delete(namespaceKind, { name: namespaceName })));
  await kube.create(namespaceKind, { metadata: { name: namespaceName } });
  await kube.create<Secret>(secrets, kubeconfigSecret(`${namespaceName}/internal-admin-kubeconfig`, kubeconfig));
  await createSecret(
    kube,
    `${namespaceName}/dockercfg`,
    { ".dockerconfigjson": '{"auths":{}}' },
    { type: "kubernetes.io/dockerconfigjson" },
  );
  const status = { namespaceName, phase: "Running", conditions: { Healthy: { status: "True" } } };
  await kube.patch(clusters, { name }, { type: "merge", body: { status } }, { subresource: "status" });
}

/** Before its namespace, for hooks run in turn: Latchkey finds the way while it is there. */
async function removeOriginal(kube: Kube, name: string): Promise<void> {
  const body = { metadata: { finalizers: null } };
  await removeQuietly(() => kube.patch(clusters, { name }, { type: "merge", body }));
  await removeQuietly(() => kube.delete(clusters, { name }));
  await untilGone(kube, clusters, { name });
}

export function changeOriginal(
  { metadata: { name } }: KubermaticCluster,
  body: { readonly spec?: object; readonly metadata?: object },
  options: { readonly dryRun?: boolean } = {},
): Promise<KubermaticCluster> {
  return whenAdmissionListens(async () =>
    (await adminKube()).patch<KubermaticCluster>(clusters, { name }, { type: "merge", body }, options),
  );
}

/** What Latchkey has to say about an object, by annotation. */
export interface ToldStatus {
  readonly conditions: readonly Condition[];
  readonly namespaces?: { readonly total: number; readonly served: number; readonly summary: string };
  readonly mode?: string;
  readonly credentialsFrom?: string;
  readonly clusterID?: string;
}

export function statusTold(object: KubeObject | undefined): ToldStatus | undefined {
  const told = object?.metadata.annotations?.[statusAnnotation];
  return told === undefined ? undefined : (JSON.parse(told) as ToldStatus);
}

export async function untilStatusTold(
  resource: Resource,
  { metadata: { name, namespace } }: KubeObject,
  what: string,
  accept: (told: ToldStatus) => boolean,
): Promise<ToldStatus> {
  const ref = { name, ...(namespace && { namespace }) };
  const found = await until<KubeObject>(await adminKube(), resource, ref, what, (object) => {
    const told = statusTold(object);
    return told !== undefined && accept(told);
  });
  return statusTold(found) as ToldStatus;
}

/** Resolves once this condition is told of a Cluster. */
export function untilTold(
  object: KubeObject,
  type: string,
  wanted: { readonly status?: string; readonly reason?: string; readonly message?: RegExp },
): Promise<ToldStatus> {
  return untilStatusTold(clusters, object, `tells ${type} ${JSON.stringify(wanted)}`, ({ conditions }) =>
    conditions.some(
      (each) =>
        each.type === type &&
        (wanted.status ?? each.status) === each.status &&
        (wanted.reason ?? each.reason) === each.reason &&
        (wanted.message?.test(each.message) ?? true),
    ),
  );
}
