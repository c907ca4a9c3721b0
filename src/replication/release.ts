import { ownerUidLabel } from "../api/marks.ts";
import { type KubeObject, keyOf, secrets } from "../api/objects.ts";
import { forAll } from "../kube/all-of.ts";
import type { Call, Kube } from "../kube/client.ts";
import { isDenied, isGoneOrReplaced, isReason } from "../kube/errors.ts";
import { isMarkedBy, isPasted, isProvenOurs, type Owner } from "../ownership/holder.ts";
import { unmarkingOperations } from "../ownership/marks.ts";
import type { Copying } from "./replication.ts";
import type { Suspects } from "./suspects.ts";
import type { CopyWriter } from "./writes.ts";

export type Release = "leave" | "unmark" | "delete";

/** Why a copy is let go: its place is no longer wanted, its owner goes, or its owner goes and wants its copies to stay. */
export type Occasion = "unwanted" | "owner-leaves" | "owner-orphans";

/**
 * How a copy is let go. A copy whose reference to us is gone was orphaned, perhaps by the garbage collector on its
 * owner's wish: it only loses its marks. So does a Secret that somebody pasted our marks onto, before the garbage
 * collector takes it for one of ours.
 */
export function planRelease(copy: KubeObject, owner: Owner, occasion: Occasion): Release {
  if (copy.metadata.deletionTimestamp) return "leave";
  if (isPasted(copy)) return occasion !== "unwanted" && isReferredTo(copy, owner) ? "unmark" : "leave";
  if (!isMarkedBy(copy, owner)) return "leave";
  return occasion !== "owner-orphans" && isProvenOurs(copy, owner) ? "delete" : "unmark";
}

const isReferredTo = ({ metadata }: KubeObject, owner: Owner): boolean =>
  (metadata.ownerReferences ?? []).some(({ uid }) => uid === owner.uid);

/** What it takes to let copies go; the CLI does so without any cache. */
export interface Releasing extends Call {
  readonly kube: Kube;
  readonly writer: CopyWriter;
  readonly suspects?: Suspects;
  /** What must hold of a copy besides its marks; asked again of a newer state. */
  readonly isOurs?: (copy: KubeObject) => boolean;
}

/** Lets go of the owner's copies that stand in no wanted place. */
export async function releaseUnwanted(owner: Owner, wanted: ReadonlySet<string>, copying: Copying): Promise<void> {
  const unwanted = copying.copies.by("owner", owner.uid).filter((copy) => !wanted.has(keyOf(copy.metadata)));
  await forAll(unwanted, (copy) => releaseCopy(copy, owner, copying));
}

/** Lets go of one copy that is no longer wanted. */
export function releaseCopy(copy: KubeObject, owner: Owner, releasing: Releasing): Promise<Release> {
  return release(copy, owner, "unwanted", releasing);
}

/**
 * Lets go of everything the owner has, and tells how many that were. Listed live: the cache may be a moment behind, and
 * nobody looks again.
 */
export async function releaseAll(
  owner: Owner,
  occasion: Exclude<Occasion, "unwanted">,
  releasing: Releasing,
): Promise<number> {
  const selection = { labelSelector: `${ownerUidLabel}=${owner.uid}` };
  const all = await releasing.kube.listMetadata(secrets, selection, { signal: releasing.signal });
  const done = await forAll(all, (copy) => release(copy, owner, occasion, releasing));
  return done.filter((plan) => plan !== "leave").length;
}

const attempts = 5;

async function release(seen: KubeObject, owner: Owner, occasion: Occasion, releasing: Releasing): Promise<Release> {
  const { kube, suspects, signal } = releasing;
  suspects?.delete(keyOf(seen.metadata));
  let copy: KubeObject | undefined = seen;
  for (let attempt = 0; copy && attempt < attempts; attempt++) {
    try {
      return await letGo(copy, owner, occasion, releasing);
    } catch (error) {
      if (isReason(error, "NotFound")) return "leave";
      if (isDenied(error)) throw error;
      if (!isReason(error, "Conflict") && !isGoneOrReplaced(error)) throw error;
      copy = await kube.getMetadata(secrets, copy.metadata, { signal });
      // Another copy under that name may well be wanted: its own event has woken whoever decides.
      if (occasion === "unwanted" && copy?.metadata.uid !== seen.metadata.uid) return "leave";
    }
  }
  if (copy) throw new Error(`Secret ${keyOf(copy.metadata)} keeps changing while it is let go`);
  return "leave";
}

async function letGo(
  copy: KubeObject,
  owner: Owner,
  occasion: Occasion,
  { kube, writer, isOurs, signal }: Releasing,
): Promise<Release> {
  if (isOurs && !isOurs(copy)) return "leave";
  const plan = planRelease(copy, owner, occasion);
  if (plan === "delete") await writer.remove(copy);
  if (plan !== "unmark") return plan;
  // A cached record lacks the labels of others, which unmarking must keep.
  const whole = await kube.getMetadata(secrets, copy.metadata, { signal });
  if (whole?.metadata.uid !== copy.metadata.uid || planRelease(whole, owner, occasion) !== "unmark") return "leave";
  await writer.unmark(whole, unmarkingOperations(whole, owner));
  return "unmark";
}
