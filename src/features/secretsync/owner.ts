import { secretSyncs } from "../../api/kinds.ts";
import { apiVersionOf } from "../../api/objects.ts";
import {
  type CollisionPolicy,
  collisionAnnotation,
  collisionPolicies,
  type SecretSync,
} from "../../api/secret-sync.ts";
import type { Claim, Owner } from "../../ownership/holder.ts";

export function ownerOf({ metadata: { name, uid } }: SecretSync): Owner {
  return {
    uid,
    title: `${secretSyncs.kind}/${name}`,
    reference: {
      apiVersion: apiVersionOf(secretSyncs),
      kind: secretSyncs.kind,
      name,
      uid,
      controller: true,
      blockOwnerDeletion: true,
    },
  };
}

const onCollision = { Prevent: "refuse", IfNoController: "adopt-uncontrolled", None: "adopt" } as const;

export interface Policy {
  readonly onCollision: Claim["onCollision"];
  /** What is wrong with the annotation. */
  readonly objection?: string;
}

export function policyOf(sync: SecretSync): Policy {
  const given = sync.metadata.annotations?.[collisionAnnotation];
  if (given === undefined) return { onCollision: onCollision.Prevent };
  if (isPolicy(given)) return { onCollision: onCollision[given] };
  const objection = `annotation ${collisionAnnotation}: ${JSON.stringify(given.slice(0, 64))} is none of ${collisionPolicies.join(", ")} and counts as Prevent`;
  return { onCollision: onCollision.Prevent, objection };
}

const isPolicy = (text: string): text is CollisionPolicy => (collisionPolicies as readonly string[]).includes(text);
