import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { LabelRequirement, LabelSelector } from "../../api/label-selector.ts";
import { compile, compileNamespaces, isSatisfiable, type Labels, negationOf, requirementsOf } from "./selector.ts";

const on = (...matchExpressions: LabelRequirement[]): LabelSelector => ({ matchExpressions });
const value = (text: string): Labels => ({ tier: text });
const inAB = { key: "tier", operator: "In", values: ["a", "b"] } as const;
const notInAB = { key: "tier", operator: "NotIn", values: ["a", "b"] } as const;
const exists = { key: "tier", operator: "Exists" } as const;
const absent = { key: "tier", operator: "DoesNotExist" } as const;

const cases: readonly { name: string; selector: LabelSelector | undefined; yes: Labels[]; no: Labels[] }[] = [
  {
    name: "matchLabels: all of them",
    selector: { matchLabels: { app: "x", tier: "a" } },
    yes: [{ app: "x", tier: "a", more: "1" }],
    no: [{ app: "x" }, { app: "x", tier: "b" }, {}],
  },
  {
    name: "an empty value is a value",
    selector: { matchLabels: { app: "" } },
    yes: [{ app: "" }],
    no: [{}, { app: "x" }],
  },
  { name: "In", selector: on(inAB), yes: [value("a"), value("b")], no: [value("c"), {}] },
  { name: "NotIn: absent keys too", selector: on(notInAB), yes: [value("c"), {}], no: [value("a")] },
  { name: "Exists", selector: on(exists), yes: [value("c"), value("")], no: [{}] },
  { name: "DoesNotExist", selector: on(absent), yes: [{}, { app: "x" }], no: [value("a"), value("")] },
  {
    name: "labels and expressions together",
    selector: { matchLabels: { app: "x" }, ...on(notInAB) },
    yes: [{ app: "x" }],
    no: [{ app: "x", tier: "a" }, {}],
  },
  {
    name: "names that every object has are no labels",
    selector: on({ ...exists, key: "constructor" }),
    yes: [],
    no: [{}],
  },
  { name: "none", selector: undefined, yes: [], no: [{}, { app: "x" }] },
  { name: "empty", selector: {}, yes: [], no: [{}, { app: "x" }] },
  { name: "empty parts", selector: { matchLabels: {}, matchExpressions: [] }, yes: [], no: [{}, { app: "x" }] },
  { name: "In without values", selector: on({ ...inAB, values: [] }), yes: [], no: [{}, value("a")] },
  { name: "NotIn without values", selector: on({ ...notInAB, values: [] }), yes: [], no: [{}, value("a")] },
  { name: "Exists with values", selector: on({ ...exists, values: ["a"] }), yes: [], no: [{}, value("a")] },
  { name: "an unknown operator", selector: on({ ...exists, operator: "Gt" as "In" }), yes: [], no: [{}, value("a")] },
  { name: "no label value", selector: on({ ...notInAB, values: ["a b"] }), yes: [], no: [{}, value("c")] },
  { name: "no label key", selector: on({ ...notInAB, key: "a/b/c" }), yes: [], no: [{}] },
  { name: "a key with a prefix", selector: on({ ...exists, key: "x.io/tier" }), yes: [{ "x.io/tier": "1" }], no: [{}] },
];

for (const { name, selector, yes, no } of cases) {
  test(`compile: ${name}`, () => {
    const selects = compile(selector);
    for (const labels of yes) assert.equal(selects(labels), true, JSON.stringify(labels));
    for (const labels of no) assert.equal(selects(labels), false, JSON.stringify(labels));
  });
}

test("a Pod without labels is one with none", () => {
  assert.equal(compile(on(absent))(undefined), true);
  assert.equal(compile(on(exists))(undefined), false);
});

const selector = { matchLabels: { app: "x" } };
const labelled = { "kubernetes.io/metadata.name": "team-a", tier: "a" };

test("compileNamespaces: none given is all, a name is that one, and wins over a selector", () => {
  assert.equal(compileNamespaces({ selector })("team-a", undefined), true);
  assert.equal(compileNamespaces({ selector, namespace: "team-a" })("team-a", undefined), true);
  assert.equal(compileNamespaces({ selector, namespace: "team-b" })("team-a", labelled), false);
  assert.equal(compileNamespaces({ selector, namespace: "" })("team-a", labelled), true);
  assert.equal(compileNamespaces({ selector, namespaceSelector: on(inAB) })("team-a", labelled), true);
  assert.equal(compileNamespaces({ selector, namespaceSelector: on(inAB) })("team-b", {}), false);
  assert.equal(
    compileNamespaces({ selector, namespace: "team-a", namespaceSelector: on(absent) })("team-a", labelled),
    true,
  );
});

test("compileNamespaces: an empty selector selects none", () => {
  assert.equal(compileNamespaces({ selector, namespaceSelector: {} })("team-a", labelled), false);
});

const keys = ["k", "l"];
const values = ["a", "b", "c"];
const requirement = fc.oneof(
  fc.record({
    key: fc.constantFrom(...keys),
    operator: fc.constantFrom("In" as const, "NotIn" as const),
    values: fc.subarray(values, { minLength: 1 }),
  }),
  fc.record({ key: fc.constantFrom(...keys), operator: fc.constantFrom("Exists" as const, "DoesNotExist" as const) }),
);
const possible = [undefined, ...values, "other"];
const allLabels = possible.flatMap((k) => possible.map((l) => ({ ...(k && { k }), ...(l && { l }) }) as Labels));

test("satisfiable is exactly what some labels satisfy, and a negation holds where the requirement does not", () => {
  fc.assert(
    fc.property(fc.array(requirement, { minLength: 1, maxLength: 5 }), (matchExpressions) => {
      const selects = compile({ matchExpressions });
      const requirements = requirementsOf({ matchExpressions }) ?? [];
      assert.equal(isSatisfiable(requirements), allLabels.some(selects));
      for (const one of requirements) {
        const [is, isNot] = [compile(on(one)), compile(on(negationOf(one)))];
        for (const labels of allLabels) assert.notEqual(is(labels), isNot(labels));
      }
    }),
  );
});
