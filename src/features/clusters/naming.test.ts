import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { keyOf } from "../../api/objects.ts";
import { candidatesOf } from "../../pullsecrets/names.ts";
import type { Reference } from "../../pullsecrets/references.ts";
import { type Naming, parseRecord, recordDataOf } from "./injection/record.ts";
import { type NamingFacts, namesIn, namingOf, type Sight, suffixedIn, usualNames } from "./naming.ts";

const ref = (namespace: string, name: string): Reference => ({ namespace, name });
const [quay, hub] = [ref("ns", "quay"), ref("ns", "hub")];
/** Their literal names are the same. */
const [ab, a] = [ref("a-b", "c"), ref("a", "b-c")];
const long = ref("ns", "x".repeat(253));
const literal = (source: Reference): string => candidatesOf(source)[0] ?? "";
const suffixed = (source: Reference): string => candidatesOf(source).at(-1) ?? "";
const nothing: Naming = { names: [], special: new Map(), exempt: new Map() };

interface Known {
  readonly references: readonly Reference[];
  readonly rejected?: readonly Reference[];
  /** What is known by `<namespace> <source>`. */
  readonly sights?: Readonly<Record<string, Sight>>;
  /** Copies of others by `<namespace>/<name>`. */
  readonly taken?: readonly string[];
  readonly recorded?: Partial<Naming>;
}

const factsOf = ({ references, rejected = [], sights = {}, taken = [], recorded = {} }: Known): NamingFacts => ({
  references,
  isInjected: (source) => !rejected.includes(source),
  sightOf: (source, namespace) => sights[`${namespace} ${keyOf(source)}`] ?? { kind: "nothing" },
  isTaken: (name, _source, namespace) => taken.includes(`${namespace}/${name}`),
  recorded: { ...nothing, ...recorded },
});

const named = (name: string): Sight => ({ kind: "named", name });
const collision: Sight = { kind: "collision" };

const usual: readonly (Known & { name: string; names: readonly string[] })[] = [
  { name: "no references, no names", references: [], names: [] },
  { name: "the literal name of each, in their order", references: [quay, hub], names: [literal(quay), literal(hub)] },
  { name: "a literal name that is too long is none", references: [long], names: [suffixed(long)] },
  {
    name: "a reference that is not injected keeps its place",
    references: [quay, hub],
    rejected: [quay],
    names: ["", literal(hub)],
  },
  { name: "of two that coincide the first has it", references: [ab, a], names: [literal(ab), suffixed(a)] },
  { name: "in another order the other one", references: [a, ab], names: [literal(a), suffixed(ab)] },
  { name: "unless the first must not be given", references: [ab, a], rejected: [ab], names: ["", literal(a)] },
  {
    name: "another order changes no name that is recorded",
    references: [a, ab],
    recorded: { names: [literal(ab), suffixed(a)] },
    names: [suffixed(a), literal(ab)],
  },
  {
    name: "nor does the end of the first",
    references: [a],
    recorded: { names: [literal(ab), suffixed(a)] },
    names: [suffixed(a)],
  },
  {
    name: "nor a new first one",
    references: [ab, a],
    recorded: { names: [suffixed(ab), literal(a)] },
    names: [suffixed(ab), literal(a)],
  },
  {
    name: "a name recorded for one that was not given then is still free",
    references: [ab, a],
    recorded: { names: ["", literal(a)] },
    names: [literal(ab), suffixed(a)],
  },
  {
    name: "what is recorded and is no candidate is nothing",
    references: [quay],
    recorded: { names: ["theirs"] },
    names: [literal(quay)],
  },
];
for (const { name, names, ...known } of usual) {
  test(`usualNames: ${name}`, () => assert.deepEqual(usualNames(factsOf(known)), names));
}

