import { sourceAnnotation } from "../api/marks.ts";
import { keyOf, type NamespacedRef } from "../api/objects.ts";
import { type Claim, describeSource, holderOf, isShared } from "../ownership/holder.ts";
import { type Content, type CopyRecord, isCurrent } from "./copy.ts";

/** What one target needs. */
export type Step =
  | { readonly kind: "create" }
  | { readonly kind: "keep" }
  /** Ours, marks in place: write the data. */
  | { readonly kind: "update"; readonly actual: CopyRecord }
  /** Ours with marks missing, or to be adopted: write data and marks. */
  | { readonly kind: "take"; readonly actual: CopyRecord }
  | { readonly kind: "collision"; readonly holder: string }
  /** It is going away; the place is free soon. */
  | { readonly kind: "wait" };

export interface Desired {
  readonly source: NamespacedRef;
  readonly content: Content;
  readonly claim: Claim;
  /** Is the owner with this UID still there? What it holds is never adopted. */
  readonly isAlive: (ownerUid: string) => boolean;
}

/** Decides what one target needs. Pure, so that it can be shown as well as done. */
export function planCopy(actual: CopyRecord | undefined, desired: Desired): Step {
  if (!actual) return { kind: "create" };

  const { claim, content, source } = desired;
  const held = holderOf(actual, claim.owner);
  switch (held.kind) {
    case "ours":
      if (claim.owner.isInstallation && !isCopyOf(actual, source)) {
        return { kind: "collision", holder: `the copy of ${describeSource(actual)}` };
      }
      return isCurrent(actual, content, keyOf(source)) ? { kind: "keep" } : { kind: "update", actual };
    case "damaged":
      return { kind: "take", actual };
    case "terminating":
      return { kind: "wait" };
    case "another's":
      return isShared(actual) || desired.isAlive(held.uid) ? collisionWith(held) : adoptOrCollide(actual, held, claim);
    case "foreign":
      return adoptOrCollide(actual, held, claim);
  }
}

const isCopyOf = ({ metadata }: CopyRecord, source: NamespacedRef): boolean =>
  metadata.annotations?.[sourceAnnotation] === keyOf(source);

interface Holder {
  readonly holder: string;
  readonly isControlled: boolean;
}

function adoptOrCollide(actual: CopyRecord, held: Holder, { onCollision }: Claim): Step {
  const mayTake = onCollision === "adopt" || (onCollision === "adopt-uncontrolled" && !held.isControlled);
  return mayTake ? { kind: "take", actual } : collisionWith(held);
}

const collisionWith = ({ holder }: Holder): Step => ({ kind: "collision", holder });
