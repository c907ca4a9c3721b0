/** The address of a kind: where the API server serves it. */
export interface Resource {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export interface ManagedFields {
  readonly manager?: string;
  readonly operation?: string;
  readonly subresource?: string;
  readonly time?: string;
  readonly fieldsV1?: Readonly<Record<string, unknown>>;
}

/** `metadata` as the API server returns it. */
export interface Metadata {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
  readonly managedFields?: readonly ManagedFields[];
}

export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: Metadata;
}

/** An object as one writes it: what the server fills in may be missing. */
export type Draft<T extends KubeObject> = Omit<T, "metadata"> & { readonly metadata: Partial<Metadata> };

/** Names one object of a known kind; cluster-scoped ones have no namespace. */
export interface Ref {
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** Names one object of a namespaced kind. */
export interface NamespacedRef {
  readonly namespace: string;
  readonly name: string;
}

export interface Secret extends KubeObject {
  readonly type?: string;
  readonly immutable?: boolean;
  /** Base64, as on the wire. */
  readonly data?: Readonly<Record<string, string>>;
}

export interface Namespace extends KubeObject {
  readonly status?: { readonly phase?: string };
}

export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration?: number;
  readonly lastTransitionTime?: string;
}

const core = (plural: string, kind: string, namespaced: boolean): Resource => ({
  group: "",
  version: "v1",
  plural,
  kind,
  namespaced,
});

export const secrets = core("secrets", "Secret", true);
export const namespaces = core("namespaces", "Namespace", false);
export const events = core("events", "Event", true);
export const leases: Resource = {
  group: "coordination.k8s.io",
  version: "v1",
  plural: "leases",
  kind: "Lease",
  namespaced: true,
};
export const crds: Resource = {
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
};

/** `group/version`, or `v1` for the core group. */
export function apiVersionOf(resource: Resource): string {
  return resource.group ? `${resource.group}/${resource.version}` : resource.version;
}

/** The name of the CRD that defines a kind: `secretsyncs.package-operator.run`. */
export function crdNameOf({ plural, group }: Pick<Resource, "plural" | "group">): string {
  return `${plural}.${group}`;
}

/** `namespace/name`, or `name` for a cluster-scoped object: the key of queues and caches, and what people read. */
export function keyOf(ref: Ref): string {
  return ref.namespace ? `${ref.namespace}/${ref.name}` : ref.name;
}

export function refOfKey(key: string): Ref {
  const slash = key.indexOf("/");
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

export const namespaceOf = ({ metadata }: KubeObject): string => metadata.namespace ?? "";

/** Of an object of a namespaced kind. */
export const refOf = (object: KubeObject): NamespacedRef => ({
  namespace: namespaceOf(object),
  name: object.metadata.name,
});

/** The one owner that manages an object, if it has one. */
export function controllerOf(object: KubeObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((reference) => reference.controller === true);
}
