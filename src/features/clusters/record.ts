import {
  type Cluster,
  type ClusterStatus,
  deletionPolicies,
  type InjectionMode,
  injectionModes,
  maxExcluded,
} from "../../api/cluster.ts";
import { isDnsLabel, isDnsSubdomain } from "../../api/dns-names.ts";
import {
  defaultReferencesAnnotation,
  excludedNamespacesAnnotation,
  injectionModeAnnotation,
  kubeconfigAnnotation,
  onSourceDeletedAnnotation,
  referencesAnnotation,
  statusAnnotation,
} from "../../api/marks.ts";
import { type KubeObject, type Metadata, refOfKey } from "../../api/objects.ts";
import { isRecord, parseJsonOrUndefined, stringOf } from "../../kube/json.ts";
import { parseReferences, type Reference } from "../../pullsecrets/references.ts";
import { identityOf } from "../../replication/copy.ts";
import type { Deps } from "../feature.ts";

export type ClustersMode = Deps["mode"];

/** Where a kubeconfig is said to be. */
export interface KubeconfigRef {
  readonly namespace: string;
  readonly name?: string | undefined;
  readonly key?: string | undefined;
}

/** What a Cluster asks for, wherever it is written. */
export interface Wish {
  readonly references: readonly Reference[];
  readonly usesDefault: boolean;
  readonly isHome: boolean;
  readonly kubeconfig: KubeconfigRef | undefined;
  readonly isPaused: boolean;
  readonly pauseReason: string;
  readonly excluded: readonly string[];
  /** Copies outlive their source. */
  readonly retains: boolean;
  readonly mode: InjectionMode;
  /** Why it cannot be told which references or whether the default: in words. */
  readonly objection?: string;
}

/** What is remembered of a Cluster. */
export interface ClusterRecord extends KubeObject {
  readonly wish: Wish;
  /** As we told it: beside the original, in an annotation. */
  readonly status?: ClusterStatus & {
    /** Where Kubermatic keeps what belongs to this cluster. */
    readonly namespaceName?: string;
  };
}

type Annotations = Readonly<Record<string, string>>;

/** They tell which level of credentials counts. */
const levelAnnotations = [referencesAnnotation, defaultReferencesAnnotation];

export const clusterAnnotations = [
  ...levelAnnotations,
  kubeconfigAnnotation,
  excludedNamespacesAnnotation,
  injectionModeAnnotation,
  onSourceDeletedAnnotation,
];

export function recordOf(object: KubeObject, mode: ClustersMode): ClusterRecord {
  const cluster = object as Cluster;
  const { spec = {}, status } = cluster;
  const { pause = false, pauseReason = "" } = spec;
  const paused = { isPaused: pause === true, pauseReason };
  if (mode === "instead") {
    return { metadata: withoutApplied(cluster), wish: { ...wishOf(spec), ...paused }, ...(status && { status }) };
  }
  const namespaceName = isRecord(status) ? stringOf((status as Record<string, unknown>).namespaceName) : undefined;
  return {
    metadata: originalMetadataOf(cluster),
    wish: { ...annotatedWishOf(cluster), ...paused },
    status: { ...parseToldStatus(object), ...(namespaceName && { namespaceName }) },
  };
}

function wishOf(spec: NonNullable<Cluster["spec"]>): Omit<Wish, "isPaused" | "pauseReason"> {
  return {
    references: spec.imagePullSecrets ?? [],
    usesDefault: !spec.disableDefaultImagePullSecrets,
    isHome: spec.home ?? false,
    kubeconfig: spec.kubeconfigSecretRef,
    excluded: spec.excludedNamespaces ?? [],
    retains: spec.onSourceDeleted === "Retain",
    mode: spec.injection?.mode ?? "Auto",
  };
}

/**
 * Where a later schema has fields for references and kubeconfig, the fields win. References that cannot be read are a
 * broken level, not an absent one; another value that cannot be read, which admission refuses while it is there, counts
 * as not given.
 */
function annotatedWishOf({ spec = {}, metadata }: Cluster): Omit<Wish, "isPaused" | "pauseReason"> {
  const { annotations = {} } = metadata;
  const fields = Array.isArray(spec.imagePullSecrets) ? spec.imagePullSecrets.filter(isReference) : [];
  const parsed = parseReferences(annotations[referencesAnnotation] ?? "", {});
  const [objection] = fields.length > 0 ? [] : objectionsTo(annotations, levelAnnotations);
  return {
    references: fields.length > 0 ? fields : "references" in parsed ? parsed.references : [],
    usesDefault: annotations[defaultReferencesAnnotation] !== "disabled",
    isHome: false,
    kubeconfig: kubeconfigIn(spec.kubeconfigSecretRef) ?? kubeconfigOf(annotations[kubeconfigAnnotation] ?? ""),
    excluded: listOf(annotations[excludedNamespacesAnnotation]).filter(isDnsLabel),
    retains: annotations[onSourceDeletedAnnotation] === "Retain",
    mode: injectionModes.find((mode) => mode === annotations[injectionModeAnnotation]) ?? "Auto",
    ...(objection !== undefined && { objection }),
  };
}

