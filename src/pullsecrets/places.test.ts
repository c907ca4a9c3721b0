import assert from "node:assert/strict";
import { test } from "node:test";
import type { NamespacedRef } from "../api/objects.ts";
import type { CopyRecord } from "../replication/copy.ts";
import type { CopyResult } from "../replication/ensure.ts";
import { candidatesOf } from "./names.ts";
import { isTrouble, needsOf, placeOf, tryNames } from "./places.ts";

const source = { namespace: "ns1", name: "secret1" };
const [literal = "", suffixed = ""] = candidatesOf(source);
const named = (name: string): CopyRecord => ({
  metadata: { name, namespace: "app", uid: "1", resourceVersion: "1", creationTimestamp: "" },
  ownKeys: [],
  hasOtherKeys: false,
});

const needs: {
  name: string;
  carried?: string[];
  present?: string;
  reserved?: string[];
  names: string[];
}[] = [
  { name: "nothing is known", names: [literal, suffixed] },
  { name: "Pods carry the other name", carried: [suffixed], names: [suffixed, literal] },
  { name: "Pods carry a name that no copy can have", carried: ["root"], names: [literal, suffixed] },
  { name: "the copy that is there comes first", carried: [literal], present: suffixed, names: [suffixed, literal] },
  { name: "somebody counts on the literal name", reserved: [literal], names: [suffixed] },
  { name: "but not away from a copy that is there", reserved: [literal], present: literal, names: [literal, suffixed] },
  { name: "somebody counts on both", reserved: [literal, suffixed], names: [] },
];
for (const { name, carried = [], present, reserved = [], names } of needs) {
  test(`needsOf: ${name}`, () => {
    const standing = new Map(present ? [["app", named(present)]] : []);
    const wanted = new Map([["app", carried]]);
    const isReserved = ({ namespace, name }: NamespacedRef) => namespace === "app" && reserved.includes(name);
    assert.deepEqual(needsOf({ source, wanted, standing, isReserved }), [{ namespace: "app", names }]);
  });
}

const target = (name: string) => ({ namespace: "app", name });
const held: CopyResult = { target: target(literal), kind: "collision", holder: "an unmanaged Secret" };
const results: { result: CopyResult | undefined; place: string; isTrouble?: true; tries: string[] }[] = [
  { result: { target: target(literal), kind: "current", isWritten: true }, place: "copied", tries: [literal] },
  { result: held, place: "collision", isTrouble: true, tries: [literal, suffixed] },
  {
    result: { target: target(literal), kind: "leaving" },
    place: "collision",
    isTrouble: true,
    tries: [literal, suffixed],
  },
  {
    result: { target: target(literal), kind: "refused", message: "no" },
    place: "refused",
    isTrouble: true,
    tries: [literal],
  },
  { result: { target: target(literal), kind: "unfinished", message: "busy" }, place: "pending", tries: [literal] },
  { result: { target: target(literal), kind: "namespace-missing" }, place: "pending", tries: [literal] },
  { result: { target: target(literal), kind: "namespace-terminating" }, place: "pending", tries: [literal] },
];
for (const { result, place, isTrouble: troubles = false, tries } of results) {
  test(`a name that ends ${result?.kind}: ${tries.length} tried, the place is ${place}`, async () => {
    const tried: string[] = [];
    const last = await tryNames([{ namespace: "app", names: [literal, suffixed] }], async (targets) => {
      tried.push(...targets.map(({ name }) => name));
      return targets.map((each) => ({ ...result, target: each }) as CopyResult);
    });
    assert.deepEqual(tried, tries);
    const came = placeOf(source, last.get("app"));
    assert.equal(came.kind, place);
    assert.equal(isTrouble(came), troubles);
  });
}

const pending: { name: string; result: CopyResult; message?: string }[] = [
  { name: "somebody was quicker", result: { target: target(literal), kind: "unfinished", message: "changes" } },
  {
    name: "a conflict",
    result: { target: target(literal), kind: "unfinished", message: "conflict", isFailure: false },
  },
  {
    name: "the server failed",
    result: { target: target(literal), kind: "unfinished", message: "no webhook", isFailure: true },
    message: "no webhook",
  },
];
for (const { name, result, message } of pending) {
  test(`what is told of a copy that is still to come: ${name}`, () => {
    assert.deepEqual(placeOf(source, result), { kind: "pending", ...(message !== undefined && { message }) });
  });
}

test("the next name is tried only where the one before is held, in one round for all namespaces", async () => {
  const rounds: string[][] = [];
  const all = ["a", "b", "c"].map((namespace) => ({ namespace, names: [literal, suffixed] }));
  const last = await tryNames([...all, { namespace: "d", names: [] }], async (targets) => {
    rounds.push(targets.map(({ namespace, name }) => `${namespace}/${name}`));
    return targets.map(
      (each): CopyResult =>
        each.namespace !== "a" && each.name === literal
          ? { target: each, kind: "collision", holder: "x" }
          : { target: each, kind: "current", isWritten: true },
    );
  });
  assert.deepEqual(rounds, [
    [`a/${literal}`, `b/${literal}`, `c/${literal}`],
    [`b/${suffixed}`, `c/${suffixed}`],
  ]);
  assert.deepEqual(placeOf(source, last.get("a")), { kind: "copied", name: literal });
  assert.deepEqual(placeOf(source, last.get("b")), { kind: "copied", name: suffixed });
  assert.deepEqual(placeOf(source, last.get("d")), { kind: "collision", names: [literal, suffixed] });
});
