import assert from "node:assert/strict";
import { test } from "node:test";
import { crds, namespaces, secrets } from "../api/objects.ts";
import { collectionPath, objectPath, withQuery } from "./paths.ts";

const cases = [
  {
    name: "core, in a namespace",
    path: objectPath(secrets, { namespace: "a", name: "b" }),
    is: "/api/v1/namespaces/a/secrets/b",
  },
  { name: "core, in all namespaces", path: collectionPath(secrets), is: "/api/v1/secrets" },
  { name: "cluster-scoped", path: objectPath(namespaces, { name: "a" }), is: "/api/v1/namespaces/a" },
  {
    name: "a group and a subresource",
    path: objectPath(crds, { name: "x.y" }, "status"),
    is: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/x.y/status",
  },
  {
    name: "a name cannot leave its place",
    path: objectPath(namespaces, { name: "../x" }),
    is: "/api/v1/namespaces/..%2Fx",
  },
  {
    name: "what is not asked for is left out",
    path: withQuery("/p", { a: undefined, b: false, c: "", labelSelector: "x=y,z", limit: 0, watch: true }),
    is: "/p?labelSelector=x%3Dy%2Cz&limit=0&watch=true",
  },
];
for (const { name, path, is } of cases) test(`path: ${name}`, () => assert.equal(path, is));

test("an object of a namespaced kind needs its namespace: without it the path would be another's", () => {
  assert.throws(() => objectPath(secrets, { name: "b" }), /needs a namespace/);
  assert.throws(() => objectPath(namespaces, { name: "" }), /needs a name/);
});
