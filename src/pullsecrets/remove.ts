import { type KubeObject, keyOf, namespaceOf } from "../api/objects.ts";
import { forAll } from "../kube/all-of.ts";
import { ApiError, isDenied, isTransient, missingVerbOf } from "../kube/errors.ts";
import type { CopyRecord } from "../replication/copy.ts";
import { releaseCopy } from "../replication/release.ts";
import { isReady } from "./ground.ts";
import { copiesOf, isCopyOf } from "./ours.ts";
import type { SourcePass } from "./source-pass.ts";

/** Deletes all copies of a source that must not or cannot be copied any more. */
export async function revoke(at: SourcePass): Promise<void> {
  const removable = copiesOf(at.source, at).filter((copy) => isRemovable(copy, at));
  await forAll(removable, (copy) => removeCopy(copy, at));
}

export function isRemovable(copy: CopyRecord, at: SourcePass): boolean {
  return isReady(namespaceOf(copy), at) && at.troubles.isDue(at.key, namespaceOf(copy), "delete");
}

/** A refusal in one namespace stops no other, whether of the last look or of the deletion itself. */
export async function removeCopy(copy: CopyRecord, at: SourcePass, mayGo = async () => true): Promise<void> {
  const { source, key, installation, copying, troubles, log } = at;
  const { name } = copy.metadata;
  const namespace = namespaceOf(copy);
  try {
    const isOurs = (seen: KubeObject) => isCopyOf(seen, source, installation);
    if (await mayGo()) await releaseCopy(copy, installation, { ...copying, isOurs });
    troubles.clear(key, namespace);
  } catch (error) {
    if (!(error instanceof ApiError) || (isTransient(error) && !isDenied(error))) throw error;
    const isNew = !troubles.get(key, namespace);
    if (isNew) log.warn("a copy could not be deleted", { source: key, copy: keyOf(copy.metadata), error });
    const missing = missingVerbOf(error);
    const place = { kind: "refused", message: error.message, ...(missing && { missing }) } as const;
    troubles.note(key, namespace, { verb: "delete", place, name });
  }
}
