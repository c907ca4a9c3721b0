import assert from "node:assert/strict";
import { test } from "node:test";
import { keyOf } from "../../api/objects.ts";
import type { ServiceAccount } from "../../api/pods.ts";
import { candidatesOf } from "../../pullsecrets/names.ts";
import type { Resolution } from "../../pullsecrets/pull-secrets.ts";
import { metadataOf, sidecarRecord } from "../../testing/sidecar-records.ts";
import { type NamesOptions, resolveNames } from "./names.ts";

/** `vault/pull`, or `pull` for one without a namespace. */
function set(name: string, ...references: readonly string[]) {
  const imagePullSecrets = references.map((text) => {
    const [namespace = "", secret = ""] = text.includes("/") ? text.split("/") : ["", text];
    return { namespace, name: secret };
  });
  return sidecarRecord(name, { imagePullSecrets });
}

const enforcing = (...listed: readonly string[]): ServiceAccount => ({
  metadata: metadataOf("strict", {
    namespace: "team",
    annotations: { "kubernetes.io/enforce-mountable-secrets": "true" },
  }),
  imagePullSecrets: listed.map((name) => ({ name })),
});

const suffixed = (text: string) => {
  const [namespace = "", name = ""] = text.split("/");
  return candidatesOf({ namespace, name })[1] ?? "";
};

/** What is told about a source; a copy under the first name that is not reserved unless told otherwise. */
type Told = Readonly<Record<string, Resolution>>;
const resolveBy =
  (told: Told = {}): NamesOptions["resolve"] =>
  async (source, isReserved) => {
    const name = candidatesOf(source).find((one) => !isReserved(one)) ?? "";
    const given = told[keyOf(source)] ?? { kind: "copy", name };
    return given.kind === "missing" ? { ...given, name } : given;
  };

const missing: Resolution = { kind: "missing", name: "" };

interface Case {
  readonly name: string;
  readonly sets: Parameters<typeof resolveNames>[0];
  readonly told?: Told;
  readonly account?: ServiceAccount;
  readonly names: Readonly<Record<string, readonly string[]>>;
  readonly recorded: Readonly<Record<string, string>>;
  readonly skipped?: readonly string[];
  readonly unsettled?: readonly string[];
}

const cases: readonly Case[] = [
  { name: "no reference", sets: [set("a")], names: { a: [] }, recorded: {} },
  {
    name: "in order, one source once",
    sets: [set("a", "v/y", "v/x"), set("b", "v/x", "w/z")],
    names: { a: ["v-y", "v-x"], b: ["v-x", "w-z"] },
    recorded: { "v/y": "v-y", "v/x": "v-x", "w/z": "w-z" },
  },
  {
    name: "a suffixed copy is named as it is",
    sets: [set("a", "v/x")],
    told: { "v/x": { kind: "copy", name: suffixed("v/x") } },
    names: { a: [suffixed("v/x")] },
    recorded: { "v/x": suffixed("v/x") },
  },
  {
    name: "of two sources with one literal name the first keeps it",
    sets: [set("a", "a-b/c"), set("b", "a/b-c")],
    names: { a: ["a-b-c"], b: [suffixed("a/b-c")] },
    recorded: { "a-b/c": "a-b-c", "a/b-c": suffixed("a/b-c") },
  },
  {
    name: "also when the first one is missing, and the second",
    sets: [set("a", "a-b/c", "a/b-c")],
    told: { "a-b/c": missing, "a/b-c": missing },
    names: { a: ["a-b-c", suffixed("a/b-c")] },
    recorded: { "a-b/c": "a-b-c", "a/b-c": suffixed("a/b-c") },
  },
  {
    name: "a missing source has the name of the copy to come",
    sets: [set("a", "v/x")],
    told: { "v/x": missing },
    names: { a: ["v-x"] },
    recorded: { "v/x": "v-x" },
  },
  {
    name: "without a namespace the Secret of the Pod's own may be meant",
    sets: [set("a", "x"), set("b", "default/x")],
    told: { "default/x": missing },
    names: { a: ["default-x", "x"], b: ["default-x"] },
    recorded: { "default/x": "default-x" },
  },
  {
    name: "which is not so while the source exists",
    sets: [set("a", "x")],
    names: { a: ["default-x"] },
    recorded: { "default/x": "default-x" },
  },
  {
    name: "a refused copy is named: it may come",
    sets: [set("a", "x")],
    told: { "default/x": { kind: "refused", name: "default-x" } },
    names: { a: ["default-x"] },
    recorded: { "default/x": "default-x" },
  },
  {
    name: "a source that is not copied has no name",
    sets: [set("a", "v/x", "v/y")],
    told: { "v/x": { kind: "left-out", why: { kind: "vetoed" } } },
    names: { a: ["v-y"] },
    recorded: { "v/y": "v-y" },
  },
  {
    name: "unknown: both candidates, the literal one recorded",
    sets: [set("a", "v/x"), set("b", "v/y")],
    told: { "v/x": { kind: "unknown" } },
    names: { a: ["v-x", suffixed("v/x")], b: ["v-y"] },
    recorded: { "v/x": "v-x", "v/y": "v-y" },
    unsettled: ["a"],
  },
  {
    name: "unknown without a namespace: the plain name too",
    sets: [set("a", "x")],
    told: { "default/x": { kind: "unknown" } },
    names: { a: ["default-x", suffixed("default/x"), "x"] },
    recorded: { "default/x": "default-x" },
    unsettled: ["a"],
  },
  {
    name: "unknown, both with one literal name: it is recorded for the first",
    sets: [set("a", "a-b/c", "a/b-c")],
    told: { "a-b/c": { kind: "unknown" }, "a/b-c": { kind: "unknown" } },
    names: { a: ["a-b-c", suffixed("a-b/c"), suffixed("a/b-c")] },
    recorded: { "a-b/c": "a-b-c", "a/b-c": suffixed("a/b-c") },
    unsettled: ["a"],
  },
  {
    name: "an enforcing account gets what it lists",
    sets: [set("a", "v/x", "v/y"), set("b", "v/x")],
    account: enforcing("v-y", "other"),
    names: { a: ["v-y"], b: [] },
    recorded: { "v/y": "v-y" },
    skipped: ["a v-x", "b v-x"],
  },
  {
    name: "an enforcing account that lists the other candidate",
    sets: [set("a", "v/x", "w/x")],
    told: { "w/x": { kind: "unknown" } },
    account: enforcing(suffixed("v/x"), suffixed("w/x")),
    names: { a: [suffixed("w/x")] },
    recorded: { "w/x": suffixed("w/x") },
    skipped: ["a v-x"],
    unsettled: ["a"],
  },
  {
    name: "an enforcing account and the plain name",
    sets: [set("a", "x", "y")],
    told: { "default/x": missing, "default/y": missing },
    account: enforcing("default-x", "default-y", "y"),
    names: { a: ["default-x", "default-y", "y"] },
    recorded: { "default/x": "default-x", "default/y": "default-y" },
  },
];

