import { createHash } from "node:crypto";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import {
  apiVersionOf,
  type Condition,
  type Draft,
  type KubeObject,
  type NamespacedRef,
  type Resource,
  type Secret,
} from "../api/objects.ts";
import type { Kube } from "../kube/client.ts";
import { adminKube, removeQuietly, uniqueName } from "./cluster.ts";
import { at, type Meta } from "./objects.ts";
import { createSecret } from "./secrets.ts";
import { whenAdmissionListens } from "./syncs.ts";
import { until, untilConditionOf, untilGone, untilSecret, type Wanted } from "./wait.ts";

/** Written out again, not imported: a test that asks for what users ask for notices when the address changes. */
export const sidecarSets: Resource = {
  group: "apps.kruise.io",
  version: "v1alpha1",
  plural: "sidecarsets",
  kind: "SidecarSet",
  namespaced: false,
};
export const pods: Resource = { group: "", version: "v1", plural: "pods", kind: "Pod", namespaced: true };
export const serviceAccounts: Resource = {
  group: "",
  version: "v1",
  plural: "serviceaccounts",
  kind: "ServiceAccount",
  namespaced: true,
};
export const deployments: Resource = {
  group: "apps",
  version: "v1",
  plural: "deployments",
  kind: "Deployment",
  namespaced: true,
};
const configurationsOf = (kind: "Mutating" | "Validating"): Resource => ({
  group: "admissionregistration.k8s.io",
  version: "v1",
  plural: `${kind.toLowerCase()}webhookconfigurations`,
  kind: `${kind}WebhookConfiguration`,
  namespaced: false,
});
/** Where webhooks are registered. */
export const configurations = {
  mutating: configurationsOf("Mutating"),
  validating: configurationsOf("Validating"),
} as const;

export const injectedLabel = "latchkey.dev/injected";
export const pullSecretsAnnotation = "latchkey.dev/pull-secrets";
export const injectedListAnnotation = "kruise.io/sidecarset-injected-list";

type Labels = Readonly<Record<string, string>>;

export interface Selector {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly [field: string]: unknown;
}

interface Volume {
  readonly name: string;
  readonly [source: string]: unknown;
}

export interface SidecarSetSpec {
  readonly selector: Selector;
  readonly namespace?: string;
  readonly namespaceSelector?: Selector;
  readonly containers?: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly Volume[];
  readonly imagePullSecrets?: readonly { readonly name: string; readonly namespace?: string }[];
  readonly injectionStrategy?: { readonly paused?: boolean };
  readonly updateStrategy?: { readonly type?: string; readonly [field: string]: unknown };
}

export interface SidecarSet extends KubeObject {
  readonly spec: SidecarSetSpec;
  readonly status?: {
    readonly observedGeneration?: number;
    readonly specChangedAt?: string;
    readonly matchedPods?: number;
    readonly updatedPods?: number;
    readonly readyPods?: number;
    readonly updatedReadyPods?: number;
    readonly pullSecrets?: string;
    readonly imagePullSecrets?: readonly {
      readonly namespace: string;
      readonly name: string;
      readonly copyName: string;
      readonly state: string;
      readonly copies: number;
      readonly suffixed: number;
    }[];
    readonly conditions?: readonly Condition[];
  };
}

export interface PodSpec {
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly Volume[];
  readonly imagePullSecrets?: readonly { readonly name?: string }[];
  readonly serviceAccountName?: string;
  readonly [field: string]: unknown;
}

export interface Pod extends KubeObject {
  readonly spec: PodSpec;
  readonly status?: { readonly phase?: string; readonly conditions?: readonly object[] };
}

export interface Deployment extends KubeObject {
  readonly spec: {
    readonly replicas?: number;
    readonly selector: Selector;
    readonly template: { readonly metadata: Meta; readonly spec: PodSpec };
  };
  readonly status?: { readonly availableReplicas?: number };
}