const inApp: readonly (Known & { name: string; names: readonly string[] })[] = [
  { name: "nothing is known: the usual ones", references: [quay, hub], names: [literal(quay), literal(hub)] },
  {
    name: "a copy that is there by another name",
    references: [quay, hub],
    sights: { "app ns/quay": named(suffixed(quay)) },
    names: [suffixed(quay), literal(hub)],
  },
  {
    name: "a copy by the literal name counts more than what is recorded",
    references: [quay],
    sights: { "app ns/quay": named(literal(quay)) },
    recorded: { names: [literal(quay)], special: new Map([["app", [suffixed(quay)]]]) },
    names: [literal(quay)],
  },
  {
    name: "a copy elsewhere says nothing",
    references: [quay],
    sights: { "web ns/quay": named(suffixed(quay)) },
    names: [literal(quay)],
  },
  {
    name: "both names are held: the others are given",
    references: [quay, hub],
    sights: { "app ns/quay": collision },
    names: ["", literal(hub)],
  },
  {
    name: "a copy of a source that must not be copied is not given",
    references: [quay],
    rejected: [quay],
    sights: { "app ns/quay": named(literal(quay)) },
    names: [""],
  },
  {
    name: "what was given there is given again",
    references: [quay],
    recorded: { names: [literal(quay)], special: new Map([["app", [suffixed(quay)]]]) },
    names: [suffixed(quay)],
  },
  {
    name: "what was left out there stays out until there is a copy",
    references: [quay, hub],
    recorded: { names: [literal(quay), literal(hub)], special: new Map([["app", ["", literal(hub)]]]) },
    names: ["", literal(hub)],
  },
  {
    name: "a reference that is new was not left out",
    references: [quay, hub],
    recorded: { names: [literal(quay)], special: new Map([["app", [suffixed(quay)]]]) },
    names: [suffixed(quay), literal(hub)],
  },
  {
    name: "what is recorded and taken since is given up",
    references: [quay],
    recorded: { names: [literal(quay)] },
    taken: [`app/${literal(quay)}`],
    names: [suffixed(quay)],
  },
  {
    name: "both names are copies of others",
    references: [quay],
    taken: candidatesOf(quay).map((each) => `app/${each}`),
    names: [""],
  },
  {
    name: "a copy keeps the name that its namesake would have",
    references: [ab, a],
    sights: { "app a/b-c": named(literal(a)) },
    names: [suffixed(ab), literal(a)],
  },
  {
    name: "both by the other name",
    references: [ab, a],
    sights: { "app a/b-c": named(suffixed(a)), "app a-b/c": named(suffixed(ab)) },
    names: [suffixed(ab), suffixed(a)],
  },
];
for (const { name, names, ...known } of inApp) {
  test(`namesIn: ${name}`, () => {
    const facts = factsOf(known);
    assert.deepEqual(namesIn("app", usualNames(facts), facts), names);
  });
}

test("namingOf: only namespaces that differ have lists of their own", () => {
  const sights = { "app ns/quay": named(suffixed(quay)), "web ns/hub": collision };
  const naming = namingOf(["app", "db", "web"], factsOf({ references: [quay, hub], sights }));
  assert.deepEqual(naming.names, [literal(quay), literal(hub)]);
  assert.deepEqual(
    [...naming.special],
    [
      ["app", [suffixed(quay), literal(hub)]],
      ["web", [literal(quay), ""]],
    ],
  );
  assert.equal(suffixedIn(naming), 1);
});

test("no name is given to two sources, and a restart gives the same ones", () => {
  const sources = [quay, hub, ab, a, long];
  const sight = (source: Reference) =>
    fc.oneof(
      fc.constant<Sight>({ kind: "nothing" }),
      fc.constant(collision),
      fc.constantFrom(...candidatesOf(source)).map(named),
    );
  const namespaces = ["app", "web"];
  const sights = fc.record(
    Object.fromEntries(
      namespaces.flatMap((each) => sources.map((source) => [`${each} ${keyOf(source)}`, sight(source)])),
    ),
  );
  const lists = fc.shuffledSubarray(sources);
  fc.assert(
    fc.property(lists, lists, fc.subarray(sources), sights, (before, references, rejected, seen) => {
      const first = namingOf(namespaces, factsOf({ references: before, rejected }));
      const recorded = parseRecord(recordDataOf(first));
      const known = { references, rejected, sights: separate(seen), recorded };
      const naming = namingOf(namespaces, factsOf(known));
      for (const list of [naming.names, ...naming.special.values()]) {
        const given = list.filter((name) => name !== "");
        assert.equal(new Set(given).size, given.length, "one name for two sources");
        for (const [at, name] of list.entries()) {
          assert.ok(name === "" || candidatesOf(references[at] as Reference).includes(name));
        }
      }
      const again = parseRecord(recordDataOf(naming));
      assert.deepEqual(namingOf(namespaces, factsOf({ ...known, recorded: again })), naming);
    }),
  );
});

/** Two sources cannot stand there by one name. */
function separate(sights: Readonly<Record<string, Sight>>): Readonly<Record<string, Sight>> {
  const held = new Set<string>();
  const entries = Object.entries(sights).map(([key, sight]) => {
    if (sight.kind !== "named") return [key, sight] as const;
    const place = `${key.split(" ")[0]}/${sight.name}`;
    const isHeld = held.has(place);
    held.add(place);
    return [key, isHeld ? ({ kind: "nothing" } as const) : sight] as const;
  });
  return Object.fromEntries(entries);
}
