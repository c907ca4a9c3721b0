import assert from "node:assert/strict";
import { test } from "node:test";
import type { CopyRecord } from "../replication/copy.ts";
import { type Idle, planCollection } from "./collection.ts";
import { candidatesOf } from "./names.ts";

const source = { namespace: "ns1", name: "secret1" };
const [literal = "", suffixed = ""] = candidatesOf(source);

/** Its name is its UID, so that a case can name it. */
const copy = (namespace: string, name: string, isGoing = false): CopyRecord => ({
  metadata: {
    ...{ namespace, name, uid: `${namespace}/${name}`, resourceVersion: "1", creationTimestamp: "" },
    ...(isGoing && { deletionTimestamp: "now" }),
  },
  ownKeys: [],
  hasOtherKeys: false,
});
const nowMs = 10_000;
const since = (sinceMs: number, uid = `app/${literal}`) =>
  new Map<string, Idle>([["app", { uid, sinceMs, unwantedSinceMs: sinceMs }]]);

const cases: {
  name: string;
  copies: CopyRecord[];
  wanted?: string[];
  idle?: ReadonlyMap<string, Idle>;
  graceMs?: number;
  due?: string[];
  idleSince?: number[];
  unwantedSince?: number[];
  nextDueMs?: number;
}[] = [
  { name: "wanted", copies: [copy("app", literal)], wanted: ["app"] },
  { name: "wanted again", copies: [copy("app", literal)], wanted: ["app"], idle: since(1) },
  { name: "idle from now on", copies: [copy("app", literal)], idleSince: [nowMs], nextDueMs: 1000 },
  { name: "idle for a while", copies: [copy("app", literal)], idle: since(9_400), idleSince: [9_400], nextDueMs: 400 },
  { name: "idle for long", copies: [copy("app", literal)], idle: since(9_000), idleSince: [9_000], due: [literal] },
  {
    name: "another copy in its place has its time, and is no less unwanted",
    copies: [copy("app", literal)],
    idle: since(1, "before"),
    idleSince: [nowMs],
    unwantedSince: [1],
    nextDueMs: 1000,
  },
  { name: "gone, and still unwanted", copies: [], idle: since(1), idleSince: [1] },
  {
    name: "gone with its namespace",
    copies: [],
    idle: new Map([["gone", { uid: "1", sinceMs: 1, unwantedSinceMs: 1 }]]),
  },
  { name: "no grace", copies: [copy("app", literal)], graceMs: 0, idleSince: [nowMs], due: [literal] },
  { name: "going already", copies: [copy("app", literal, true)], graceMs: 0 },
  {
    name: "two where one is wanted: the literal one stays",
    copies: [copy("app", suffixed), copy("app", literal)],
    wanted: ["app"],
    due: [suffixed],
  },
  {
    name: "two, and the literal one is going",
    copies: [copy("app", literal, true), copy("app", suffixed)],
    wanted: ["app"],
  },
  {
    name: "two where none is wanted",
    copies: [copy("app", literal), copy("app", suffixed)],
    due: [suffixed],
    idleSince: [nowMs],
    nextDueMs: 1000,
  },
  {
    name: "the next of several",
    copies: [copy("app", literal), copy("other", literal)],
    idle: since(9_700),
    idleSince: [9_700, nowMs],
    nextDueMs: 700,
  },
];
for (const {
  name,
  copies,
  wanted = [],
  idle = new Map(),
  graceMs = 1000,
  due = [],
  idleSince = [],
  unwantedSince = idleSince,
  nextDueMs,
} of cases) {
  test(`planCollection: ${name}`, () => {
    const places = new Map(wanted.map((namespace) => [namespace, []]));
    const namespaces = new Set(["app", "other"]);
    const plan = planCollection({ source, copies, wanted: places, idle, graceMs, nowMs, namespaces });
    assert.deepEqual(
      plan.due.map(({ metadata }) => metadata.name),
      due,
    );
    assert.deepEqual(
      [...plan.idle.values()].map(({ sinceMs }) => sinceMs),
      idleSince,
    );
    assert.deepEqual(
      [...plan.idle.values()].map(({ unwantedSinceMs }) => unwantedSinceMs),
      unwantedSince,
    );
    assert.equal(plan.nextDueMs, nextDueMs);
  });
}