for (const { name, sets, told, account, ...expected } of cases) {
  test(`resolveNames: ${name}`, async () => {
    const found = await resolveNames(sets, { account, resolve: resolveBy(told) });
    assert.deepEqual(Object.fromEntries(found.names), expected.names);
    assert.deepEqual(Object.fromEntries(found.recorded), expected.recorded);
    const skipped = found.skipped.map((one) => `${one.set.metadata.name} ${/pull secret (\S+)/.exec(one.why)?.[1]}`);
    assert.deepEqual(skipped, expected.skipped ?? []);
    assert.deepEqual([...found.unsettled], expected.unsettled ?? []);
  });
}

test("resolveNames: an enforcing account has no copy made that its Pods may not name", async () => {
  const asked: string[] = [];
  const resolve: NamesOptions["resolve"] = async (source) => {
    asked.push(keyOf(source));
    return { kind: "unknown" };
  };
  await resolveNames([set("a", "v/x", "v/y")], { account: enforcing("v-y"), resolve });
  assert.deepEqual(asked, ["v/y"]);
});

test("resolveNames: what could have one name waits for each other, the rest does not", async () => {
  const asked: string[] = [];
  const first = Promise.withResolvers<Resolution>();
  const resolve: NamesOptions["resolve"] = async (source) => {
    asked.push(keyOf(source));
    return keyOf(source) === "a-b/c" ? await first.promise : { kind: "unknown" };
  };
  const found = resolveNames([set("a", "a-b/c", "a/b-c", "v/x")], { account: undefined, resolve });
  await new Promise(setImmediate);
  assert.deepEqual(asked, ["a-b/c", "v/x"]);
  first.resolve({ kind: "left-out", why: { kind: "collision" } });
  assert.deepEqual((await found).names.get("a")?.slice(0, 2), ["a-b-c", suffixed("a/b-c")]);
});

test("resolveNames: a collision is told of every SidecarSet that lists the source, other reasons are not", async () => {
  const told: Told = {
    "v/x": { kind: "left-out", why: { kind: "collision" } },
    "v/y": { kind: "left-out", why: { kind: "vetoed" } },
  };
  const sets = [set("a", "v/x", "v/y"), set("b", "v/x")];
  const { collisions } = await resolveNames(sets, { account: undefined, resolve: resolveBy(told) });
  assert.deepEqual(
    collisions.map((one) => `${one.set.metadata.name} ${keyOf(one.source)}`),
    ["a v/x", "b v/x"],
  );
});
