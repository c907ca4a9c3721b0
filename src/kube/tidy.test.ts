import assert from "node:assert/strict";
import { test } from "node:test";
import { type KubeObject, leases, type Secret, secrets } from "../api/objects.ts";
import { tidying } from "./tidy.ts";

const metadata = {
  name: "db",
  namespace: "a",
  uid: "u",
  resourceVersion: "1",
  creationTimestamp: "2026-01-01T00:00:00Z",
};
const managedFields = [{ manager: "kubectl" }];
const secret: Secret = { metadata: { ...metadata, managedFields }, type: "Opaque", data: { password: "b3Blbg==" } };

test("tidying drops managedFields and says what kind the object is", () => {
  const tidy = tidying({ resource: secrets })(secret) as Secret;
  assert.equal(tidy.metadata.managedFields, undefined);
  assert.deepEqual(
    { ...tidy, metadata: undefined },
    { ...secret, apiVersion: "v1", kind: "Secret", metadata: undefined },
  );
  assert.deepEqual(secret.metadata.managedFields, managedFields, "the object given is the caller's and stays as it is");
});

test("tidying keeps managedFields where they are wanted", () => {
  assert.deepEqual(
    tidying({ resource: secrets, keepManagedFields: true })(secret).metadata.managedFields,
    managedFields,
  );
});

test("tidying for a cache of metadata keeps no secret bytes", () => {
  const tidy = tidying({ resource: secrets, metadataOnly: true })(secret);
  assert.deepEqual(Object.keys(tidy).sort(), ["apiVersion", "kind", "metadata"]);
});

test("tidying gives metadata the type of the kind they are of", () => {
  const partial: KubeObject = { apiVersion: "meta.k8s.io/v1", kind: "PartialObjectMetadata", metadata };
  const { apiVersion, kind } = tidying({ resource: leases, metadataOnly: true })(partial);
  assert.deepEqual({ apiVersion, kind }, { apiVersion: "coordination.k8s.io/v1", kind: "Lease" });
});
