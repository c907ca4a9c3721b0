import { secretSyncs } from "../../api/kinds.ts";
import { keyOf, type NamespacedRef } from "../../api/objects.ts";
import type { SecretSync } from "../../api/secret-sync.ts";
import type { WatchCache } from "../../kube/cache.ts";
import { holderOf } from "../../ownership/holder.ts";
import { type CopyResult, ensureCopies } from "../../replication/ensure.ts";
import type { Desired } from "../../replication/plan.ts";
import type { Copying, Replication } from "../../replication/replication.ts";
import { isSettled } from "../../replication/settled.ts";
import { readSource } from "../../replication/source.ts";
import { closedCircle, type Precedence } from "./circles.ts";
import { ownerOf, policyOf } from "./owner.ts";
import { type Target, targetOf } from "./problems.ts";
import type { Source } from "./source.ts";
import { targetsBefore } from "./status.ts";

export interface Copier {
  readonly syncs: WatchCache<SecretSync>;
  readonly precedence: Precedence;
  readonly copying: Copying;
}

/**
 * Brings every destination up to date; in the order of the spec. Reads the source's bytes only if there is something to
 * write; undefined when the source has gone by then.
 */
export async function copyAll(
  sync: SecretSync,
  source: Source,
  copier: Copier,
): Promise<readonly CopyResult[] | undefined> {
  const { syncs, copying } = copier;
  const { src, dest } = sync.spec;
  const desired: Desired = {
    source: src,
    content: source,
    claim: { owner: ownerOf(sync), onCollision: policyOf(sync).onCollision },
    isAlive: (uid) => syncs.by("uid", uid).length > 0,
  };

  const settled = dest.map((target) => settledResultOf(sync, target, desired, copier));
  const open = dest.filter((_target, at) => settled[at] === undefined);
  if (open.length === 0) return settled.filter((result) => result !== undefined);

  const content = "data" in source ? source : await readSince(source, src, copying);
  if (!content) return undefined;

  const conflicts = targetsBefore(sync).filter((target) => target.state === "Conflict");
  const taken = new Set(conflicts.map(keyOf));
  const written = await ensureCopies(open, {
    ...copying,
    source: content,
    desired: { ...desired, content },
    isOwnerStaying: () => isStaying(sync, copying),
    looksFirst: (target) => taken.has(keyOf(target)),
  });
  const rest = written.values();
  return settled.flatMap((result) => result ?? rest.next().value ?? []);
}

/** At least as new as the event that told of it. */
function readSince({ metadata }: Source, src: NamespacedRef, { kube, fingerprint, signal }: Copying) {
  return readSource(kube, src, fingerprint, { notOlderThan: metadata.resourceVersion, signal });
}

async function isStaying({ metadata }: SecretSync, { kube, signal }: Copying): Promise<boolean> {
  const now = await kube.getMetadata(secretSyncs, metadata, { signal });
  return now?.metadata.uid === metadata.uid && !now.metadata.deletionTimestamp;
}

/** What can be told without writing: the copy is as it should be, or may never be made. */
function settledResultOf(
  sync: SecretSync,
  target: NamespacedRef,
  desired: Desired,
  { precedence, copying }: Copier,
): CopyResult | undefined {
  const reader = closedCircle(sync, target, precedence);
  if (reader) return { target, kind: "collision", holder: `SecretSync/${reader.metadata.name} as its source` };
  return isSettled(target, desired, copying) ? { target, kind: "current", isWritten: false } : undefined;
}

/**
 * Missing source: copies stay as they are, and count as in order for as long as nobody touches them. What is gone or
 * edited cannot be restored now.
 */
export function targetsWithoutSource(sync: SecretSync, { copies, namespaces }: Replication): readonly Target[] {
  const owner = ownerOf(sync);
  return targetsBefore(sync).map((before): Target => {
    const { namespace, name } = before;
    const found = namespaces.get(namespace);
    if (!found) return targetOf({ target: before, kind: "namespace-missing" });
    if (found.metadata.deletionTimestamp) return targetOf({ target: before, kind: "namespace-terminating" });
    const copy = copies.get(keyOf(before));
    if (copy && !copy.hasOtherKeys && holderOf(copy, owner).kind === "ours")
      return { namespace, name, state: "Synced" };
    if (before.state === "Conflict" || before.state === "Refused") return before;
    return { namespace, name, state: "Pending", message: "cannot be written without its source" };
  });
}
