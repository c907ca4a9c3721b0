import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject, Metadata } from "../api/objects.ts";
import { Mirror, type News } from "./mirror.ts";

function at(resourceVersion: number, uid = "u1", more: Partial<Metadata> = {}): KubeObject {
  return { metadata: { name: "k", uid, resourceVersion: String(resourceVersion), creationTimestamp: "", ...more } };
}

function news(object: KubeObject): News<KubeObject> {
  const { uid, resourceVersion } = object.metadata;
  return { key: "k", uid, resourceVersion, object };
}

function gone(resourceVersion: number, uid = "u1"): News<KubeObject> {
  return { key: "k", uid, resourceVersion: String(resourceVersion), object: undefined };
}

type Step =
  | { readonly sees: News<KubeObject> }
  | { readonly lists: KubeObject | undefined; readonly asOf: number }
  | { readonly bookmark: number }
  | { readonly absorbs: KubeObject }
  | { readonly forgets: string }
  | { readonly does: "hold" | "release" };

interface Case {
  readonly name: string;
  readonly steps: readonly Step[];
  /** The changes told, as `before>after` by resourceVersion, `-` for absent. */
  readonly told: readonly string[];
  /** The resourceVersion in the store at the end. */
  readonly left: number | undefined;
}

const sees = (object: KubeObject): Step => ({ sees: news(object) });
const seesGone = (resourceVersion: number, uid?: string): Step => ({ sees: gone(resourceVersion, uid) });
const lists = (object: KubeObject | undefined, asOf: number): Step => ({ lists: object, asOf });
const absorbs = (object: KubeObject): Step => ({ absorbs: object });
const hold: Step = { does: "hold" };
const release: Step = { does: "release" };
const deleting = { deletionTimestamp: "2026-01-01T00:00:00Z" };
const held = { finalizers: ["example.com/x"] };

