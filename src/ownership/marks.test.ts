import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject, OwnerReference } from "../api/objects.ts";
import type { JsonPatchOp } from "../kube/client.ts";
import { isProvenOurs, type Owner } from "./holder.ts";
import { markingOperations, marksOf, unmarkingOperations } from "./marks.ts";

const reference: OwnerReference = { apiVersion: "x/v1", kind: "SecretSync", name: "a", uid: "uid-a", controller: true };
const owner: Owner = { uid: "uid-a", title: "SecretSync/a", reference };
const former = { apiVersion: "apps/v1", kind: "Deployment", name: "web", uid: "uid-d", controller: true };
const foreign: KubeObject = {
  metadata: {
    namespace: "team",
    name: "db",
    uid: "1",
    resourceVersion: "1",
    creationTimestamp: "",
    labels: { app: "web" },
    annotations: { note: "theirs" },
    ownerReferences: [former],
  },
};
const marks = marksOf(owner, { namespace: "team", name: "db" }, { namespace: "vault", name: "db" }, "print");

/** What the API server makes of these operations: all of them set one field of the metadata. */
function applied(object: KubeObject, operations: readonly JsonPatchOp[]): KubeObject {
  const changes = operations.map(({ path, value }) => [path.replace("/metadata/", ""), value]);
  return { metadata: { ...object.metadata, ...Object.fromEntries(changes) } };
}

test("marking proves ownership, keeps what others wrote, and leaves one controller", () => {
  const marked = applied(foreign, markingOperations(foreign, marks));
  assert.ok(isProvenOurs(marked, owner));
  assert.equal(marked.metadata.labels?.app, "web");
  assert.equal(marked.metadata.annotations?.note, "theirs");
  assert.deepEqual(marked.metadata.ownerReferences, [{ ...former, controller: false }, reference]);
});

test("marking twice is marking once", () => {
  const once = applied(foreign, markingOperations(foreign, marks));
  assert.deepEqual(applied(once, markingOperations(once, marks)), once);
});

test("unmarking leaves nothing of us and everything of others", () => {
  const marked = applied(foreign, markingOperations(foreign, marks));
  const unmarked = applied(marked, unmarkingOperations(marked, owner));
  assert.deepEqual(unmarked.metadata.labels, { app: "web" });
  assert.deepEqual(unmarked.metadata.annotations, { note: "theirs" });
  assert.deepEqual(unmarked.metadata.ownerReferences, [{ ...former, controller: false }]);
});

test("a copy that the installation shares is marked with the hash of its source, and unmarked of it", () => {
  const installation: Owner = { uid: "uid-i", title: "Installation", isInstallation: true };
  const { ownerReferences: _, ...rest } = foreign.metadata;
  const unowned = { metadata: rest };
  const shared = marksOf(installation, { namespace: "team", name: "db" }, { namespace: "vault", name: "db" }, "print");
  const marked = applied(unowned, markingOperations(unowned, shared));
  assert.ok(isProvenOurs(marked, installation));
  // `printf vault/db | sha256sum`
  assert.equal(marked.metadata.labels?.["latchkey.dev/source-hash"], "89c2abdb9a");
  assert.deepEqual(applied(marked, unmarkingOperations(marked, installation)).metadata.labels, { app: "web" });
});
