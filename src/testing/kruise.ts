import { setTimeout as sleep } from "node:timers/promises";
import { type Condition, crds, type KubeObject, type Resource } from "../api/objects.ts";
import type { JsonPatchOp, Kube } from "../kube/client.ts";
import { uniqueName } from "./cluster.ts";
import { type Asked, ForeignWebhook } from "./foreign-webhooks.ts";
import { injectedListAnnotation, type Pod, pod, pods, type SidecarSet, sidecarSets } from "./sidecars.ts";
import { until, untilGone } from "./wait.ts";

export const kruiseConfiguration = "kruise-mutating-webhook-configuration";
export const kruiseCrdName = { name: "sidecarsets.apps.kruise.io" };
export const hashAnnotation = "kruise.io/sidecarset-hash";

type Version = "v1alpha1" | "v1beta1";

export interface KruiseCrdOptions {
  /** Which of its versions are served. */
  readonly serves?: readonly Version[];
  /** Whether its schema says where a pull secret is: no release does. */
  readonly hasNamespaces?: boolean;
}

interface Crd extends KubeObject {
  readonly spec: unknown;
  readonly status?: { readonly conditions?: readonly Condition[] };
}

export const inVersion = (version: Version): Resource => ({ ...sidecarSets, version });

/** What Kruise's own chart installs, as far as it matters here: permissive, and without our label. */
function crdOf({ serves = ["v1alpha1", "v1beta1"], hasNamespaces = false }: KruiseCrdOptions) {
  const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const reference = { name: { type: "string" }, ...(hasNamespaces && { namespace: { type: "string" } }) };
  const spec = {
    ...open,
    properties: { imagePullSecrets: { type: "array", items: { type: "object", properties: reference } } },
  };
  const schema = { openAPIV3Schema: { type: "object", properties: { spec, status: open } } };
  const versions = (["v1alpha1", "v1beta1"] as const).map((name) => ({
    ...{ name, schema, served: serves.includes(name), storage: name === "v1beta1", subresources: { status: {} } },
  }));
  const names = { kind: "SidecarSet", listKind: "SidecarSetList", plural: "sidecarsets", singular: "sidecarset" };
  const metadata = { ...kruiseCrdName, annotations: { "controller-gen.kubebuilder.io/version": "v0.16.5" } };
  return { metadata, spec: { group: "apps.kruise.io", names, scope: "Cluster", versions } };
}

/** In place of whatever CRD of that name is there; the objects stay where it is replaced, not deleted. */
export async function installKruiseCrd(kube: Kube, options: KruiseCrdOptions = {}): Promise<void> {
  const draft = crdOf(options);
  const present = await kube.get<Crd>(crds, kruiseCrdName);
  if (!present) await kube.create<Crd>(crds, draft);
  else {
    const { resourceVersion, uid, creationTimestamp } = present.metadata;
    const metadata = { ...draft.metadata, resourceVersion, uid, creationTimestamp };
    await kube.replace<Crd>(crds, { ...draft, metadata });
  }
  await until<Crd>(kube, crds, kruiseCrdName, "is established", (crd) => {
    return crd?.status?.conditions?.some(({ type, status }) => type === "Established" && status === "True") ?? false;
  });
  for (const version of options.serves ?? ["v1alpha1", "v1beta1"]) await untilServed(kube, inVersion(version));
}

export async function removeCrd(kube: Kube): Promise<void> {
  await kube.delete(crds, kruiseCrdName);
  await untilGone(kube, crds, kruiseCrdName);
}

async function untilServed(kube: Kube, resource: Resource): Promise<void> {
  for (const deadline = performance.now() + 60_000; !(await kube.serves(resource)); await sleep(50)) {
    if (performance.now() > deadline) throw new Error(`${resource.version} of ${resource.plural} is not served`);
  }
}

/** Kruise's webhook for Pods, which does what matters to whoever comes after it: containers, names, annotations. */
export class Kruise implements AsyncDisposable {
  /** Every Pod as it was when Kruise was asked about it. */
  readonly asked: Pod[] = [];
  readonly #kube: Kube;
  #webhook: ForeignWebhook<Pod> | undefined;

  constructor(kube: Kube) {
    this.#kube = kube;
  }

  /** Resolves once the API server asks it. */
  async begin(): Promise<void> {
    this.#webhook = await ForeignWebhook.register<Pod>(this.#kube, {
      kind: "mutating",
      configuration: kruiseConfiguration,
      name: "mpod.kb.io",
      resource: "pods",
      operations: ["CREATE"],
      answer: async (asked) => ({ allowed: true, patch: await this.#patchFor(asked) }),
    });
    const probe = uniqueName("is-kruise-asked");
    for (const deadline = performance.now() + 60_000; ; await sleep(100)) {
      // Refused for as long as the namespace has no account.
      await this.#kube.create<Pod>(pods, pod(`default/${probe}`), { dryRun: true }).catch(() => undefined);
      if (this.asked.some(({ metadata }) => metadata.name === probe)) return;
      if (performance.now() > deadline) throw new Error("the API server does not ask Kruise about Pods");
    }
  }

  async end(): Promise<void> {
    await this.#webhook?.unregister();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#webhook?.[Symbol.asyncDispose]();
  }

  async #patchFor({ object, namespace }: Asked<Pod>): Promise<readonly JsonPatchOp[]> {
    this.asked.push(object);
    const resource = (await this.#kube.serves(sidecarSets)) ? sidecarSets : inVersion("v1beta1");
    const all = await this.#kube.list<SidecarSet>(resource);
    const sets = all.filter((set) => selects(set, object, namespace));
    return sets.length > 0 ? patchOf(object, sets) : [];
  }
}

function selects({ spec }: SidecarSet, { metadata: { labels = {} } }: Pod, namespace: string): boolean {
  const wanted = Object.entries(spec.selector.matchLabels ?? {});
  return (spec.namespace ?? namespace) === namespace && wanted.every(([key, value]) => labels[key] === value);
}

/** What somebody else wrote into the list of SidecarSets is kept: so does the original. */
function patchOf({ metadata, spec }: Pod, sets: readonly SidecarSet[]): readonly JsonPatchOp[] {
  const { annotations = {} } = metadata;
  const listed = annotations[injectedListAnnotation]?.split(",") ?? [];
  const names = sets.map((set) => set.metadata.name);
  const sidecars = sets.flatMap((set) => set.spec.containers ?? []);
  const env = [{ name: "IS_INJECTED", value: "true" }];
  const present = spec.imagePullSecrets ?? [];
  const added = sets.flatMap((set) => set.spec.imagePullSecrets ?? []).map(({ name }) => ({ name }));
  const marks = {
    [injectedListAnnotation]: [...new Set([...listed, ...names])].join(","),
    [hashAnnotation]: JSON.stringify(
      Object.fromEntries(names.map((name) => [name, { hash: "kruise", sidecarSetName: name }])),
    ),
  };
  return [
    { op: "add", path: "/metadata/annotations", value: { ...annotations, ...marks } },
    { op: "add", path: "/spec/containers", value: [...sidecars.map((each) => ({ ...each, env })), ...spec.containers] },
    { op: "add", path: "/spec/imagePullSecrets", value: [...present, ...added] },
  ];
}
