import assert from "node:assert/strict";
import { test } from "node:test";
import { isDnsSubdomain } from "../api/dns-names.ts";
import { candidatesOf, literalNameOf, namesToTry } from "./names.ts";

const ref = (namespace: string, name: string) => ({ namespace, name });
/** Of `ns` and a name that makes the literal name this long. */
const ofLength = (length: number, end = "") => ref("ns", "x".repeat(length - 3 - end.length) + end);

// Hashes by `printf <namespace>/<name> | sha256sum`.
const cases = [
  { name: "the usual", source: ref("ns1", "secret1"), candidates: ["ns1-secret1", "ns1-secret1-8ce9617fb4"] },
  { name: "dots stay", source: ref("ns1", "my.reg"), candidates: ["ns1-my.reg", "ns1-my.reg-4bdfcf7fc5"] },
  { name: "a join that coincides", source: ref("a-b", "c"), candidates: ["a-b-c", "a-b-c-4e84717d75"] },
  { name: "with this one", source: ref("a", "b-c"), candidates: ["a-b-c", "a-b-c-b88f83c840"] },
];
for (const { name, source, candidates } of cases) {
  test(`candidatesOf: ${name}`, () => assert.deepEqual(candidatesOf(source), candidates));
}

const lengths = [
  { name: "242 characters: nothing is cut", source: ofLength(242), count: 2, stem: 242 },
  { name: "253 characters: the longest literal name", source: ofLength(253), count: 2, stem: 242 },
  { name: "254 characters: only the suffixed name", source: ofLength(254), count: 1, stem: 242 },
  { name: "the longest there is", source: ref("n".repeat(63), "x".repeat(253)), count: 1, stem: 242 },
  { name: "cut at a dash", source: ofLength(254, `-${"y".repeat(12)}`), count: 1, stem: 241 },
  { name: "cut at a dot", source: ofLength(254, `.${"y".repeat(12)}`), count: 1, stem: 241 },
  { name: "cut after several", source: ofLength(254, `a---${"y".repeat(11)}`), count: 1, stem: 240 },
];
for (const { name, source, count, stem } of lengths) {
  test(`candidatesOf: ${name}`, () => {
    const candidates = candidatesOf(source);
    assert.equal(candidates.length, count);
    assert.equal(candidates.at(-1)?.replace(/-[0-9a-f]{10}$/, ""), literalNameOf(source).slice(0, stem));
    for (const candidate of candidates) assert.ok(isDnsSubdomain(candidate), candidate);
  });
}

test("candidatesOf: sources that are cut alike keep names of their own", () => {
  const [one, other] = [ref("ns", `${"x".repeat(252)}a`), ref("ns", `${"x".repeat(252)}b`)];
  assert.notDeepEqual(candidatesOf(one), candidatesOf(other));
});

const source = ref("a", "b-c");
const [literal = "", suffixed = ""] = candidatesOf(source);
const tries = [
  { name: "no name is carried", names: [literal, suffixed] },
  { name: "Pods carry the suffixed one", carried: [suffixed], names: [suffixed, literal] },
  { name: "Pods carry both", carried: [suffixed, literal], names: [suffixed, literal] },
  { name: "a carried name twice", carried: [literal, literal], names: [literal, suffixed] },
  { name: "a carried name that is no candidate", carried: ["theirs", suffixed], names: [suffixed, literal] },
  { name: "another source has the literal name", reserved: [literal], names: [suffixed] },
  { name: "carried, and reserved for another source", carried: [literal], reserved: [literal], names: [suffixed] },
  { name: "both reserved", carried: [suffixed], reserved: [literal, suffixed], names: [] },
];
for (const { name, carried = [], reserved = [], names } of tries) {
  test(`namesToTry: ${name}`, () => {
    assert.deepEqual(namesToTry({ source, carried, isReserved: (each) => reserved.includes(each) }), names);
  });
}

test("namesToTry: a literal name that is too long is not tried, though somebody carries it", () => {
  const long = ofLength(254);
  const carried = [literalNameOf(long)];
  assert.deepEqual(namesToTry({ source: long, carried, isReserved: () => false }), candidatesOf(long));
});
