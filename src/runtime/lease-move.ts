import type { KubeObject } from "../api/objects.ts";

export interface Lease extends KubeObject {
  readonly spec?: LeaseSpec;
}

export interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
}

/** Of the one Lease that the replicas of an installation share, in its namespace. */
export const leaseName = "latchkey";
/** How long the others wait for a sign of life before they take over. */
export const leaseMs = 15_000;
/** How long the holder acts without having renewed; the rest of the lease lets its last requests arrive. */
export const renewDeadlineMs = 10_000;

/** What the lease said when we last saw it change, and when that was by our own monotonic clock. */
export interface Sighting {
  readonly said: string;
  readonly atMs: number;
}

/** Only changes count: the times in a lease are by another machine's clock, so they are compared but never believed. */
export function sightingOf(before: Sighting | undefined, lease: Lease | undefined, nowMs: number): Sighting {
  const said = JSON.stringify(lease?.spec ?? null);
  return before?.said === said ? before : { said, atMs: nowMs };
}

export type Move = "create" | "renew" | "take" | "wait";

/** What a replica does next about the lease. */
export function decideMove(lease: Lease | undefined, seen: Sighting, identity: string, nowMs: number): Move {
  if (!lease) return "create";
  const { holderIdentity, leaseDurationSeconds } = lease.spec ?? {};
  if (!holderIdentity) return "take";
  if (holderIdentity === identity) return "renew";
  const waitMs = leaseDurationSeconds ? leaseDurationSeconds * 1000 : leaseMs;
  return nowMs - seen.atMs >= waitMs ? "take" : "wait";
}

/** The spec a replica writes for its move. */
export function specAfter(move: Exclude<Move, "wait">, before: LeaseSpec, identity: string, now: Date): LeaseSpec {
  const renewTime = microTimeOf(now);
  const held = { ...before, holderIdentity: identity, leaseDurationSeconds: leaseMs / 1000, renewTime };
  if (move === "renew") return held;
  return { ...held, acquireTime: renewTime, leaseTransitions: (before.leaseTransitions ?? -1) + 1 };
}

/** The spec that hands the lease to whoever looks next. */
export function specReleased(before: LeaseSpec, now: Date): LeaseSpec {
  return { ...before, holderIdentity: "", leaseDurationSeconds: 1, renewTime: microTimeOf(now) };
}

/** A lease takes exactly six decimals. */
function microTimeOf(date: Date): string {
  return date.toISOString().replace("Z", "000Z");
}