export interface SidecarSetOptions {
  readonly name?: string;
  /** `namespace/name` each; a name alone leaves the namespace out. */
  readonly pullSecrets?: readonly string[];
  readonly annotations?: Labels;
  /** Whatever else is to be in the spec, or in place of what is. */
  readonly spec?: Partial<SidecarSetSpec>;
}

/** Selects Pods labelled `app: <name>` and brings one container, named like the SidecarSet itself: neither is another test's. */
export function sidecarSet(
  name: string,
  { pullSecrets, annotations, spec }: SidecarSetOptions = {},
): Draft<SidecarSet> {
  return {
    apiVersion: apiVersionOf(sidecarSets),
    kind: sidecarSets.kind,
    metadata: { name, ...(annotations && { annotations }) },
    spec: {
      selector: { matchLabels: { app: name } },
      containers: [{ name, image: "registry.example.com/sidecar:1" }],
      ...(pullSecrets && { imagePullSecrets: pullSecrets.map(referenceOf) }),
      ...spec,
    },
  };
}

const referenceOf = (source: string) => (source.includes("/") ? at(source) : { name: source });

/** Pods that nobody schedules: their status is what the test makes of it, and they are deleted at once. */
const podSpec = (spec: Partial<PodSpec> = {}): PodSpec => ({
  schedulerName: "nobody",
  containers: [{ name: "app", image: "registry.example.com/app:1" }],
  ...spec,
});

export interface PodOptions extends Meta {
  readonly spec?: Partial<PodSpec>;
}

/** What it must be labelled with to be selected by this SidecarSet, if that is one of `sidecarSet` above. */
export const labelsFor = (set: { readonly metadata: { readonly name?: string } }): Labels => ({
  app: set.metadata.name ?? "",
});

export function pod(key: string, { spec, ...meta }: PodOptions = {}): Draft<Pod> {
  return { apiVersion: "v1", kind: "Pod", metadata: { ...at(key), ...meta }, spec: podSpec(spec) };
}

export function deployment(
  key: string,
  { spec, replicas = 1, labels, ...meta }: PodOptions & { readonly replicas?: number } = {},
): Draft<Deployment> {
  const template = { ...labels, deployment: at(key).name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: at(key),
    spec: {
      replicas,
      selector: { matchLabels: { deployment: at(key).name } },
      template: { metadata: { ...meta, labels: template }, spec: podSpec(spec) },
    },
  };
}

/** What `docker login` would have written: the values of a Secret of the type below. */
export function dockerConfig(user: string, password = "s3cret"): Readonly<Record<string, string>> {
  const auth = Buffer.from(`${user}:${password}`).toString("base64");
  return { ".dockerconfigjson": JSON.stringify({ auths: { "registry.example.com": { auth } } }) };
}

export const dockerConfigType = "kubernetes.io/dockerconfigjson";

export function createPullSecret(kube: Kube, key: string, token = "s3cret", meta: Meta = {}): Promise<Secret> {
  return createSecret(kube, key, dockerConfig("robot", token), { type: dockerConfigType, ...meta });
}

/** Creates a SidecarSet under a name of its own and deletes it after the test; whether it is any good is not waited for. */
export async function storeSidecarSet(
  t: TestContext,
  kube: Kube,
  options: SidecarSetOptions = {},
): Promise<SidecarSet> {
  const name = options.name ?? uniqueName("set");
  // By the admin: whoever creates it here may have lost his rights by then.
  const admin = await adminKube();
  t.after(() => removeQuietly(() => admin.delete(sidecarSets, { name })));
  return whenAdmissionListens(() => kube.create<SidecarSet>(sidecarSets, sidecarSet(name, options)));
}

/** The same, and waits until it is accepted: from then on Pods get its containers. */
export async function createSidecarSet(
  t: TestContext,
  kube: Kube,
  options: SidecarSetOptions = {},
): Promise<SidecarSet> {
  const set = await storeSidecarSet(t, kube, options);
  return untilSetCondition(await adminKube(), set, "Accepted", { status: "True" });
}

