import { fingerprintAnnotation, selfAnnotation, sourceAnnotation } from "../api/marks.ts";
import { controllerOf, type KubeObject, type Metadata } from "../api/objects.ts";
import { sharing } from "../kube/sharing.ts";
import { ourAnnotations, ourLabels } from "../ownership/marks.ts";
import { type ManagedKeys, managedKeysOf } from "./managed-keys.ts";

/** What is remembered of a copy: its marks, and whether its data is as we wrote it. */
export interface CopyRecord extends KubeObject, ManagedKeys {}

/** Takes metadata with its managed fields; keeps a few hundred bytes. */
export function copyRecordOf(object: KubeObject): CopyRecord {
  const controller = controllerOf(object);
  const { name, namespace = "" } = object.metadata;
  const metadata: Metadata = {
    ...identityOf(object),
    ...{ name: once(name), namespace: once(namespace) },
    labels: pick(object.metadata.labels, ourLabels),
    annotations: pick(object.metadata.annotations, ourAnnotations),
    ...(controller && { ownerReferences: [controller] }),
  };
  return { metadata, ...managedKeysOf(object.metadata.managedFields) };
}

/** The part of the metadata that tells which object this is, and in which version. */
export function identityOf({ metadata }: KubeObject): Metadata {
  const { name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp } = metadata;
  return {
    name,
    ...(namespace && { namespace }),
    uid,
    resourceVersion,
    creationTimestamp,
    ...(deletionTimestamp && { deletionTimestamp }),
  };
}

/** What a copy must be like to equal its source. */
export interface Content {
  readonly fingerprint: string;
  /** Names of the data's keys, sorted. */
  readonly keys: readonly string[];
}

/** Equal to the source, and nobody has touched it since. */
export function isCurrent(copy: CopyRecord, content: Content, source: string): boolean {
  const { annotations = {} } = copy.metadata;
  return (
    annotations[fingerprintAnnotation] === content.fingerprint &&
    annotations[sourceAnnotation] === source &&
    isUntouched(copy, content.keys)
  );
}

export function isUntouched(copy: ManagedKeys, keys: readonly string[]): boolean {
  return !copy.hasOtherKeys && copy.ownKeys.length === keys.length && keys.every((key, at) => copy.ownKeys[at] === key);
}

/** Longer than any mark of ours: what is longer was forged, and must not fill the memory. */
const maxMarkLength = 1024;

/** Thousands of copies say the same about their owner and their source: each text is kept once. */
const once = sharing((text) => text, { maxKept: 4_096 });

function pick(from: Readonly<Record<string, string>> | undefined, keys: readonly string[]) {
  const marks = keys.flatMap((key) => (from?.[key] === undefined ? [] : [[key, from[key]] as const]));
  const kept = marks.filter(([, value]) => value.length <= maxMarkLength);
  return Object.fromEntries(kept.map(([key, value]) => [key, ownMarks.includes(key) ? value : once(value)]));
}

/** What no two copies have in common. */
const ownMarks: readonly string[] = [selfAnnotation, fingerprintAnnotation];
