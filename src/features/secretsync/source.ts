import { sourceManagerOf } from "../../api/marks.ts";
import { keyOf, refOfKey } from "../../api/objects.ts";
import type { SecretSync } from "../../api/secret-sync.ts";
import { isDenied, isGoneOrReplaced, isReason } from "../../kube/errors.ts";
import type { Replication } from "../../replication/replication.ts";
import {
  labelSource,
  readSource,
  type SourceContent,
  type SourceRecord,
  unlabelSource,
} from "../../replication/source.ts";
import type { Pass } from "../../runtime/controller.ts";
import { type Problem, sourceForbidden, sourceMissing, sourceUnsupported, unsupportedType } from "./problems.ts";

export const isWatching = (sync: SecretSync): boolean => sync.spec.strategy.watch !== undefined;

/** From the cache without its bytes, or just read. */
export type Source = SourceRecord | SourceContent;

/** What the cache knows is enough while nothing has to be written; bytes are read when they are needed. */
export async function findSource(
  { sources, fingerprint }: Replication,
  sync: SecretSync,
  pass: Pass,
): Promise<{ readonly source: Source } | { readonly problem: Problem }> {
  const { src } = sync.spec;
  const known = isWatching(sync) ? sources.get(keyOf(src)) : undefined;
  try {
    const source = known ?? (await readSource(pass.kube, src, fingerprint, pass));
    if (!source) return { problem: sourceMissing(src) };
    if (source.type === unsupportedType) return { problem: sourceUnsupported(src) };
    return { source };
  } catch (error) {
    if (!isReason(error, "Forbidden")) throw error;
    return { problem: sourceForbidden(src, "get", error) };
  }
}

/** The label is how a source is followed. */
export async function labelWatched(sync: SecretSync, source: Source, pass: Pass): Promise<Problem | undefined> {
  if (!isWatching(sync)) return undefined;
  try {
    await labelSource(pass.kube, source, sourceManagerOf(sync.metadata.uid), pass);
    return undefined;
  } catch (error) {
    if (isGoneOrReplaced(error)) return sourceMissing(sync.spec.src);
    if (isReason(error, "Forbidden") || isDenied(error)) return sourceForbidden(sync.spec.src, "patch", error);
    throw error;
  }
}

/** Takes this SecretSync's label off every source that is not its own any more; while deleting, off all. */
export async function withdrawLabels({ sources }: Replication, sync: SecretSync, pass: Pass): Promise<void> {
  const { uid, deletionTimestamp } = sync.metadata;
  const manager = sourceManagerOf(uid);
  const labelled = sources.by("manager", manager).map(({ metadata }) => keyOf(metadata));
  // The cache may not have seen the label yet that a pass has just put there; the status knows which source that was.
  const told = sync.status?.source ?? keyOf(sync.spec.src);
  const former = new Set([...labelled, told, keyOf(sync.spec.src)]);
  if (!deletionTimestamp) former.delete(keyOf(sync.spec.src));
  for (const key of former) {
    const { namespace = "", name } = refOfKey(key);
    await unlabelSource(pass.kube, { namespace, name }, manager, pass);
  }
}
