import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Verdict } from "../../runtime/admission.ts";
import { MalformedReviewError, parseReview, responseOf } from "./admission.ts";

const request = {
  uid: "1",
  operation: "CREATE",
  userInfo: { username: "bob", uid: "u", groups: ["a", 1], extra: { scopes: ["x"], odd: "y" } },
  name: "one",
  object: { spec: {} },
  oldObject: null,
  dryRun: true,
};
const reviewOf = (fields: object) => ({
  apiVersion: "admission.k8s.io/v1",
  kind: "AdmissionReview",
  request: { ...request, ...fields },
});

test("a review is read from what the API server sends", () => {
  assert.deepEqual(parseReview(reviewOf({})), {
    uid: "1",
    operation: "CREATE",
    user: { username: "bob", uid: "u", groups: ["a"], extra: { scopes: ["x"], odd: [] } },
    namespace: undefined,
    name: "one",
    object: { spec: {} },
    oldObject: undefined,
    dryRun: true,
  });
});

const refused: readonly (readonly [string, unknown])[] = [
  ["nothing", undefined],
  ["a text", "hello"],
  ["a list", []],
  ["another kind", { ...reviewOf({}), kind: "Pod" }],
  ["an old version", { ...reviewOf({}), apiVersion: "admission.k8s.io/v1beta1" }],
  ["no request", { ...reviewOf({}), request: undefined }],
  ["no uid", reviewOf({ uid: "" })],
  ["an unknown operation", reviewOf({ operation: "CONNECT" })],
  ["no user", reviewOf({ userInfo: undefined })],
  ["a user without a name", reviewOf({ userInfo: { username: "" } })],
];
for (const [name, body] of refused) {
  test(`parseReview refuses ${name}`, () => assert.throws(() => parseReview(body), MalformedReviewError));
}

test("garbage is refused with words that quote none of it", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.jsonValue(),
        fc.jsonValue().map((value) => reviewOf({ userInfo: value, uid: value })),
      ),
      (body) => {
        try {
          parseReview(body);
        } catch (error) {
          assert.ok(error instanceof MalformedReviewError);
          assert.match(error.message, /^the (body|AdmissionReview|request)/u);
        }
      },
    ),
  );
});

const patch = [{ op: "add", path: "/metadata/labels", value: { who: "ä" } }] as const;
const patched = { patchType: "JSONPatch", patch: Buffer.from(JSON.stringify(patch)).toString("base64") };
const forbidden = { code: 403, reason: "Forbidden", message: "no" };
const verdicts: readonly { readonly name: string; readonly verdict: Verdict; readonly response: object }[] = [
  { name: "allowed", verdict: { allowed: true }, response: { allowed: true } },
  {
    name: "allowed with warnings",
    verdict: { allowed: true, warnings: ["careful"] },
    response: { allowed: true, warnings: ["careful"] },
  },
  { name: "no warnings after all", verdict: { allowed: true, warnings: [] }, response: { allowed: true } },
  { name: "changed", verdict: { allowed: true, patch }, response: { allowed: true, ...patched } },
  { name: "nothing to change", verdict: { allowed: true, patch: [] }, response: { allowed: true } },
  {
    name: "changed with warnings",
    verdict: { allowed: true, warnings: ["careful"], patch },
    response: { allowed: true, warnings: ["careful"], ...patched },
  },
  {
    name: "denied",
    verdict: { allowed: false, code: 403, message: "no", warnings: ["careful"] },
    response: { allowed: false, status: forbidden, warnings: ["careful"] },
  },
];
for (const { name, verdict, response } of verdicts) {
  test(`responseOf: ${name}`, () => {
    assert.deepEqual(responseOf("1", verdict), {
      apiVersion: "admission.k8s.io/v1",
      kind: "AdmissionReview",
      response: { uid: "1", ...response },
    });
  });
}
