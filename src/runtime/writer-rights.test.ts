import assert from "node:assert/strict";
import { test } from "node:test";
import { describeMissing, secretRight } from "./writer-rights.ts";

test("a denial names every missing right", () => {
  const missing = [
    secretRight("get", { namespace: "v", name: "s" }),
    secretRight("create", { namespace: "a" }),
    secretRight("update", { namespace: "a" }),
  ];
  assert.equal(
    describeMissing("jane", missing, "SecretSync"),
    'user "jane" may not get Secret v/s, create Secrets in namespace a, update Secrets in namespace a: ' +
      "who writes a SecretSync needs these rights himself",
  );
});
