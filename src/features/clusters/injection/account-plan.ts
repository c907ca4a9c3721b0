import { addedPullSecretsAnnotation } from "../../../api/marks.ts";
import type { KubeObject } from "../../../api/objects.ts";
import type { LocalReference } from "../../../api/pods.ts";
import type { JsonPatchOp } from "../../../kube/client.ts";
import { unchangedSince } from "../../../ownership/marks.ts";

/** What matters about an account where it is the way by which Pods get their names. */
export interface AccountRecord extends KubeObject {
  readonly imagePullSecrets: readonly LocalReference[];
}

export interface AccountPlan {
  readonly list: readonly LocalReference[];
  /** What of it is ours. */
  readonly added: readonly string[];
}

/** Entries of others stay where they are; ours follow, in the order of the references. Undefined: nothing to do. */
export function planAccount(account: AccountRecord, wanted: readonly string[]): AccountPlan | undefined {
  const before = addedTo(account);
  const others = account.imagePullSecrets.filter(({ name = "" }) => !before.includes(name));
  const added = [...new Set(wanted)].filter((name) => name !== "" && !others.some((entry) => entry.name === name));
  const list = [...others, ...added.map((name) => ({ name }))];
  const isSame = isEqual(namesOf(list), namesOf(account.imagePullSecrets)) && isEqual(added, before);
  return isSame ? undefined : { list, added };
}

/** What we put into its list. */
export function addedTo({ metadata }: KubeObject): readonly string[] {
  const text = metadata.annotations?.[addedPullSecretsAnnotation] ?? "";
  return text === "" ? [] : text.split(",");
}

/** The list is atomic, so the write is guarded by the version it was computed from. */
export function accountOperations(
  { metadata }: KubeObject,
  { list, added }: AccountPlan,
  { hasAnnotations }: { readonly hasAnnotations: boolean },
): readonly JsonPatchOp[] {
  const isMarked = metadata.annotations?.[addedPullSecretsAnnotation] !== undefined;
  return [
    unchangedSince(metadata),
    { op: "add", path: "/imagePullSecrets", value: list },
    ...(added.length > 0 || isMarked ? [markOperation(added, hasAnnotations)] : []),
  ];
}

/** A member cannot be added to a map that is not there. */
function markOperation(added: readonly string[], hasAnnotations: boolean): JsonPatchOp {
  const path = `/metadata/annotations/${addedPullSecretsAnnotation.replaceAll("/", "~1")}`;
  if (added.length === 0) return { op: "remove", path };
  const value = added.join(",");
  if (hasAnnotations) return { op: "add", path, value };
  return { op: "add", path: "/metadata/annotations", value: { [addedPullSecretsAnnotation]: value } };
}

const namesOf = (list: readonly LocalReference[]): readonly string[] => list.map(({ name = "" }) => name);

const isEqual = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((each, at) => each === b[at]);
