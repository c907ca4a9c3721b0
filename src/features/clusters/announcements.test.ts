import assert from "node:assert/strict";
import { test } from "node:test";
import type { ClusterStatus } from "../../api/cluster.ts";
import { announcementsOf } from "./announcements.ts";
import { recordOf } from "./record.ts";

const record = (retains: boolean, resourceVersion = "7") => {
  const metadata = { name: "c1", uid: "1", resourceVersion, creationTimestamp: "" };
  const cluster = { metadata, spec: { onSourceDeleted: retains ? "Retain" : "Delete" } };
  return recordOf(cluster, "instead");
};
const told = (before: ClusterStatus | undefined, after: ClusterStatus, retains = false): readonly string[] =>
  announcementsOf(before, after, record(retains)).map(({ type, reason, message }) => `${type} ${reason} ${message}`);

type Entry = NonNullable<ClusterStatus["imagePullSecrets"]>[number];
const entry = (state: string, copies = 0, suffixed = 0): Entry => ({
  ...{ namespace: "ns", name: "hub", copyName: "ns-hub", state, copies },
  ...(suffixed > 0 && { suffixed }),
});
const statusOf = (...imagePullSecrets: Entry[]): ClusterStatus => ({ imagePullSecrets });

const missing = "Warning SourceMissing Secret ns/hub does not exist";
const deleted = (copies: string) => `Warning SourceDeleted Secret ns/hub is gone, and so ${copies} deleted`;
const suffixed = "Normal NameSuffixed copies of ns/hub have another name than ns-hub where that is taken";
const collision = "Warning Collision copies of ns/hub find their names taken";

const entries: readonly { name: string; before?: Entry; after: Entry; retains?: true; events: readonly string[] }[] = [
  { name: "copied", after: entry("Copied", 4), events: [] },
  { name: "missing from the beginning", after: entry("SourceMissing"), events: [missing] },
  { name: "missing as before", before: entry("SourceMissing"), after: entry("SourceMissing"), events: [] },
  { name: "it has come", before: entry("SourceMissing"), after: entry("Copied", 4), events: [] },
  { name: "it is gone a moment", before: entry("Copied", 4), after: entry("SourceMissing", 4), events: [] },
  { name: "and was back in time", before: entry("SourceMissing", 4), after: entry("Copied", 4), events: [] },
  {
    name: "its copies have gone with it",
    before: entry("SourceMissing", 4),
    after: entry("SourceMissing"),
    events: [deleted("4 copies are")],
  },
  {
    name: "all of it while nobody looked",
    before: entry("Copied", 1),
    after: entry("SourceMissing"),
    events: [deleted("1 copy is")],
  },
  {
    name: "all copies but one have gone with it",
    before: entry("SourceMissing", 4),
    after: entry("SourceMissing", 1),
    events: [deleted("3 copies are")],
  },
  {
    name: "it is gone and its copies stay",
    before: entry("Copied", 4),
    after: entry("SourceMissing", 4),
    retains: true,
    events: [missing],
  },
  {
    name: "of copies that stay one is lost",
    before: entry("SourceMissing", 4),
    after: entry("SourceMissing", 3),
    retains: true,
    events: [],
  },
  { name: "vetoed", before: entry("Copied", 4), after: entry("SourceVetoed"), events: [] },
  { name: "vetoed, then gone", before: entry("SourceVetoed"), after: entry("SourceMissing"), events: [missing] },
  { name: "a name is taken", before: entry("Copied", 4), after: entry("Copied", 4, 1), events: [suffixed] },
  { name: "another one too", before: entry("Copied", 4, 1), after: entry("Copied", 4, 2), events: [] },
  { name: "both names are", before: entry("Copied", 4), after: entry("Collision", 3), events: [collision] },
  { name: "still", before: entry("Collision", 3), after: entry("Collision", 2), events: [] },
  { name: "one here, both there", after: entry("Collision", 3, 1), events: [suffixed, collision] },
];
for (const { name, before, after, retains = false, events } of entries) {
  test(`a source, ${name}`, () => {
    assert.deepEqual(told(before && statusOf(before), statusOf(after), retains), events);
  });
}

test("each reference speaks for itself, one that is not referenced any more not at all", () => {
  const other = { ...entry("SourceMissing"), name: "other" };
  assert.deepEqual(told(statusOf(entry("Copied", 4), other), statusOf(other, { ...other, name: "new" })), [
    "Warning SourceMissing Secret ns/new does not exist",
  ]);
});

const condition = (type: string, status: "True" | "False" | "Unknown", reason: string, message = "words") => ({
  conditions: [{ type, status, reason, message }] as unknown as NonNullable<ClusterStatus["conditions"]>,
});
const down = condition("Reachable", "False", "Unreachable");
const up = condition("Reachable", "True", "Connected");
const served = condition("Ready", "True", "Served");
const unserved = condition("Ready", "False", "SourceMissing");
const held = condition("Injection", "False", "Collision");

const others: readonly { name: string; before?: ClusterStatus; after: ClusterStatus; events: readonly string[] }[] = [
  { name: "served", after: served, events: ["Normal Served words"] },
  { name: "served as before", before: served, after: condition("Ready", "True", "Served", "other words"), events: [] },
  { name: "served again", before: unserved, after: served, events: ["Normal Served words"] },
  { name: "no longer served", before: served, after: unserved, events: [] },
  { name: "reachable from the beginning", after: up, events: [] },
  { name: "unreachable from the beginning", after: down, events: ["Warning Unreachable words"] },
  { name: "lost", before: up, after: down, events: ["Warning Unreachable words"] },
  { name: "still lost", before: down, after: condition("Reachable", "False", "Unreachable", "other"), events: [] },
  {
    name: "lost for another reason",
    before: down,
    after: condition("Reachable", "False", "Unauthorized"),
    events: ["Warning Unreachable words"],
  },
  { name: "back", before: down, after: up, events: ["Normal Reachable its API server answers again"] },
  { name: "another cluster", before: { clusterID: "1" }, after: { clusterID: "2" }, events: ["Warning TargetChanged"] },
  { name: "the first cluster", after: { clusterID: "2" }, events: [] },
  { name: "a first mode", after: { injection: { mode: "Policy" } }, events: [] },
  {
    name: "another mode",
    before: { injection: { mode: "Policy" } },
    after: { injection: { mode: "ServiceAccount" } },
    events: ["Normal InjectionModeChanged"],
  },
  {
    name: "our policy's name is held",
    before: condition("Injection", "True", "Active"),
    after: held,
    events: ["Warning Collision words"],
  },
  { name: "still held", before: held, after: held, events: [] },
];
for (const { name, before, after, events } of others) {
  test(`a cluster, ${name}`, () => {
    const found = told(before, after);
    assert.equal(found.length, events.length, found.join());
    for (const [at, event] of events.entries()) assert.ok(found[at]?.startsWith(event), found[at]);
  });
}

test("the same change on another occasion is another situation", () => {
  const [first, second] = ["7", "8"].map((version) => announcementsOf(undefined, served, record(false, version))[0]);
  assert.notEqual(first?.situation, second?.situation);
});
