import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError, UnreachableError } from "../../kube/errors.ts";
import { failureOf } from "./reachability.ts";

const server = "https://c1.example:6443";
const silence = `no answer from ${server} for 10 s: `;
const secretive = "hunter2";
const forbidden = (message: string) => new ApiError(message, { status: 403, reason: "Forbidden" });
const lost = (code: string) => new UnreachableError("c1.example:6443", code);

const cases: readonly [name: string, error: unknown, kind: string, message: string][] = [
  ["nobody listens", lost("ECONNREFUSED"), "unreachable", `${silence}connection refused`],
  ["the connection breaks", lost("ECONNRESET"), "unreachable", `${silence}connection reset`],
  ["nobody answers", lost("TimeoutError"), "unreachable", `${silence}timed out`],
  ["our own deadline", new DOMException("x", "TimeoutError"), "unreachable", `${silence}timed out`],
  ["no such name", lost("ENOTFOUND"), "unreachable", `${silence}no such host`],
  ["an unknown authority", lost("UNABLE_TO_VERIFY_LEAF_SIGNATURE"), "unreachable", `${silence}certificate not trusted`],
  [
    "a certificate of another host",
    lost("ERR_TLS_CERT_ALTNAME_INVALID"),
    "unreachable",
    `${silence}certificate is for another host`,
  ],
  ["something new", lost("ESOMETHING"), "unreachable", `${silence}ESOMETHING`],
  ["a server in trouble", new ApiError(secretive, { status: 503 }), "unreachable", `${silence}it answers 503`],
  ["a surprise", new Error(secretive), "unreachable", `${silence}failed`],
  [
    "credentials refused",
    new ApiError(secretive, { status: 401, reason: "Unauthorized" }),
    "unauthorized",
    `${server} refuses the credentials of the kubeconfig`,
  ],
  [
    "a right that is missing",
    forbidden(
      'namespaces "x" is forbidden: User "u" cannot get resource "namespaces" in API group "" at the cluster scope',
    ),
    "forbidden",
    "cannot get namespaces: the kubeconfig's user lacks the verb get on namespaces",
  ],
  ["a refusal in other words", forbidden(secretive), "forbidden", `${server} refuses to answer the kubeconfig's user`],
];

for (const [name, error, kind, message] of cases) {
  test(`failureOf: ${name}`, () => assert.deepEqual(failureOf(error, server), { kind, message }));
}
