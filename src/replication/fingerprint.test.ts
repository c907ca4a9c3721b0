import assert from "node:assert/strict";
import { test } from "node:test";
import { fingerprintWith } from "./fingerprint.ts";

const print = fingerprintWith(Buffer.alloc(32, 1));

test("the order of keys does not matter", () => {
  assert.equal(print("Opaque", { a: "MQ==", b: "Mg==" }), print("Opaque", { b: "Mg==", a: "MQ==" }));
});

const base = print("Opaque", { a: "MQ==" });
const others = [
  { name: "another value", print: print("Opaque", { a: "Mg==" }) },
  { name: "another key", print: print("Opaque", { b: "MQ==" }) },
  { name: "another type", print: print("kubernetes.io/tls", { a: "MQ==" }) },
  { name: "a further key", print: print("Opaque", { a: "MQ==", b: "" }) },
  { name: "another installation's key", print: fingerprintWith(Buffer.alloc(32, 2))("Opaque", { a: "MQ==" }) },
];
for (const other of others) test(`differs with ${other.name}`, () => assert.notEqual(other.print, base));
