import assert from "node:assert/strict";
import { test } from "node:test";
import type { SidecarSetState } from "../../api/sidecar-set.ts";
import { announcementsOf } from "./announcements.ts";
import type { Reason } from "./problems.ts";
import type { Standing } from "./standing.ts";

const reference = { namespace: "ns1", name: "secret1", written: "ns1", mayBeLocal: false };
const entry = (state: SidecarSetState, suffixed = 0) => ({
  ...{ namespace: "ns1", name: "secret1", copyName: "ns1-secret1", state, copies: 1, suffixed },
});

function standing(state: SidecarSetState, suffixed = 0): Standing {
  const isProblem = !["Copied", "Unused", "Local"].includes(state);
  return {
    ...{ reference, copyName: "ns1-secret1", state, copies: 1, suffixed },
    problems: isProblem ? [{ reason: state as Reason, message: `words about ${state}` }] : [],
    notes: suffixed > 0 ? [`${suffixed} use the other name`] : [],
  };
}

interface Case {
  readonly before?: SidecarSetState;
  readonly after: SidecarSetState;
  readonly events: readonly string[];
}

const cases: readonly Case[] = [
  { after: "Copied", events: [] },
  { after: "Unused", events: [] },
  { after: "Local", events: [] },
  { after: "SourceMissing", events: ["Warning SourceMissing words about SourceMissing"] },
  { after: "SourceTypeRejected", events: ["Warning SourceTypeRejected words about SourceTypeRejected"] },
  { after: "SourceIsACopy", events: ["Warning SourceIsACopy words about SourceIsACopy"] },
  { after: "SourceVetoed", events: ["Warning SourceVetoed words about SourceVetoed"] },
  { after: "Collision", events: ["Warning Collision words about Collision"] },
  { after: "CopyRefused", events: [] },
  { before: "Unused", after: "Copied", events: [] },
  { before: "SourceMissing", after: "Copied", events: [] },
  { before: "SourceMissing", after: "SourceMissing", events: [] },
  { before: "SourceVetoed", after: "SourceVetoed", events: [] },
  {
    before: "Copied",
    after: "SourceMissing",
    events: ["Warning SourceDeleted Secret ns1/secret1 is gone, and its copies go with it"],
  },
  {
    before: "Unused",
    after: "SourceMissing",
    events: ["Warning SourceDeleted Secret ns1/secret1 is gone, and its copies go with it"],
  },
  {
    before: "Copied",
    after: "Local",
    events: ["Warning SourceDeleted Secret ns1/secret1 is gone, and its copies go with it"],
  },
  { before: "Local", after: "Copied", events: [] },
  { before: "SourceVetoed", after: "SourceMissing", events: ["Warning SourceMissing words about SourceMissing"] },
  { before: "Copied", after: "SourceVetoed", events: ["Warning SourceVetoed words about SourceVetoed"] },
  {
    before: "SourceVetoed",
    after: "SourceTypeRejected",
    events: ["Warning SourceTypeRejected words about SourceTypeRejected"],
  },
  { before: "Copied", after: "Collision", events: ["Warning Collision words about Collision"] },
];

for (const { before, after, events } of cases) {
  test(`announcementsOf: from ${before ?? "nothing"} to ${after}`, () => {
    const status = before && { imagePullSecrets: [entry(before)] };
    const told = announcementsOf(status, [standing(after)], "7");
    assert.deepEqual(
      told.map(({ type, reason, message }) => `${type} ${reason} ${message}`),
      events,
    );
  });
}

const suffixes = [
  { name: "the first other name", before: 0, after: 2, told: 1 },
  { name: "more of them", before: 1, after: 2, told: 0 },
  { name: "none any more", before: 1, after: 0, told: 0 },
];

for (const { name, before, after, told } of suffixes) {
  test(`announcementsOf: ${name}`, () => {
    const events = announcementsOf({ imagePullSecrets: [entry("Copied", before)] }, [standing("Copied", after)], "7");
    assert.deepEqual(
      events.map(({ type, reason, message }) => [type, reason, message]),
      told ? [["Normal", "NameSuffixed", "2 use the other name"]] : [],
    );
  });
}

test("announcementsOf: the same change on another occasion is another situation", () => {
  const [first] = announcementsOf(undefined, [standing("SourceVetoed")], "7");
  const [second] = announcementsOf(undefined, [standing("SourceVetoed")], "8");
  assert.notEqual(first?.situation, second?.situation);
});

test("announcementsOf: each reference speaks for itself", () => {
  const other = { ...standing("SourceMissing"), reference: { ...reference, name: "secret2" } };
  const events = announcementsOf(
    { imagePullSecrets: [entry("SourceMissing")] },
    [standing("SourceMissing"), other],
    "7",
  );
  assert.equal(events.length, 1);
});
