import assert from "node:assert/strict";
import { test } from "node:test";
import { parseReferences } from "./references.ts";

const many = (count: number) => Array.from({ length: count }, (_, index) => `ns/s${index}`);
/** Sixteen entries, padded with blanks to this length. */
const padded = (length: number) => many(16).join(",").padEnd(length);

const accepted = [
  { name: "an empty value means absent", text: "", keys: [] },
  { name: "one", text: "ns1/secret1", keys: ["ns1/secret1"] },
  { name: "two, in order", text: "ns2/b,ns1/a", keys: ["ns2/b", "ns1/a"] },
  { name: "blanks around an entry", text: "\tns1/a , ns2/b\n", keys: ["ns1/a", "ns2/b"] },
  { name: "a name with dots", text: "ns1/my.registry.example", keys: ["ns1/my.registry.example"] },
  {
    name: "no namespace where one is told",
    text: "a, ns1/a",
    defaultNamespace: "default",
    keys: ["default/a", "ns1/a"],
  },
  {
    name: "the longest names",
    text: `${"n".repeat(63)}/${"s".repeat(253)}`,
    keys: [`${"n".repeat(63)}/${"s".repeat(253)}`],
  },
  { name: "16 entries", text: many(16).join(","), keys: many(16) },
  { name: "4,096 characters", text: padded(4_096), keys: many(16) },
];
for (const { name, text, keys, ...options } of accepted) {
  test(`parseReferences: ${name}`, () => {
    const parsed = parseReferences(text, options);
    assert.ok("references" in parsed, JSON.stringify(parsed));
    assert.deepEqual(
      parsed.references.map((reference) => `${reference.namespace}/${reference.name}`),
      keys,
    );
  });
}

const unnamed = (entry: string) => `"${entry}" does not name a Secret`;
const refused = [
  { name: "blanks alone", text: " ", objection: "an entry is empty" },
  { name: "a comma too many", text: "ns1/a,", objection: "an entry is empty" },
  { name: "two commas", text: "ns1/a,,ns2/b", objection: "an entry is empty" },
  { name: "no namespace", text: "ns1/a, b", objection: '"b" needs a namespace: <namespace>/<name>' },
  { name: "an empty namespace", text: "/a", defaultNamespace: "default", objection: unnamed("/a") },
  { name: "an empty name", text: "ns1/", objection: unnamed("ns1/") },
  { name: "a third part", text: "ns1/a/b", objection: unnamed("ns1/a/b") },
  { name: "a blank inside", text: "ns1 /a", objection: unnamed("ns1 /a") },
  { name: "another separator", text: "ns1/a;ns2/b", objection: unnamed("ns1/a;ns2/b") },
  { name: "capitals", text: "ns1/Secret", objection: unnamed("ns1/Secret") },
  { name: "a dot in the namespace", text: "n.s/a", objection: unnamed("n.s/a") },
  { name: "a dash at the end", text: "ns1/a-", objection: unnamed("ns1/a-") },
  { name: "a namespace of 64", text: `${"n".repeat(64)}/s`, objection: unnamed("n".repeat(64)) },
  { name: "a name of 254", text: `ns/${"s".repeat(254)}`, objection: unnamed(`ns/${"s".repeat(61)}`) },
  { name: "a duplicate", text: "ns1/a, ns2/b, ns1/a", objection: '"ns1/a" is there twice' },
  {
    name: "a duplicate by the default namespace",
    text: "default/a,a",
    defaultNamespace: "default",
    objection: '"a" is there twice',
  },
  { name: "17 entries", text: many(17).join(","), objection: "17 entries are more than 16" },
  { name: "4,097 characters", text: padded(4_097), objection: "4097 characters are more than 4096" },
  { name: "only the offending entry is quoted", text: "ns1/a,ns/!,ns2/b", objection: unnamed("ns/!") },
];
for (const { name, text, objection, ...options } of refused) {
  test(`parseReferences refuses ${name}`, () => assert.deepEqual(parseReferences(text, options), { objection }));
}
