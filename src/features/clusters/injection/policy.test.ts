import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { bindingSpecOf, fitting, policySpecOf } from "./policy.ts";
import { type Naming, recordDataOf } from "./record.ts";

const nothing: Naming = { names: [], special: new Map(), exempt: new Map() };
const naming = (parts: Partial<Naming>): Naming => ({ ...nothing, ...parts });
const map = (entries: Record<string, readonly string[]>) => new Map(Object.entries(entries));

const variableOf = (name: string, of: Naming): string | undefined =>
  policySpecOf(of).variables.find((variable) => variable.name === name)?.expression;

const variables = [
  { name: "names", of: {}, expression: "''" },
  { name: "names", of: { names: ["b", "", "a", "b"] }, expression: "'b,a'" },
  { name: "wanted", of: {}, expression: "variables.names.split(',')" },
  { name: "spared", of: {}, expression: "''.split(',')" },
  { name: "special0", of: {}, expression: undefined },
  { name: "special0", of: { special: map({ web: ["x", "y"], app: [] }) }, expression: "{'app':'','web':'x,y'}" },
  { name: "exempt0", of: { exempt: map({ web: ["build.er"] }) }, expression: "{'web':'build.er'}" },
  {
    name: "wanted",
    of: { special: map({ web: [] }) },
    expression: "variables.special0[?request.namespace].orValue(variables.names).split(',')",
  },
  {
    name: "spared",
    of: { exempt: map({ web: ["a"] }) },
    expression: "variables.exempt0[?request.namespace].orValue('').split(',')",
  },
];
for (const { name, of, expression } of variables) {
  test(`policySpecOf: ${name} is ${expression}`, () => assert.equal(variableOf(name, naming(of)), expression));
}

const refused: readonly Partial<Naming>[] = [
  { names: ["a'"] },
  { names: ["a,b"] },
  { names: ["a\\"] },
  { names: ["A"] },
  { names: ["a".repeat(254)] },
  { special: map({ "a'": ["a"] }) },
  { special: map({ "a.b": ["a"] }) },
  { special: map({ "": ["a"] }) },
  { special: map({ a: ["a\n"] }) },
  { exempt: map({ a: ["'] + ['"] }) },
  { exempt: map({ "a b": ["a"] }) },
];
for (const parts of refused) {
  const shown = JSON.stringify([parts.names, [...(parts.special ?? [])], [...(parts.exempt ?? [])]]).slice(0, 60);
  test(`policySpecOf refuses ${shown}`, () => assert.throws(() => policySpecOf(naming(parts)), /is no name/));
}

test("policySpecOf: the same naming gives the same spec, in whatever order it comes", () => {
  const one = naming({ special: map({ a: ["x"], b: ["y"] }), exempt: map({ c: ["x"], d: ["y"] }) });
  const other = naming({ special: map({ b: ["y"], a: ["x"] }), exempt: map({ d: ["y"], c: ["x"] }) });
  assert.equal(JSON.stringify(policySpecOf(one)), JSON.stringify(policySpecOf(other)));
});

const optedOut = { key: "latchkey.dev/inject", operator: "NotIn", values: ["false"] };
const bindings = [
  { excluded: [], matchExpressions: [optedOut] },
  {
    excluded: ["kube-system", "b", "kube-system"],
    matchExpressions: [
      { key: "kubernetes.io/metadata.name", operator: "NotIn", values: ["b", "kube-system"] },
      optedOut,
    ],
  },
];
for (const { excluded, matchExpressions } of bindings) {
  test(`bindingSpecOf: without ${excluded.join(" and ") || "exclusions"}`, () => {
    const { matchResources } = bindingSpecOf({ excludedNamespaces: excluded });
    assert.deepEqual(matchResources.namespaceSelector, { matchExpressions });
  });
}

test("bindingSpecOf refuses what is no namespace", () => {
  assert.throws(() => bindingSpecOf({ excludedNamespaces: ["a.b"] }), /"a.b" is no name/);
});

/** So many names that they have this many characters, commas included. */
const long = (characters: number): string[] => Array.from({ length: characters / 100 }, () => "n".repeat(99));
const many = (prefix: string, count: number, list: readonly string[]): [string, readonly string[]][] =>
  Array.from({ length: count }, (_, i) => [`${prefix}${String(i).padStart(5, "0")}`, list]);

const fits: readonly { name: string; of: Naming; leftOut: readonly string[] }[] = [
  { name: "nothing", of: nothing, leftOut: [] },
  { name: "little", of: naming({ names: ["a"], special: map({ b: ["c"] }), exempt: map({ b: ["d"] }) }), leftOut: [] },
  {
    name: "a list longer than an expression",
    of: naming({ special: map({ a: long(60_100), b: long(60_000) }) }),
    leftOut: ["a"],
  },
  {
    name: "accounts longer than an expression",
    of: naming({ exempt: map({ a: long(60_100), b: ["x"] }) }),
    leftOut: ["a"],
  },
  {
    name: "accounts before names",
    of: naming({ special: new Map(many("a", 10, long(50_000))), exempt: new Map(many("z", 10, long(50_000))) }),
    leftOut: ["a00007", "a00008", "a00009"],
  },
  {
    name: "the short before the long",
    of: naming({ special: new Map([...many("a", 20, long(50_000)), ...many("z", 20, long(5_000))]) }),
    leftOut: ["a00015", "a00016", "a00017", "a00018", "a00019"],
  },
];
for (const { name, of, leftOut } of fits) {
  test(`fitting: ${name}`, () => {
    const fitted = fitting(of);
    assert.deepEqual(fitted.leftOut, leftOut);
    const isKept = ([namespace]: readonly [string, unknown]) => !leftOut.includes(namespace);
    assert.deepEqual(fitted.naming, {
      names: of.names,
      special: new Map([...[...of.special].filter(isKept), ...leftOut.map((namespace) => [namespace, []] as const)]),
      exempt: new Map([...of.exempt].filter(isKept)),
    });
  });
}

test("fitting: where not even empty lists fit, nothing is injected", () => {
  const of = naming({ names: ["a"], special: new Map(many("n".repeat(58), 5_500, ["b"])) });
  const { naming: fitted, leftOut } = fitting(of);
  assert.deepEqual(fitted, nothing);
  assert.equal(leftOut.length, 5_500);
});

test("whatever fits leaves room in every expression, in the policy and in the record", () => {
  const list = fc.nat(2_000).map((length) => Array.from({ length }, (_, i) => `${"n".repeat(1 + (i % 60))}${i}`));
  const lists = fc
    .record({ count: fc.nat(4_000), prefix: fc.nat(57).map((length) => "m".repeat(length)), list })
    .map(({ count, prefix, list }) =>
      many(`m${prefix}`, count, list).map(([name], i) => [name, list.slice(i)] as const),
    )
    .map((entries) => new Map(entries));
  fc.assert(
    fc.property(lists, lists, (special, exempt) => {
      const { naming: fitted } = fitting(naming({ special, exempt }));
      const lengths = policySpecOf(fitted).variables.map(({ expression }) => expression.length);
      assert.ok(lengths.length < 60 && Math.max(...lengths) < 70_000 && sum(lengths) < 910_000);
      const data = Object.entries(recordDataOf(fitted));
      assert.ok(sum(data.map(([, value]) => value.length)) < 900_000);
      assert.ok(
        sum(data.map(([key, value]) => JSON.stringify({ [`f:${key}`]: {} }).length + key.length + value.length)) <
          910_000,
      );
    }),
    { numRuns: 30 },
  );
});

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
