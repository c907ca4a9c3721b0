import assert from "node:assert/strict";
import { test } from "node:test";
import { fingerprintAnnotation } from "../api/marks.ts";
import { fingerprintWith } from "./fingerprint.ts";
import { isSealed, printOf, sealedPrint } from "./seal.ts";

const fingerprint = fingerprintWith(Buffer.from("key"));
const source = { namespace: "vault", name: "db" };
const place = { namespace: "team", name: "vault-db" };
const print = fingerprint("Opaque", { password: "c2VjcmV0" });
const good = sealedPrint(print, place, source, fingerprint);
const marked = (mark: string) => ({
  metadata: {
    ...{ ...place, uid: "1", resourceVersion: "1", creationTimestamp: "" },
    annotations: { [fingerprintAnnotation]: mark },
  },
});

const cases = [
  { name: "by us, here, from this source", mark: good, sealed: true },
  {
    name: "from another source",
    mark: sealedPrint(print, place, { ...source, name: "x" }, fingerprint),
    sealed: false,
  },
  {
    name: "taken from a copy elsewhere",
    mark: sealedPrint(print, { ...place, namespace: "x" }, source, fingerprint),
    sealed: false,
  },
  { name: "by another key", mark: sealedPrint(print, place, source, fingerprintWith(Buffer.from("x"))), sealed: false },
  { name: "for another content", mark: `x.${good.split(".")[1]}`, sealed: false },
  { name: "a fingerprint without a seal", mark: print, sealed: false },
  { name: "nothing", mark: "", sealed: false },
];
for (const { name, mark, sealed } of cases) {
  test(`isSealed: ${name}: ${sealed}`, () => assert.equal(isSealed(marked(mark), source, fingerprint), sealed));
}

test("the content is told all the same", () => {
  assert.equal(printOf(good), print);
  assert.equal(printOf(print), print);
});
