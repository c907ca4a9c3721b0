import assert from "node:assert/strict";
import { test } from "node:test";
import type { SecretSync } from "../../api/secret-sync.ts";
import { rightsFor } from "./admission.ts";

const sync = (src: string, ...dest: string[]): SecretSync => ({
  metadata: { name: "s", uid: "u", resourceVersion: "1", creationTimestamp: "" },
  spec: { paused: false, strategy: { watch: {} }, src: ref(src), dest: dest.map(ref) },
});
function ref(text: string) {
  const [namespace = "", name = ""] = text.split("/");
  return { namespace, name };
}

const cases = [
  { name: "new", before: undefined, after: sync("v/s", "a/x"), rights: ["get v/s", "create a", "update a"] },
  {
    name: "one namespace asked for once",
    before: undefined,
    after: sync("v/s", "a/x", "a/y"),
    rights: ["get v/s", "create a", "update a"],
  },
  { name: "nothing added", before: sync("v/s", "a/x"), after: sync("v/s", "a/x"), rights: [] },
  { name: "another name in a known namespace", before: sync("v/s", "a/x"), after: sync("v/s", "a/y"), rights: [] },
  { name: "a destination less", before: sync("v/s", "a/x", "b/x"), after: sync("v/s", "b/x"), rights: [] },
  {
    name: "a namespace more",
    before: sync("v/s", "a/x"),
    after: sync("v/s", "a/x", "b/x"),
    rights: ["create b", "update b"],
  },
  { name: "another source", before: sync("v/s", "a/x"), after: sync("v/t", "a/x"), rights: ["get v/t"] },
];

for (const { name, before, after, rights } of cases) {
  test(`rightsFor: ${name}`, () => {
    const asked = rightsFor(after, before).map(
      (right) => `${right.verb} ${right.namespace}${right.name ? `/${right.name}` : ""}`,
    );
    assert.deepEqual(asked, rights);
  });
}
