import assert from "node:assert/strict";
import { test } from "node:test";
import type { Place, Report, SourceState } from "../../pullsecrets/report.ts";
import { literalName, suffixedName } from "../../testing/sidecars.ts";
import type { SidecarReference } from "./record.ts";
import { isInOrder, standingOf } from "./standing.ts";

const reference: SidecarReference = { namespace: "ns1", name: "secret1", written: "ns1", mayBeLocal: false };
const literal = literalName("ns1/secret1");
const other = suffixedName("ns1/secret1");
/** One Pod in each of these namespaces. */
const podsIn = (...namespaces: readonly string[]) => ({ pods: namespaces.length, namespaces: new Set(namespaces) });

const report = (state: SourceState, places: Readonly<Record<string, Place>> = {}): Report => ({
  state,
  places: new Map(Object.entries(places)),
});
const usable: SourceState = { kind: "usable" };
const collision: Place = { kind: "collision", names: [literal, other] };

interface Case {
  readonly name: string;
  readonly reference?: Partial<SidecarReference>;
  readonly report: Report;
  readonly copies?: Readonly<Record<string, string>>;
  readonly pods?: readonly string[];
  readonly leftOut?: readonly string[];
  readonly state: string;
  readonly counts?: readonly [copies: number, suffixed: number];
  readonly problems?: readonly string[];
  readonly notes?: readonly string[];
}

const cases: readonly Case[] = [
  { name: "no Pod yet", report: report(usable), state: "Unused" },
  {
    name: "copied",
    report: report(usable),
    copies: { a: literal, b: literal },
    pods: ["a", "a", "b"],
    state: "Copied",
    counts: [2, 0],
  },
  { name: "copies of other SidecarSets do not count", report: report(usable), copies: { c: literal }, state: "Unused" },
  {
    name: "some use the other name",
    report: report(usable),
    copies: { a: literal, b: other },
    pods: ["a", "b"],
    state: "Copied",
    counts: [2, 1],
    notes: [`1 namespace uses ${other}`],
  },
  {
    name: "several use the other name",
    report: report(usable),
    copies: { a: other, b: other },
    pods: ["a", "b"],
    state: "Copied",
    counts: [2, 2],
    notes: [`2 namespaces use ${other}`],
  },
  { name: "not copied yet", report: report(usable, { a: { kind: "pending" } }), pods: ["a"], state: "Unused" },
  {
    name: "not copied, as the server fails",
    report: report(usable, { a: { kind: "pending", message: "failed calling webhook" }, b: { kind: "pending" } }),
    pods: ["a", "b"],
    state: "CopyRefused",
    problems: ["CopyRefused: a: failed calling webhook"],
  },
  { name: "a Pod that no pass has seen", report: report(usable), pods: ["a"], state: "Unused" },
  {
    name: "missing",
    report: report({ kind: "missing" }),
    pods: ["a", "a", "b", "c"],
    state: "SourceMissing",
    problems: ["SourceMissing: Secret ns1/secret1 does not exist; 4 Pods wait for it"],
  },
  {
    name: "missing, one Pod",
    report: report({ kind: "missing" }),
    pods: ["a"],
    state: "SourceMissing",
    problems: ["SourceMissing: Secret ns1/secret1 does not exist; 1 Pod waits for it"],
  },
  {
    name: "missing, no Pod",
    report: report({ kind: "missing" }),
    state: "SourceMissing",
    problems: ["SourceMissing: Secret ns1/secret1 does not exist; 0 Pods wait for it"],
  },
  {
    name: "missing, while its copies are about to go",
    report: report({ kind: "missing" }),
    copies: { a: literal },
    pods: ["a"],
    state: "SourceMissing",
    counts: [1, 0],
    problems: ["SourceMissing: Secret ns1/secret1 does not exist; 1 Pod waits for it"],
  },
  {
    name: "missing, may be of the Pods' own namespace",
    reference: { namespace: "default", written: "", mayBeLocal: true },
    report: report({ kind: "missing" }),
    state: "Local",
    notes: ["Secret default/secret1 does not exist; Pods also name secret1 of their own namespace"],
  },
  {
    name: "of a wrong type",
    report: report({ kind: "type-rejected", type: "Opaque" }),
    state: "SourceTypeRejected",
    problems: ["SourceTypeRejected: Secret ns1/secret1 is of type Opaque, which is no pull secret's"],
  },
  {
    name: "itself a copy",
    report: report({ kind: "is-a-copy", original: "ns0/secret0" }),
    state: "SourceIsACopy",
    problems: ["SourceIsACopy: Secret ns1/secret1 is itself a copy of ns0/secret0"],
  },
  {
    name: "vetoed",
    report: report({ kind: "vetoed" }),
    state: "SourceVetoed",
    problems: ["SourceVetoed: Secret ns1/secret1 must not be copied: it has the annotation latchkey.dev/no-copy"],
  },
  {
    name: "unreadable",
    report: report({ kind: "unreadable", message: "forbidden" }),
    state: "CopyRefused",
    problems: ["CopyRefused: Secret ns1/secret1 cannot be read: forbidden"],
  },
  {
    name: "both names held by others",
    report: report(usable, { ns2: collision }),
    copies: { a: literal },
    pods: ["a", "ns2"],
    state: "Collision",
    counts: [1, 0],
    problems: [`Collision: ns2: ${literal} and ${other} are held by Secrets that are not ours`],
  },
  {
    name: "the only name held by another",
    report: report(usable, { ns2: { kind: "collision", names: [other] } }),
    pods: ["ns2"],
    state: "Collision",
    problems: [`Collision: ns2: ${other} is held by a Secret that is not ours`],
  },
  {
    name: "Pods that were given none, as both names were held by others",
    report: report(usable),
    copies: { a: literal },
    pods: ["a"],
    leftOut: ["ns2"],
    state: "Collision",
    counts: [1, 0],
    problems: [`Collision: ns2: ${literal} and ${other} are held by Secrets that are not ours`],
  },
  { name: "a collision of other SidecarSets", report: report(usable, { ns2: collision }), state: "Unused" },
  {
    name: "a collision that is over",
    report: report(usable, { ns2: collision }),
    copies: { ns2: literal },
    pods: ["ns2"],
    state: "Copied",
    counts: [1, 0],
  },
  {
    name: "refused",
    report: report(usable, { ns2: { kind: "refused", message: "exceeded quota" } }),
    pods: ["ns2"],
    state: "CopyRefused",
    problems: ["CopyRefused: ns2: exceeded quota"],
  },
  {
    name: "refused here, held there",
    report: report(usable, { a: { kind: "refused", message: "exceeded quota" }, b: collision }),
    pods: ["a", "b"],
    state: "Collision",
    problems: [
      `Collision: b: ${literal} and ${other} are held by Secrets that are not ours`,
      "CopyRefused: a: exceeded quota",
    ],
  },
  {
    name: "refused in many namespaces",
    report: report(
      usable,
      Object.fromEntries(["a", "b", "c", "d", "e"].map((namespace) => [namespace, { kind: "refused", message: "no" }])),
    ),
    pods: ["e", "d", "c", "b", "a"],
    state: "CopyRefused",
    problems: ["CopyRefused: a: no; b: no; c: no; and 2 more namespaces"],
  },
];

