import { isDeepStrictEqual } from "node:util";
import type { Pod } from "../../api/pods.ts";
import type { JsonPatchOp } from "../../kube/client.ts";

type Field = readonly ["metadata" | "spec", string];

/** All that we ever change about a Pod. */
const fields: readonly Field[] = [
  ["metadata", "labels"],
  ["metadata", "annotations"],
  ["spec", "containers"],
  ["spec", "initContainers"],
  ["spec", "volumes"],
  ["spec", "imagePullSecrets"],
];

/** Field by field and as a whole: a patch of single entries would depend on how the API server writes the rest. */
export function patchOf(before: Pod, after: Pod): readonly JsonPatchOp[] {
  return fields.flatMap((field): readonly JsonPatchOp[] => {
    const path = `/${field.join("/")}`;
    const [old, value] = [fieldOf(before, field), fieldOf(after, field)];
    if (isDeepStrictEqual(old, value)) return [];
    return value === undefined ? [{ op: "remove", path }] : [{ op: "add", path, value }];
  });
}

const fieldOf = (pod: Pod, [part, name]: Field): unknown =>
  (pod[part] as Readonly<Record<string, unknown>> | undefined)?.[name];
