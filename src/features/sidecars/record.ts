import { referencesAnnotation, statusAnnotation } from "../../api/marks.ts";
import type { KubeObject, ManagedFields } from "../../api/objects.ts";
import type { SidecarSet, SidecarSetSpec, SidecarSetStatus } from "../../api/sidecar-set.ts";
import { parseReferences } from "../../pullsecrets/references.ts";
import { identityOf } from "../../replication/copy.ts";
import type { Mode } from "../../runtime/modes.ts";
import { digestOf, sidecarHashesOf } from "./hash.ts";
import { compile, compileNamespaces, type Labels } from "./selector.ts";

export type SidecarsMode = Exclude<Mode, "off">;

/** Names a source. */
export interface SidecarReference {
  /** The default one where none was given. */
  readonly namespace: string;
  readonly name: string;
  /** The namespace as written; empty where none was given. */
  readonly written: string;
  /** While the source is missing, Pods also name the Secret of their own namespace. */
  readonly mayBeLocal: boolean;
}

/** What is remembered of a SidecarSet. Beside the original, its spec is only what tells which Pods it is for. */
export interface SidecarSetRecord extends KubeObject {
  readonly spec: SidecarSetSpec;
  readonly status?: SidecarSetStatus;
  readonly references: readonly SidecarReference[];
  /** What is wrong with its references, in words. */
  readonly objection?: string;
  /** What is worth telling about them though nothing is wrong. */
  readonly note?: string;
  /** When its present spec came to be: RFC 3339, in seconds, the same on every replica. */
  readonly changedAt: string;
  /** Of the spec: tells whether this is what admission judged. */
  readonly digest: string;
  /** Of its long-running containers, with and without their images; empty beside the original. */
  readonly hash: string;
  readonly hashWithoutImage: string;
  readonly selectsLabels: (labels: Labels | undefined) => boolean;
  readonly selectsNamespace: (name: string, labels: Labels | undefined) => boolean;
}

interface RecordOptions {
  readonly mode: SidecarsMode;
  /** Where a source is that is named without a namespace. */
  readonly defaultNamespace: string;
}

export function recordOf(object: KubeObject, options: RecordOptions): SidecarSetRecord {
  // The original's schema lets an object without a spec pass.
  const { spec = { selector: {} }, ...rest } = object as Partial<SidecarSet> & KubeObject;
  const set: SidecarSet = { ...rest, spec };
  const isOurs = options.mode === "instead";
  return {
    ...(set.apiVersion && { apiVersion: set.apiVersion }),
    ...(set.kind && { kind: set.kind }),
    ...(isOurs ? ownPartsOf(set) : originalPartsOf(set)),
    ...(isOurs ? ownReferencesOf(set, options) : originalReferencesOf(set, options)),
    changedAt: changedAt(set),
    digest: digestOf(spec),
    selectsLabels: compile(spec.selector),
    selectsNamespace: compileNamespaces(spec),
  };
}

type Parts = Pick<SidecarSetRecord, "metadata" | "spec" | "status" | "hash" | "hashWithoutImage">;

const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";

function ownPartsOf({ metadata, spec, status }: SidecarSet): Parts {
  const {
    managedFields: _fields,
    annotations: { [lastAppliedAnnotation]: _applied, ...annotations } = {},
    ...rest
  } = metadata;
  return { metadata: { ...rest, annotations }, spec, ...(status && { status }), ...sidecarHashesOf(spec) };
}

const keptAnnotations = [referencesAnnotation, statusAnnotation];

function originalPartsOf(set: SidecarSet): Parts {
  const { generation, annotations = {} } = set.metadata;
  const kept = Object.entries(annotations).filter(([key]) => keptAnnotations.includes(key));
  const { selector, namespace, namespaceSelector } = set.spec;
  return {
    metadata: {
      ...identityOf(set),
      ...(generation !== undefined && { generation }),
      annotations: Object.fromEntries(kept),
    },
    spec: { selector, ...(namespace && { namespace }), ...(namespaceSelector && { namespaceSelector }) },
    hash: "",
    hashWithoutImage: "",
  };
}

type References = Pick<SidecarSetRecord, "references" | "objection" | "note">;

function ownReferencesOf(
  { spec: { imagePullSecrets = [] } }: SidecarSet,
  { defaultNamespace }: RecordOptions,
): References {
  return {
    references: imagePullSecrets.map(({ namespace = "", name }) => ({
      namespace: namespace || defaultNamespace,
      name,
      written: namespace,
      mayBeLocal: !namespace,
    })),
  };
}

/** Entries of the field that have a namespace win over our annotation; those without are the original's own business. */
function originalReferencesOf({ metadata, spec }: SidecarSet, { defaultNamespace }: RecordOptions): References {
  const text = metadata.annotations?.[referencesAnnotation] ?? "";
  const entries = spec.imagePullSecrets?.filter(({ namespace }) => namespace) ?? [];
  if (entries.length === 0) return parsed(referencesAnnotation, text, { defaultNamespace });
  return {
    ...parsed("spec.imagePullSecrets", entries.map(({ namespace, name }) => `${namespace}/${name}`).join(","), {}),
    ...(text && { note: `${referencesAnnotation} is ignored: spec.imagePullSecrets says where the Secrets are` }),
  };
}

function parsed(where: string, text: string, options: Parameters<typeof parseReferences>[1]): References {
  const result = parseReferences(text, options);
  if ("objection" in result) return { references: [], objection: `${where}: ${result.objection}` };
  return {
    references: result.references.map(({ namespace, name }) => ({
      namespace,
      name,
      written: namespace,
      mayBeLocal: false,
    })),
  };
}

function changedAt({ metadata, status }: SidecarSet): string {
  if (status?.specChangedAt && status.observedGeneration === metadata.generation) return status.specChangedAt;
  const times = metadata.managedFields?.filter(isAboutSpec).flatMap(({ time }) => (time ? [time] : [])) ?? [];
  return times.sort().at(-1) ?? metadata.creationTimestamp;
}

const isAboutSpec = ({ subresource, fieldsV1 }: ManagedFields): boolean =>
  !subresource && fieldsV1?.["f:spec"] !== undefined;
