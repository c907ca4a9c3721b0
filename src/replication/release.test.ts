import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject, Metadata, OwnerReference } from "../api/objects.ts";
import type { Owner } from "../ownership/holder.ts";
import { marksOf } from "../ownership/marks.ts";
import { planRelease } from "./release.ts";

const reference: OwnerReference = { apiVersion: "x/v1", kind: "SecretSync", name: "a", uid: "uid-a", controller: true };
const owner: Owner = { uid: "uid-a", title: "SecretSync/a", reference };
const self = { namespace: "team", name: "db" };
const marks = marksOf(owner, self, { namespace: "vault", name: "db" }, "print");
const at = (more: Partial<Metadata>): KubeObject => ({
  metadata: { ...self, uid: "1", resourceVersion: "1", creationTimestamp: "", ...more },
});

const cases = [
  { name: "ours", copy: at({ ...marks }), occasion: "owner-leaves", plan: "delete" },
  { name: "ours, to be orphaned", copy: at({ ...marks }), occasion: "owner-orphans", plan: "unmark" },
  {
    name: "the garbage collector took the reference",
    copy: at({ ...marks, ownerReferences: [] }),
    occasion: "owner-leaves",
    plan: "unmark",
  },
  { name: "labels gone", copy: at({ ...marks, labels: {} }), occasion: "owner-leaves", plan: "leave" },
  { name: "pasted, nobody leaves", copy: at({ ...marks, name: "mine" }), occasion: "unwanted", plan: "leave" },
  { name: "pasted with our reference", copy: at({ ...marks, name: "mine" }), occasion: "owner-leaves", plan: "unmark" },
  {
    name: "pasted without our reference",
    copy: at({ ...marks, name: "mine", ownerReferences: [] }),
    occasion: "owner-leaves",
    plan: "leave",
  },
  { name: "its place is not wanted", copy: at({ ...marks }), occasion: "unwanted", plan: "delete" },
  {
    name: "going away already",
    copy: at({ ...marks, deletionTimestamp: "now" }),
    occasion: "owner-leaves",
    plan: "leave",
  },
  { name: "foreign", copy: at({}), occasion: "owner-orphans", plan: "leave" },
] as const;

for (const { name, copy, occasion, plan } of cases) {
  test(`planRelease: ${name}`, () => assert.equal(planRelease(copy, owner, occasion), plan));
}