for (const {
  name,
  report: found,
  state,
  pods = [],
  copies = {},
  counts = [0, 0],
  problems = [],
  notes = [],
  ...rest
} of cases) {
  test(`standingOf: ${name}`, () => {
    const { leftOut = [] } = rest;
    const facts = { report: found, nameIn: (namespace: string) => copies[namespace], ...podsIn(...pods), leftOut };
    const standing = standingOf({ ...reference, ...rest.reference }, facts);
    assert.equal(standing.state, state);
    assert.deepEqual([standing.copies, standing.suffixed], counts);
    assert.deepEqual(
      standing.problems.map(({ reason, message }) => `${reason}: ${message}`),
      problems,
    );
    assert.deepEqual(standing.notes, notes);
    assert.equal(isInOrder(standing), problems.length === 0);
  });
}

test("standingOf: a name that is too long has no other one", () => {
  const long = { ...reference, namespace: "n".repeat(63), name: "s".repeat(253) };
  const only = suffixedName(`${long.namespace}/${long.name}`);
  const standing = standingOf(long, {
    report: report(usable),
    nameIn: () => only,
    ...podsIn("a"),
    leftOut: [],
  });
  assert.deepEqual([standing.copyName, standing.copies, standing.suffixed, standing.notes], [only, 1, 0, []]);
});

test("standingOf: others may be verbose", () => {
  const places = { a: { kind: "refused" as const, message: "x".repeat(50_000) } };
  const standing = standingOf(reference, {
    report: report(usable, places),
    nameIn: () => undefined,
    ...podsIn("a"),
    leftOut: [],
  });
  assert.equal(standing.problems[0]?.message.length, 3 + 512);
});
