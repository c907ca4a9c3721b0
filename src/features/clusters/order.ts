import { isDeepStrictEqual } from "node:util";
import type { Credentials } from "./credentials.ts";
import type { Claims } from "./demand.ts";
import type { ClusterRecord } from "./record.ts";

/** What a Cluster asks for, with everything looked up. */
export interface Order {
  readonly record: ClusterRecord;
  readonly credentials: Credentials;
}

export const leadsElsewhere = (before: Order, now: Order): boolean =>
  !isDeepStrictEqual(targetOf(before.record), targetOf(now.record));

export const asksTheSame = (before: Order, now: Order): boolean =>
  isDeepStrictEqual(
    [before.record.wish, targetOf(before.record), before.credentials],
    [now.record.wish, targetOf(now.record), now.credentials],
  );

/** The part that is for the cluster itself. */
export function claimsOf({ record, credentials }: Order): Claims {
  const { excluded, retains } = record.wish;
  return { references: credentials.references, excluded, retains };
}

/** Where its kubeconfig is. */
const targetOf = ({ wish: { isHome, kubeconfig }, status }: ClusterRecord) => [
  isHome,
  kubeconfig,
  status?.namespaceName,
];
