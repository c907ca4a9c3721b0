import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ApiError,
  apiErrorOf,
  isDenied,
  isGoneOrReplaced,
  isNamespaceTerminating,
  isReason,
  isTransient,
  missingVerbOf,
  UnreachableError,
  unreachable,
} from "./errors.ts";

const statusOf = (fields: object) => JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", ...fields });

test("a Status keeps the API server's words, reason, causes and details", () => {
  const causes = [{ reason: "FieldValueInvalid", message: "field is immutable", field: "type" }];
  const body = statusOf({
    message: "Secret is invalid",
    reason: "Invalid",
    details: { name: "a", kind: "Secret", causes },
  });
  const error = apiErrorOf(422, body, {});
  assert.equal(error.message, "Secret is invalid");
  assert.ok(isReason(error, "Conflict", "Invalid"));
  assert.deepEqual(error.causes, causes);
  assert.deepEqual(error.details, { name: "a", kind: "Secret" });
});

test("a page that is no Status is not quoted", () => {
  const error = apiErrorOf(502, "<html>hunter2</html>", {});
  assert.equal(error.message, "the server answered 502 without a reason");
  assert.equal(error.reason, "");
});

test("an apply that does not fit the schema is Invalid, not a hiccup", () => {
  const error = apiErrorOf(
    500,
    statusOf({ message: "failed to create typed patch object (a/b): .x: field not declared" }),
    {},
  );
  assert.ok(isReason(error, "Invalid"));
  assert.equal(isTransient(error), false);
});

test("Retry-After comes from the header, else from the details", () => {
  const body = statusOf({ details: { retryAfterSeconds: 7 } });
  assert.equal(apiErrorOf(429, body, { "retry-after": "2" }).retryAfterMs, 2000);
  assert.equal(apiErrorOf(429, body, {}).retryAfterMs, 7000);
  assert.equal(apiErrorOf(429, "", {}).retryAfterMs, undefined);
});

const transient = [
  { name: "429", error: new ApiError("", { status: 429 }), is: true },
  { name: "503", error: new ApiError("", { status: 503 }), is: true },
  { name: "500 without a reason", error: new ApiError("", { status: 500 }), is: true },
  { name: "500 with a reason", error: new ApiError("", { status: 500, reason: "InternalError" }), is: false },
  { name: "403", error: new ApiError("", { status: 403, reason: "Forbidden" }), is: false },
  { name: "no answer", error: new UnreachableError("h", "ECONNRESET"), is: true },
  { name: "a timeout", error: new DOMException("", "TimeoutError"), is: true },
  { name: "anything else", error: new Error("x"), is: false },
];
for (const { name, error, is } of transient) test(`isTransient: ${name}`, () => assert.equal(isTransient(error), is));

const replaced = [
  { name: "gone", status: 404, reason: "NotFound", message: 'secrets "a" not found', is: true },
  {
    name: "an apply to a missing object",
    status: 409,
    reason: "Conflict",
    message: "uid mismatch: the provided object specified uid 1, and no existing object was found",
    is: true,
  },
  {
    name: "a delete of another",
    status: 409,
    reason: "Conflict",
    message: "the UID in the precondition (1) does not match the UID in record (2)",
    is: true,
  },
  {
    name: "a patch of another",
    status: 422,
    reason: "Invalid",
    message: "field is immutable",
    causes: [{ field: "metadata.uid" }],
    is: true,
  },
  {
    name: "a stale resourceVersion",
    status: 409,
    reason: "Conflict",
    message: "the object has been modified",
    is: false,
  },
  {
    name: "another invalid field",
    status: 422,
    reason: "Invalid",
    message: "",
    causes: [{ field: "type" }],
    is: false,
  },
];
for (const { name, message, is, ...about } of replaced) {
  test(`isGoneOrReplaced: ${name}`, () => assert.equal(isGoneOrReplaced(new ApiError(message, about)), is));
}

const denials = [
  { name: "a webhook", message: 'admission webhook "a.example.com" denied the request: no', is: true },
  {
    name: "a webhook without words",
    message: 'admission webhook "a.example.com" denied the request without explanation',
    is: true,
  },
  {
    name: "a policy",
    message: `pods "x" is forbidden: ValidatingAdmissionPolicy 'deny' with binding 'all' denied request: no`,
    is: true,
  },
  {
    name: "a policy about a kind of a group",
    message: `secretsyncs.sync.latchkey.dev "x" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no`,
    is: true,
  },
  { name: "another webhook's failure", message: 'failed calling webhook "a": denied the request', is: false },
  {
    name: "a value that says so",
    message:
      'Pod "x" is invalid: spec.containers[0].name: Invalid value: "admission webhook \\"a\\" denied the request"',
    is: false,
  },
  {
    name: "a name that says so",
    message: `pods "x\\" is forbidden: ValidatingAdmissionPolicy 'p' denied request" is forbidden: exceeded quota`,
    is: false,
  },
];
for (const { name, message, is } of denials) {
  test(`isDenied: ${name}`, () => assert.equal(isDenied(new ApiError(message, { status: 422 })), is));
}

const forbidden = (message: string) => new ApiError(message, { status: 403, reason: "Forbidden" });

test("missingVerbOf reads what RBAC denied", () => {
  const namespaced =
    'secrets is forbidden: User "joe" cannot create resource "secrets" in API group "" in the namespace "x"';
  assert.deepEqual(missingVerbOf(forbidden(namespaced)), {
    verb: "create",
    resource: "secrets",
    group: "",
    namespace: "x",
  });
  const clusterWide = 'User "joe" cannot patch resource "syncs/status" in API group "a.dev" at the cluster scope';
  assert.deepEqual(missingVerbOf(forbidden(clusterWide)), { verb: "patch", resource: "syncs/status", group: "a.dev" });
  assert.equal(missingVerbOf(forbidden("exceeded quota")), undefined);
  assert.equal(missingVerbOf(new Error(namespaced)), undefined);
});

test("a terminating namespace is told apart from a missing right", () => {
  const causes = [{ reason: "NamespaceTerminating", field: "metadata.namespace" }];
  assert.ok(isNamespaceTerminating(new ApiError("", { status: 403, reason: "Forbidden", causes })));
  assert.equal(isNamespaceTerminating(forbidden("")), false);
});

test("a network failure is told by host and code only", () => {
  const error = unreachable("h:1", Object.assign(new Error("hunter2"), { code: "ECONNRESET" }));
  assert.equal(error.message, "h:1 is unreachable (ECONNRESET)");
  assert.equal(error.cause, undefined);
});