/** What is wrong with the annotations, the first thing first. */
export const annotationObjection = (annotations: Annotations): string | undefined =>
  objectionsTo(annotations, clusterAnnotations)[0];

function objectionsTo(annotations: Annotations, names: readonly string[]): readonly string[] {
  return names.flatMap((name) => {
    const value = annotations[name] ?? "";
    const problem = value === "" ? undefined : checks[name]?.(value);
    return problem === undefined ? [] : [`annotation ${name}: ${problem}`];
  });
}

const oneOf =
  (...words: readonly string[]) =>
  (value: string): string | undefined =>
    words.includes(value) ? undefined : `must be one of ${words.join(", ")}`;

const checks: Readonly<Record<string, (value: string) => string | undefined>> = {
  [referencesAnnotation]: (value) => {
    const parsed = parseReferences(value, {});
    return "objection" in parsed ? parsed.objection : undefined;
  },
  [defaultReferencesAnnotation]: oneOf("disabled"),
  [kubeconfigAnnotation]: (value) => (kubeconfigOf(value) ? undefined : "must be <namespace>[/<name>]"),
  [excludedNamespacesAnnotation]: (value) => {
    const names = listOf(value);
    if (names.length > maxExcluded) return `${names.length} entries are more than ${maxExcluded}`;
    if (!names.every(isDnsLabel)) return "must be names of namespaces, separated by commas";
    return new Set(names).size < names.length ? "a namespace is there twice" : undefined;
  },
  [injectionModeAnnotation]: oneOf(...injectionModes),
  [onSourceDeletedAnnotation]: oneOf(...deletionPolicies),
};

const listOf = (value = ""): readonly string[] => (value === "" ? [] : value.split(",").map((entry) => entry.trim()));

function kubeconfigOf(value: string): KubeconfigRef | undefined {
  if (isDnsLabel(value)) return { namespace: value };
  const { namespace = "", name } = refOfKey(value);
  return isDnsLabel(namespace) && isDnsSubdomain(name) ? { namespace, name } : undefined;
}

function kubeconfigIn(field: unknown): KubeconfigRef | undefined {
  if (!isRecord(field)) return undefined;
  const [namespace, name, key] = [field.namespace, field.name, field.key].map(stringOf);
  return namespace === undefined ? undefined : { namespace, ...(name && { name }), ...(key && { key }) };
}

export const isReference = (entry: unknown): entry is Reference =>
  isRecord(entry) && typeof entry.namespace === "string" && typeof entry.name === "string";

/** What we said before. Anyone may have written it. */
export function parseToldStatus({ metadata }: KubeObject): ClusterStatus | undefined {
  const parsed = parseJsonOrUndefined(metadata.annotations?.[statusAnnotation] ?? "");
  if (!isRecord(parsed)) return undefined;
  const { conditions, clusterID, credentialsFrom, mode, namespaces } = parsed;
  return {
    ...(typeof credentialsFrom === "string" && { credentialsFrom }),
    ...(typeof mode === "string" && { injection: { mode } }),
    ...(isRecord(namespaces) && { namespaces }),
    ...(Array.isArray(conditions) && { conditions: conditions.filter(isRecord) }),
    ...(typeof clusterID === "string" && { clusterID }),
  } as unknown as ClusterStatus;
}

export const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";

/** It repeats the whole object. */
export function withoutApplied({ metadata }: KubeObject): Metadata {
  const { annotations: { [lastAppliedAnnotation]: _applied, ...annotations } = {}, ...rest } = metadata;
  return { ...rest, annotations };
}

function originalMetadataOf(object: KubeObject): Metadata {
  const { generation, annotations = {}, finalizers } = object.metadata;
  const ours = [...clusterAnnotations, statusAnnotation];
  const kept = Object.entries(annotations).filter(([key]) => ours.includes(key));
  return {
    ...identityOf(object),
    ...(generation !== undefined && { generation }),
    ...(finalizers && { finalizers }),
    annotations: Object.fromEntries(kept),
  };
}
