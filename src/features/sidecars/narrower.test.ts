import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { LabelRequirement, LabelSelector } from "../../api/label-selector.ts";
import { isNarrower } from "./narrower.ts";
import { compile, compileNamespaces, type Labels, type Scope } from "./selector.ts";

const on = (operator: LabelRequirement["operator"], ...values: string[]): LabelSelector => ({
  matchExpressions: [{ key: "app", operator, ...(values.length > 0 && { values }) }],
});
const app = (name: string): LabelSelector => ({ matchLabels: { app: name } });
const x: Scope = { selector: app("x") };

const cases: readonly { name: string; before: Scope; after: Scope; narrower: boolean }[] = [
  { name: "the same", before: x, after: x, narrower: true },
  { name: "the same in other words", before: x, after: { selector: on("In", "x") }, narrower: true },
  { name: "a label more", before: x, after: { selector: { matchLabels: { app: "x", tier: "a" } } }, narrower: true },
  { name: "a label less", before: { selector: { matchLabels: { app: "x", tier: "a" } } }, after: x, narrower: false },
  { name: "another value", before: x, after: { selector: app("y") }, narrower: false },
  { name: "fewer values", before: { selector: on("In", "x", "y") }, after: x, narrower: true },
  { name: "more values", before: x, after: { selector: on("In", "x", "y") }, narrower: false },
  {
    name: "more values shut out",
    before: { selector: on("NotIn", "x") },
    after: { selector: on("NotIn", "x", "y") },
    narrower: true,
  },
  {
    name: "fewer values shut out",
    before: { selector: on("NotIn", "x", "y") },
    after: { selector: on("NotIn", "x") },
    narrower: false,
  },
  { name: "a value that was not shut out", before: { selector: on("NotIn", "y") }, after: x, narrower: true },
  { name: "a value where any would do", before: { selector: on("Exists") }, after: x, narrower: true },
  {
    name: "no label at all where one was shut out",
    before: { selector: on("NotIn", "x") },
    after: { selector: on("DoesNotExist") },
    narrower: true,
  },
  { name: "any value for one", before: x, after: { selector: on("Exists") }, narrower: false },
  { name: "a namespace where there was none", before: x, after: { ...x, namespace: "a" }, narrower: true },
  { name: "no namespace where there was one", before: { ...x, namespace: "a" }, after: x, narrower: false },
  { name: "another namespace", before: { ...x, namespace: "a" }, after: { ...x, namespace: "b" }, narrower: false },
  { name: "a selector where there was none", before: x, after: { ...x, namespaceSelector: app("x") }, narrower: true },
  {
    name: "a namespace in place of a selector",
    before: { ...x, namespaceSelector: app("x") },
    after: { ...x, namespace: "a" },
    narrower: false,
  },
  {
    name: "a selector for the one namespace there was",
    before: { ...x, namespace: "a" },
    after: { ...x, namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "a" } } },
    narrower: true,
  },
  {
    name: "a selector that no longer counts",
    before: { ...x, namespaceSelector: app("x") },
    after: { ...x, namespace: "a", namespaceSelector: app("x") },
    narrower: false,
  },
  {
    name: "narrower here, wider there",
    before: { ...x, namespace: "a" },
    after: { selector: { matchLabels: { app: "x", tier: "a" } } },
    narrower: false,
  },
  { name: "out of something that selected nothing", before: { selector: {} }, after: x, narrower: false },
  { name: "in doubt, into something that selects nothing", before: x, after: { selector: {} }, narrower: false },
];

for (const { name, before, after, narrower } of cases) {
  test(`isNarrower: ${name}`, () => assert.equal(isNarrower(after, before), narrower));
}

const values = ["a", "b"];
const requirement = fc.record({
  key: fc.constantFrom("k", "l"),
  operator: fc.constantFrom("In" as const, "NotIn" as const),
  values: fc.subarray(values, { minLength: 1 }),
});
const selector = fc.record({ matchExpressions: fc.array(requirement, { minLength: 1, maxLength: 3 }) });
const scope: fc.Arbitrary<Scope> = fc.record({ selector }, { requiredKeys: ["selector"] }).chain(({ selector: pods }) =>
  fc.oneof(
    fc.constant({ selector: pods }),
    fc.constantFrom("n", "m").map((namespace) => ({ selector: pods, namespace })),
    selector.map((namespaceSelector) => ({ selector: pods, namespaceSelector })),
  ),
);
const possible = [undefined, ...values, "other"];
const allLabels = possible.flatMap((k) => possible.map((l) => ({ ...(k && { k }), ...(l && { l }) }) as Labels));
const namespaces = ["n", "m"].flatMap((name) =>
  allLabels.map((labels) => ({ name, labels: { ...labels, "kubernetes.io/metadata.name": name } })),
);

test("whatever a narrower one selects was selected before", () => {
  fc.assert(
    fc.property(scope, scope, (after, before) => {
      fc.pre(isNarrower(after, before));
      const [pods, formerPods] = [compile(after.selector), compile(before.selector)];
      const [places, formerPlaces] = [compileNamespaces(after), compileNamespaces(before)];
      assert.ok(allLabels.every((labels) => !pods(labels) || formerPods(labels)));
      assert.ok(namespaces.every(({ name, labels }) => !places(name, labels) || formerPlaces(name, labels)));
    }),
    { numRuns: 200, maxSkipsPerRun: 1_000 },
  );
});
