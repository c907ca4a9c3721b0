import { isDeepStrictEqual } from "node:util";
import { managedByLabel, managedByValue, ownerAnnotation, ownerUidLabel, selfAnnotation } from "../../../api/marks.ts";
import { type KubeObject, keyOf, type Ref, type Resource } from "../../../api/objects.ts";
import { throughRefusals } from "../../../kube/all-of.ts";
import { WatchCache } from "../../../kube/cache.ts";
import type { Call, Kube } from "../../../kube/client.ts";
import { isGoneOrReplaced, isReason } from "../../../kube/errors.ts";
import type { Log } from "../../../kube/log.ts";
import type { Owner } from "../../../ownership/holder.ts";
import { unchangedSince } from "../../../ownership/marks.ts";

/** All objects by which a cluster injects have this name. */
export const injectionName = "latchkey-pull-secrets";

/** Versions of the policy kinds that we know, the best first. */
export const policyVersions = ["v1", "v1beta1"] as const;
export type PolicyVersion = (typeof policyVersions)[number];

const admissionKind = (version: PolicyVersion, plural: string, kind: string): Resource => ({
  ...{ group: "admissionregistration.k8s.io", version, plural, kind, namespaced: false },
});
export const policiesIn = (version: PolicyVersion): Resource =>
  admissionKind(version, "mutatingadmissionpolicies", "MutatingAdmissionPolicy");
export const bindingsIn = (version: PolicyVersion): Resource =>
  admissionKind(version, "mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding");
export const configMaps: Resource = {
  ...{ group: "", version: "v1", plural: "configmaps", kind: "ConfigMap", namespaced: true },
};

export interface InjectionKind {
  readonly resource: Resource;
  readonly ref: { readonly namespace?: string; readonly name: string };
  /** The field that is ours. */
  readonly field: "spec" | "data";
}

/** By then the API server goes by what was written, or no longer by what was removed. */
export const heededAfterMs = 1_500;

export const recordKind: InjectionKind = {
  resource: configMaps,
  ref: { namespace: "kube-system", name: injectionName },
  field: "data",
};
export const policyKind = (version: PolicyVersion): InjectionKind => ({
  ...{ resource: policiesIn(version), ref: { name: injectionName }, field: "spec" },
});
export const bindingKind = (version: PolicyVersion): InjectionKind => ({
  ...{ resource: bindingsIn(version), ref: { name: injectionName }, field: "spec" },
});

export interface InjectionObject extends KubeObject {
  readonly spec?: object;
  readonly data?: Readonly<Record<string, string>>;
  /** Of a ConfigMap: its data can no longer be changed, not even by whoever said so. */
  readonly immutable?: boolean;
}

/** One object of ours, followed by its name. */
export function openObject({ resource, ref }: InjectionKind, kube: Kube, log: Log): WatchCache<InjectionObject> {
  const selection = { namespace: ref.namespace, fieldSelector: `metadata.name=${ref.name}` };
  return new WatchCache<InjectionObject>({ kube, log, resource, selection });
}

/** Somebody else's object has our name. */
export class HeldByOthers extends Error {
  override readonly name = "HeldByOthers";
}

export function isOurs(object: KubeObject, ref: Ref, { uid, title }: Owner): boolean {
  const { labels = {}, annotations = {} } = object.metadata;
  return (
    labels[managedByLabel] === managedByValue &&
    labels[ownerUidLabel] === uid &&
    annotations[ownerAnnotation] === title &&
    annotations[selfAnnotation] === keyOf(ref)
  );
}

/** Makes the object what it should be: created, not applied, so that what was there first is left alone. Tells whether it wrote. */
export async function ensureObject(
  kind: InjectionKind,
  wanted: object,
  cache: WatchCache<InjectionObject>,
  { kube, installation, signal }: Call & { readonly kube: Kube; readonly installation: Owner },
): Promise<boolean> {
  const { resource, ref, field } = kind;
  const key = keyOf(ref);
  const actual = cache.get(key);
  if (actual && !isOurs(actual, ref, installation)) throw new HeldByOthers(describeHolder(kind, actual));
  if (actual && isDeepStrictEqual(actual[field], wanted)) return false;
  await cache.writing(key, async () => {
    if (actual?.immutable) await kube.delete(resource, ref, { preconditions: preconditionsOf(actual), signal });
    if (!actual || actual.immutable) {
      const draft = { metadata: { ...ref, ...marksOf(ref, installation) }, [field]: wanted };
      return kube.create<InjectionObject>(resource, draft, { signal });
    }
    const body = [unchangedSince(actual.metadata), { op: "add", path: `/${field}`, value: wanted } as const];
    return kube.patch<InjectionObject>(resource, ref, { type: "json", body }, { signal });
  });
  return true;
}

function marksOf(ref: Ref, { uid, title }: Owner): Pick<KubeObject["metadata"], "labels" | "annotations"> {
  return {
    labels: { [managedByLabel]: managedByValue, [ownerUidLabel]: uid },
    annotations: { [ownerAnnotation]: title, [selfAnnotation]: keyOf(ref) },
  };
}

/** Anyone can write a label: only what looks like one of ours is repeated. */
export function describeHolder({ resource, ref }: InjectionKind, { metadata }: KubeObject): string {
  const owner = metadata.labels?.[ownerUidLabel] ?? "";
  const isLatchkeys = metadata.labels?.[managedByLabel] === managedByValue && /^[\w.-]{1,63}$/.test(owner);
  const holder = isLatchkeys ? `belongs to the Latchkey installation ${owner}` : "is not ours";
  return `${resource.kind} ${keyOf(ref)} ${holder}`;
}

/** Deletes it if it is ours. Tells whether it was there. */
export async function removeObject(
  { resource, ref }: InjectionKind,
  { kube, installation, signal }: Call & { readonly kube: Kube; readonly installation: Owner },
): Promise<boolean> {
  const found = await kube.getMetadata(resource, ref, { signal });
  if (!found || !isOurs(found, ref, installation)) return false;
  try {
    return await kube.delete(resource, ref, { preconditions: preconditionsOf(found), signal });
  } catch (error) {
    if (isGoneOrReplaced(error) || isReason(error, "NotFound")) return false;
    throw error;
  }
}

const preconditionsOf = ({ metadata: { uid, resourceVersion } }: KubeObject) => ({ uid, resourceVersion });

/** Binding first: from then on no Pod is changed. */
export async function removeObjects(
  version: PolicyVersion | undefined,
  removing: Call & { readonly kube: Kube; readonly installation: Owner },
): Promise<readonly InjectionKind[]> {
  const kinds = [...(version ? [bindingKind(version), policyKind(version)] : []), recordKind];
  const removed = await throughRefusals(
    kinds.map((kind) => async () => ((await removeObject(kind, removing)) ? [kind] : [])),
  );
  return removed.flat();
}
