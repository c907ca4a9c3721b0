import assert from "node:assert/strict";
import { test } from "node:test";
import {
  decideMove,
  type Lease,
  type LeaseSpec,
  leaseMs,
  renewDeadlineMs,
  sightingOf,
  specAfter,
  specReleased,
} from "./lease-move.ts";

const metadata = { name: "latchkey", uid: "1", resourceVersion: "1", creationTimestamp: "" };
const leaseOf = (spec: LeaseSpec): Lease => ({ metadata, spec });
const heldBy = (holderIdentity: string, leaseDurationSeconds = 15) =>
  leaseOf({ holderIdentity, leaseDurationSeconds, renewTime: "2001-01-01T00:00:00.000000Z" });

const cases = [
  { name: "no lease yet", lease: undefined, quietMs: 0, move: "create" },
  { name: "ours", lease: heldBy("me"), quietMs: 0, move: "renew" },
  { name: "ours, long not renewed, and nobody took it", lease: heldBy("me"), quietMs: 99_000, move: "renew" },
  { name: "released", lease: heldBy("", 1), quietMs: 0, move: "take" },
  { name: "empty", lease: { metadata }, quietMs: 0, move: "take" },
  { name: "another's, whatever its clock says", lease: heldBy("other"), quietMs: 0, move: "wait" },
  { name: "another's, just before its end", lease: heldBy("other"), quietMs: 14_999, move: "wait" },
  { name: "another's, silent for its whole term", lease: heldBy("other"), quietMs: 15_000, move: "take" },
  { name: "another's with a longer term", lease: heldBy("other", 60), quietMs: 59_999, move: "wait" },
  { name: "another's without a term", lease: leaseOf({ holderIdentity: "other" }), quietMs: 14_999, move: "wait" },
] as const;

for (const { name, lease, quietMs, move } of cases) {
  test(`decideMove: ${name}: ${move}`, () => {
    const seen = sightingOf(undefined, lease, 5_000);
    assert.equal(decideMove(lease, seen, "me", 5_000 + quietMs), move);
  });
}

test("each renewal by the holder starts the wait anew, a lease that says the same does not", () => {
  const first = sightingOf(undefined, leaseOf({ holderIdentity: "other", renewTime: "1" }), 1_000);
  assert.equal(sightingOf(first, leaseOf({ holderIdentity: "other", renewTime: "1" }), 9_000).atMs, 1_000);
  assert.equal(sightingOf(first, leaseOf({ holderIdentity: "other", renewTime: "2" }), 9_000).atMs, 9_000);
});

test("the holder stops acting well before others may take over", () => assert.ok(renewDeadlineMs < leaseMs));

test("taking over counts as a transition, renewing does not", () => {
  const now = new Date("2026-02-03T04:05:06.789Z");
  const time = "2026-02-03T04:05:06.789000Z";
  const created = specAfter("create", {}, "a", now);
  assert.deepEqual(created, {
    holderIdentity: "a",
    leaseDurationSeconds: 15,
    acquireTime: time,
    renewTime: time,
    leaseTransitions: 0,
  });
  assert.deepEqual(specAfter("renew", { ...created, renewTime: "old", acquireTime: "old" }, "a", now), {
    ...created,
    acquireTime: "old",
  });
  const released = specReleased(created, now);
  assert.equal(released.holderIdentity, "");
  assert.equal(specAfter("take", released, "b", now).leaseTransitions, 1);
  assert.equal(specAfter("take", released, "b", now).leaseDurationSeconds, 15);
});