export function changeSidecarSet(
  kube: Kube,
  set: { readonly metadata: { readonly name: string } },
  change: { readonly spec?: object; readonly metadata?: object },
): Promise<SidecarSet> {
  const ref = { name: set.metadata.name };
  return whenAdmissionListens(() => kube.patch<SidecarSet>(sidecarSets, ref, { type: "merge", body: change }));
}

/** Creates the Pod once its ServiceAccount is there, and deletes it after the test. */
export async function createPod(t: TestContext, kube: Kube, key: string, options: PodOptions = {}): Promise<Pod> {
  const { namespace, name } = at(key);
  const admin = await adminKube();
  t.after(() => removeQuietly(() => admin.delete(pods, { namespace, name })));
  await untilServiceAccount(admin, { namespace, name: options.spec?.serviceAccountName ?? "default" });
  return kube.create<Pod>(pods, pod(key, options));
}

/**
 * The same until Latchkey has put something into it: a webhook that another test has just moved is passed over by the
 * API server, and then the Pod is as it was.
 */
export async function createInjectedPod(
  t: TestContext,
  kube: Kube,
  key: string,
  options: PodOptions = {},
): Promise<Pod> {
  for (const deadline = performance.now() + 60_000; ; await sleep(250)) {
    const created = await createPod(t, kube, key, options);
    if (created.metadata.labels?.[injectedLabel] === "true") return created;
    if (performance.now() > deadline) throw new Error(`nothing was put into Pod ${key}`);
    await kube.delete(pods, at(key));
    await untilGone(kube, pods, at(key));
  }
}

async function untilServiceAccount(kube: Kube, ref: NamespacedRef): Promise<void> {
  await until(kube, serviceAccounts, ref, "exists", (account) => account !== undefined);
}

/** What a kubelet would say about it. */
export function setPodPhase(
  kube: Kube,
  key: string,
  phase: "Pending" | "Running" | "Succeeded" | "Failed",
  { isReady = phase === "Running" }: { readonly isReady?: boolean } = {},
): Promise<Pod> {
  const status = { phase, conditions: [{ type: "Ready", status: isReady ? "True" : "False" }] };
  const options = { subresource: "status", fieldManager: "kubelet" } as const;
  return kube.patch<Pod>(pods, at(key), { type: "merge", body: { status } }, options);
}

/** Names in the Pod's `spec.imagePullSecrets`, in order. */
export const pullSecretsOf = ({ spec }: Pod): readonly (string | undefined)[] =>
  (spec.imagePullSecrets ?? []).map(({ name }) => name);

export async function untilSidecarSet(
  kube: Kube,
  name: string,
  what: string,
  accept: (set: SidecarSet) => boolean,
): Promise<SidecarSet> {
  const found = await until<SidecarSet>(kube, sidecarSets, { name }, what, (set) => set !== undefined && accept(set));
  return found as SidecarSet;
}

export function untilSetCondition(
  kube: Kube,
  set: { readonly metadata: { readonly name: string; readonly generation?: number } },
  type: "Ready" | "Accepted" | "PullSecretsReady" | "Updated",
  wanted: Wanted,
): Promise<SidecarSet> {
  return untilConditionOf<SidecarSet>(kube, sidecarSets, set, type, wanted);
}

/** Resolves with the Secret once it is as `createPullSecret` would have made it: a copy that has arrived. */
export function untilPullSecret(kube: Kube, key: string, token = "s3cret"): Promise<Secret> {
  return untilSecret(kube, key, dockerConfig("robot", token), { type: dockerConfigType });
}

/** The name of a copy of `namespace/name`, by the book. */
export function literalName(source: string): string {
  const { namespace, name } = at(source);
  return `${namespace}-${name}`;
}

/** The other one, for where the first is taken or too long. */
export function suffixedName(source: string): string {
  const hash = createHash("sha256").update(source, "utf8").digest("hex").slice(0, 10);
  const trimmed = literalName(source)
    .slice(0, 242)
    .replace(/[^a-z0-9]+$/, "");
  return `${trimmed}-${hash}`;
}