const cases: readonly Case[] = [
  { name: "the first list is news", steps: [lists(at(5), 9)], told: ["->5"], left: 5 },
  {
    name: "what was there before the list is no news",
    steps: [lists(at(5), 9), lists(at(5), 20)],
    told: ["->5"],
    left: 5,
  },
  { name: "a change", steps: [sees(at(5)), sees(at(6))], told: ["->5", "5>6"], left: 6 },
  { name: "an event told twice", steps: [sees(at(5)), sees(at(5))], told: ["->5"], left: 5 },
  { name: "an event older than the store", steps: [sees(at(6)), sees(at(5))], told: ["->6"], left: 6 },
  { name: "10 is later than 9", steps: [sees(at(9)), sees(at(10))], told: ["->9", "9>10"], left: 10 },
  { name: "a deletion", steps: [sees(at(5)), seesGone(6)], told: ["->5", "5>-"], left: undefined },
  {
    name: "a deletion of the very version we have",
    steps: [sees(at(5)), seesGone(5)],
    told: ["->5", "5>-"],
    left: undefined,
  },
  { name: "a deletion of what we never had", steps: [seesGone(6)], told: [], left: undefined },
  {
    name: "a late deletion of the object's predecessor",
    steps: [lists(at(8, "u2"), 8), seesGone(7, "u1")],
    told: ["->8"],
    left: 8,
  },
  {
    name: "a deletion missed, seen by the next list",
    steps: [sees(at(5)), lists(undefined, 9)],
    told: ["->5", "5>-"],
    left: undefined,
  },
  { name: "a change missed", steps: [sees(at(5)), lists(at(8), 9)], told: ["->5", "5>8"], left: 8 },
  {
    name: "a restored server counts from earlier",
    steps: [sees(at(50)), lists(at(8), 9)],
    told: ["->50", "50>8"],
    left: 8,
  },
  {
    name: "versions that are no numbers: the stream is believed",
    steps: [sees(at(Number.NaN)), sees(at(5))],
    told: ["->NaN", "NaN>5"],
    left: 5,
  },

  { name: "our own write and its echo", steps: [sees(at(5)), absorbs(at(6)), sees(at(6))], told: ["->5"], left: 6 },
  { name: "our own create and its echo", steps: [lists(undefined, 4), absorbs(at(5)), sees(at(5))], told: [], left: 5 },
  {
    name: "two of our own writes before the first echo",
    steps: [sees(at(5)), absorbs(at(6)), absorbs(at(7)), sees(at(6)), sees(at(7))],
    told: ["->5"],
    left: 7,
  },
  {
    name: "a write that changed nothing",
    steps: [sees(at(5)), absorbs(at(5)), sees(at(6))],
    told: ["->5", "5>6"],
    left: 6,
  },
  {
    name: "somebody's change before our own write, told after its answer",
    steps: [sees(at(5)), absorbs(at(7)), sees(at(6)), sees(at(7))],
    told: ["->5", "5>7"],
    left: 7,
  },
  {
    name: "somebody's change after our own write",
    steps: [sees(at(5)), absorbs(at(6)), sees(at(6)), sees(at(7))],
    told: ["->5", "6>7"],
    left: 7,
  },
  {
    name: "somebody deleted what we had just written",
    steps: [sees(at(5)), absorbs(at(6)), sees(at(6)), seesGone(7)],
    told: ["->5", "6>-"],
    left: undefined,
  },
  {
    name: "an answer the stream has overtaken does not bring a deleted object back",
    steps: [lists(undefined, 4), sees(at(5)), seesGone(6), absorbs(at(5))],
    told: ["->5", "5>-"],
    left: undefined,
  },
  {
    name: "somebody replaced the object before our own create",
    steps: [sees(at(5)), absorbs(at(7, "u2")), seesGone(6), sees(at(7, "u2"))],
    told: ["->5", "5>7"],
    left: 7,
  },
  {
    name: "our own write takes the object out of the selection",
    steps: [sees(at(5)), absorbs(at(6)), seesGone(6)],
    told: ["->5"],
    left: undefined,
  },
  {
    name: "our own write was never among the selected: the next bookmark shows",
    steps: [lists(undefined, 4), absorbs(at(5)), { bookmark: 6 }],
    told: [],
    left: undefined,
  },
  {
    name: "a bookmark before our own write says nothing about it",
    steps: [lists(undefined, 3), absorbs(at(5)), { bookmark: 4 }, sees(at(5))],
    told: [],
    left: 5,
  },

  { name: "our own delete", steps: [sees(at(5)), { forgets: "u1" }, seesGone(6)], told: ["->5"], left: undefined },
  {
    name: "our own delete, told before",
    steps: [sees(at(5)), seesGone(6), { forgets: "u1" }],
    told: ["->5", "5>-"],
    left: undefined,
  },
  {
    name: "another object of the name is not forgotten",
    steps: [sees(at(5, "u2")), { forgets: "u1" }],
    told: ["->5"],
    left: 5,
  },
  {
    name: "our own delete, then somebody's create",
    steps: [sees(at(5)), { forgets: "u1" }, seesGone(6), sees(at(7, "u2"))],
    told: ["->5", "->7"],
    left: 7,
  },
  {
    name: "our own delete, then our own create",
    steps: [sees(at(5)), { forgets: "u1" }, absorbs(at(7, "u2")), seesGone(6), sees(at(7, "u2"))],
    told: ["->5"],
    left: 7,
  },
  {
    name: "our own create, then our own delete, before any echo",
    steps: [lists(undefined, 4), absorbs(at(5)), { forgets: "u1" }, sees(at(5)), seesGone(6)],
    told: [],
    left: undefined,
  },
  {
    name: "our own create, delete and create again, before any echo",
    steps: [
      lists(undefined, 4),
      absorbs(at(5)),
      { forgets: "u1" },
      absorbs(at(7, "u2")),
      sees(at(5)),
      seesGone(6),
      sees(at(7, "u2")),
    ],
    told: [],
    left: 7,
  },
  {
    name: "somebody's change before our own delete does not bring the object back",
    steps: [sees(at(5)), { forgets: "u1" }, sees(at(6)), seesGone(7)],
    told: ["->5", "5>-"],
    left: undefined,
  },
  {
    name: "an object deleted by us lives on until somebody lets go",
    steps: [sees(at(5)), { forgets: "u1" }, sees(at(6, "u1", deleting)), seesGone(7)],
    told: ["->5", "->6", "6>-"],
    left: undefined,
  },
  {
    name: "an object with finalizers is not gone because we deleted it",
    steps: [sees(at(5, "u1", held)), { forgets: "u1" }],
    told: ["->5"],
    left: 5,
  },

  {
    name: "an echo that comes before the answer",
    steps: [sees(at(5)), hold, sees(at(6)), absorbs(at(6)), release],
    told: ["->5"],
    left: 6,
  },
  {
    name: "somebody's changes around our own write while it is under way",
    steps: [sees(at(5)), hold, sees(at(6)), sees(at(7)), sees(at(8)), absorbs(at(7)), release],
    told: ["->5", "5>7", "7>8"],
    left: 8,
  },
  {
    name: "our own delete, told before its answer",
    steps: [sees(at(5)), hold, seesGone(6), { forgets: "u1" }, release],
    told: ["->5"],
    left: undefined,
  },
  {
    name: "our own create, deleted by somebody before the answer",
    steps: [lists(undefined, 4), hold, sees(at(5)), seesGone(6), absorbs(at(5)), release],
    told: ["5>-"],
    left: undefined,
  },
  {
    name: "a write that failed: what waited is told",
    steps: [sees(at(5)), hold, sees(at(6)), release],
    told: ["->5", "5>6"],
    left: 6,
  },
  {
    name: "two writers: news wait for the last",
    steps: [sees(at(5)), hold, hold, sees(at(6)), absorbs(at(6)), release, sees(at(7)), absorbs(at(7)), release],
    told: ["->5"],
    left: 7,
  },
  {
    name: "the stream is far ahead when the answer comes",
    steps: [sees(at(5)), hold, sees(at(6)), { bookmark: 100 }, absorbs(at(6)), release],
    told: ["->5"],
    left: 6,
  },

  {
    name: "a list made before our own write does not undo it",
    steps: [sees(at(5)), absorbs(at(9)), lists(at(5), 7), sees(at(9))],
    told: ["->5", "5>9"],
    left: 9,
  },
  {
    name: "a list made before our own create does not undo it",
    steps: [lists(undefined, 4), absorbs(at(9)), lists(undefined, 7), sees(at(9))],
    told: ["->9"],
    left: 9,
  },
  {
    name: "a list cannot tell whether somebody wrote before us, so it is told",
    steps: [sees(at(5)), absorbs(at(7)), lists(at(7), 9)],
    told: ["->5", "5>7"],
    left: 7,
  },
  {
    name: "a list while our own write is under way waits too",
    steps: [sees(at(5)), hold, lists(at(6), 9), absorbs(at(6)), release],
    told: ["->5"],
    left: 6,
  },
  {
    name: "a list without the object while a write is under way",
    steps: [lists(undefined, 4), hold, sees(at(5)), lists(undefined, 9), release],
    told: ["->5", "5>-"],
    left: undefined,
  },
];

function play(
  mirror: Mirror<KubeObject>,
  step: Step,
): readonly { before?: KubeObject | undefined; after?: KubeObject | undefined }[] {
  if ("sees" in step) return mirror.observe(step.sees);
  if ("lists" in step) return mirror.replace(new Map(step.lists ? [["k", step.lists]] : []), String(step.asOf));
  if ("bookmark" in step) mirror.reached(String(step.bookmark));
  else if ("absorbs" in step) mirror.absorb(step.absorbs);
  else if ("forgets" in step) mirror.forget("k", step.forgets);
  else if (step.does === "hold") mirror.hold("k");
  else return mirror.release("k");
  return [];
}

const versionOf = (object: KubeObject | undefined) => object?.metadata.resourceVersion ?? "-";

for (const { name, steps, told, left } of cases) {
  test(`Mirror: ${name}`, () => {
    const mirror = new Mirror<KubeObject>();
    const changes = steps.flatMap((step) => play(mirror, step));
    assert.deepEqual(
      changes.map(({ before, after }) => `${versionOf(before)}>${versionOf(after)}`),
      told,
    );
    assert.equal(mirror.store.get("k")?.metadata.resourceVersion, left === undefined ? undefined : String(left));
  });
}
