import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Naming, parseRecord, recordDataOf } from "./record.ts";

const naming: Naming = {
  names: ["kubermatic-hub", "", "kubermatic-quay"],
  special: new Map([
    ["web", ["kubermatic-hub-1a2b", "", "kubermatic-quay"]],
    ["app", []],
  ]),
  exempt: new Map([["app", ["builder", "deploy.er"]]]),
};
const data = {
  "exempt.app": "builder\ndeploy.er",
  names: "kubermatic-hub\n\nkubermatic-quay",
  "names.app": "",
  "names.web": "kubermatic-hub-1a2b\n\nkubermatic-quay",
};

test("recordDataOf: a line a reference, a key a namespace, in a fixed order", () => {
  assert.equal(JSON.stringify(recordDataOf(naming)), JSON.stringify(data));
});

test("parseRecord: what was recorded", () => assert.deepEqual(parseRecord(data), naming));

const nothing: Naming = { names: [], special: new Map(), exempt: new Map() };
const edits: readonly { name: string; data: Record<string, string> | undefined; naming: Partial<Naming> }[] = [
  { name: "no data at all", data: undefined, naming: {} },
  { name: "no key `names`", data: {}, naming: {} },
  {
    name: "a line that is no name keeps its place",
    data: { names: "a\nB!\n'\nb" },
    naming: { names: ["a", "", "", "b"] },
  },
  {
    name: "keys of another shape",
    data: { name: "a", "names.": "a", "names.a.b": "a", "exempt.A": "a", x: "" },
    naming: {},
  },
  {
    name: "an account that cannot be",
    data: { "exempt.app": "a\n\nb c\nd" },
    naming: { exempt: new Map([["app", ["a", "d"]]]) },
  },
  { name: "a special list that is none", data: { "names.app": "?" }, naming: { special: new Map([["app", [""]]]) } },
  { name: "lines without end", data: { names: "a\n".repeat(10_000) }, naming: { names: Array(64).fill("a") } },
];
for (const { name, data, naming } of edits) {
  test(`parseRecord: ${name}`, () => assert.deepEqual(parseRecord(data), { ...nothing, ...naming }));
}

test("every naming comes back as it was recorded", () => {
  const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?$/);
  const name = fc.array(label, { minLength: 1, maxLength: 3 }).map((labels) => labels.join("."));
  const names = fc
    .array(fc.oneof(name, fc.constant("")), { maxLength: 16 })
    .filter((list) => list.join("\n") !== "" || list.length === 0);
  const lists = <T>(list: fc.Arbitrary<T>) => fc.array(fc.tuple(label, list)).map((entries) => new Map(entries));
  const namings = fc.record({ names, special: lists(names), exempt: lists(fc.array(name)) }, { noNullPrototype: true });
  fc.assert(fc.property(namings, (naming) => assert.deepEqual(parseRecord(recordDataOf(naming)), naming)));
});

test("whatever a record holds can be read and recorded again", () => {
  const key = fc.oneof(
    fc.string(),
    fc.string().map((text) => `names.${text}`),
    fc.string().map((text) => `exempt.${text}`),
    fc.constant("names"),
  );
  fc.assert(
    fc.property(fc.dictionary(key, fc.string()), (data) => {
      const { names, special, exempt } = parseRecord(data);
      assert.ok(names.length <= 64 && special.size + exempt.size <= Object.keys(data).length);
      recordDataOf({ names, special, exempt });
    }),
  );
});
