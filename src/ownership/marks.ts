import {
  fingerprintAnnotation,
  managedByLabel,
  managedByValue,
  ownerAnnotation,
  ownerUidLabel,
  selfAnnotation,
  sourceAnnotation,
  sourceHashLabel,
} from "../api/marks.ts";
import { type KubeObject, keyOf, type Metadata, type NamespacedRef, type OwnerReference } from "../api/objects.ts";
import type { JsonPatchOp } from "../kube/client.ts";
import type { Owner } from "./holder.ts";
import { sourceHashOf } from "./source-hash.ts";

export interface Marks {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
}

/** What a copy says about itself. */
export function marksOf(owner: Owner, self: NamespacedRef, source: NamespacedRef, fingerprint: string): Marks {
  return {
    labels: {
      [managedByLabel]: managedByValue,
      [ownerUidLabel]: owner.uid,
      ...(owner.isInstallation && { [sourceHashLabel]: sourceHashOf(source) }),
    },
    annotations: {
      [ownerAnnotation]: owner.title,
      [sourceAnnotation]: keyOf(source),
      [selfAnnotation]: keyOf(self),
      [fingerprintAnnotation]: fingerprint,
    },
    ...(owner.reference ? { ownerReferences: [owner.reference] } : {}),
  };
}

export const ourLabels = [managedByLabel, ownerUidLabel, sourceHashLabel];
export const ourAnnotations = [ownerAnnotation, sourceAnnotation, selfAnnotation, fingerprintAnnotation];

/** Puts marks on an object that is there. What others wrote stays; a former controller stays an owner. */
export function markingOperations({ metadata }: KubeObject, marks: Marks): readonly JsonPatchOp[] {
  const others = (metadata.ownerReferences ?? [])
    .filter((reference) => !marks.ownerReferences?.some((ours) => ours.uid === reference.uid))
    .map((reference) => ({ ...reference, controller: false }));
  return [
    { op: "add", path: "/metadata/labels", value: { ...metadata.labels, ...marks.labels } },
    { op: "add", path: "/metadata/annotations", value: { ...metadata.annotations, ...marks.annotations } },
    ...(marks.ownerReferences
      ? [{ op: "add" as const, path: "/metadata/ownerReferences", value: [...others, ...marks.ownerReferences] }]
      : []),
  ];
}

/** Takes every mark of an owner off, so that nothing tells whose copy this was. */
export function unmarkingOperations({ metadata }: KubeObject, owner: Owner): readonly JsonPatchOp[] {
  return [
    { op: "add", path: "/metadata/labels", value: without(metadata.labels, ourLabels) },
    { op: "add", path: "/metadata/annotations", value: without(metadata.annotations, ourAnnotations) },
    {
      op: "add",
      path: "/metadata/ownerReferences",
      value: (metadata.ownerReferences ?? []).filter((reference) => reference.uid !== owner.uid),
    },
  ];
}

/** The write is refused with a conflict if the object has changed since it was looked at. */
export const unchangedSince = ({ resourceVersion }: Pick<Metadata, "resourceVersion">): JsonPatchOp => ({
  op: "replace",
  path: "/metadata/resourceVersion",
  value: resourceVersion,
});

function without(from: Readonly<Record<string, string>> | undefined, keys: readonly string[]) {
  return Object.fromEntries(Object.entries(from ?? {}).filter(([key]) => !keys.includes(key)));
}
