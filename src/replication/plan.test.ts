import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject, ManagedFields, Metadata, OwnerReference } from "../api/objects.ts";
import type { Claim, Owner } from "../ownership/holder.ts";
import { marksOf } from "../ownership/marks.ts";
import { copyRecordOf } from "./copy.ts";
import { planCopy } from "./plan.ts";

const reference: OwnerReference = { apiVersion: "x/v1", kind: "SecretSync", name: "a", uid: "uid-a", controller: true };
const owner: Owner = { uid: "uid-a", title: "SecretSync/a", reference };
const other: Owner = { uid: "uid-b", title: "SecretSync/b", reference: { ...reference, name: "b", uid: "uid-b" } };
const installation: Owner = { uid: "uid-i", title: "Installation", isInstallation: true };
const deployment = { apiVersion: "apps/v1", kind: "Deployment", name: "web", uid: "uid-d", controller: true };
const self = { namespace: "team", name: "db" };
const source = { namespace: "vault", name: "db" };

const fields = (manager: string, ...keys: string[]): ManagedFields => ({
  manager,
  fieldsV1: { "f:data": Object.fromEntries([[".", {}], ...keys.map((key) => [`f:${key}`, {}])]) },
});
const untouched = [fields("latchkey", "password", "user")];
const at = (more: Partial<Metadata>): KubeObject => ({
  metadata: { ...self, uid: "1", resourceVersion: "1", creationTimestamp: "", ...more },
});
const copy = (of: Owner, print: string, managedFields: ManagedFields[], from = source) =>
  at({ ...marksOf(of, self, from, print), managedFields });

const cases: {
  name: string;
  actual: KubeObject | undefined;
  policy?: Claim["onCollision"];
  alive?: boolean;
  step: string;
}[] = [
  { name: "nothing there", actual: undefined, step: "create" },
  { name: "equal", actual: copy(owner, "now", untouched), step: "keep" },
  { name: "the source has changed", actual: copy(owner, "before", untouched), step: "update" },
  {
    name: "another source",
    actual: copy(owner, "now", untouched, { namespace: "vault", name: "old" }),
    step: "update",
  },
  {
    name: "a value edited: its key is somebody else's now",
    actual: copy(owner, "now", [fields("latchkey", "user"), fields("kubectl-edit", "password")]),
    step: "update",
  },
  { name: "a key removed", actual: copy(owner, "now", [fields("latchkey", "user")]), step: "update" },
  { name: "a key added", actual: copy(owner, "now", [...untouched, fields("kubectl-edit", "extra")]), step: "update" },
  { name: "managed fields wiped", actual: copy(owner, "now", []), step: "update" },
  {
    name: "a key of ours that somebody else applied with the same value",
    actual: copy(owner, "now", [...untouched, fields("kubectl", "password")]),
    step: "keep",
  },
  {
    name: "marks missing",
    actual: at({ ...marksOf(owner, self, source, "now"), labels: {}, managedFields: untouched }),
    step: "take",
  },
  { name: "going away", actual: at({ deletionTimestamp: "2026-01-01T00:00:00Z" }), step: "wait" },
  { name: "unmanaged", actual: at({}), step: "collision" },
  { name: "unmanaged", actual: at({}), policy: "adopt-uncontrolled", step: "take" },
  { name: "unmanaged", actual: at({}), policy: "adopt", step: "take" },
  { name: "controlled", actual: at({ ownerReferences: [deployment] }), step: "collision" },
  {
    name: "controlled",
    actual: at({ ownerReferences: [deployment] }),
    policy: "adopt-uncontrolled",
    step: "collision",
  },
  { name: "controlled", actual: at({ ownerReferences: [deployment] }), policy: "adopt", step: "take" },
  { name: "a living SecretSync's", actual: copy(other, "now", untouched), step: "collision" },
  {
    name: "a living SecretSync's without marks",
    actual: at({ ownerReferences: [other.reference!] }),
    policy: "adopt",
    step: "collision",
  },
  {
    name: "a dead SecretSync's, still controlled by it",
    actual: copy(other, "now", untouched),
    alive: false,
    policy: "adopt-uncontrolled",
    step: "collision",
  },
  { name: "a living SecretSync's", actual: copy(other, "now", untouched), policy: "adopt", step: "collision" },
  { name: "a dead SecretSync's", actual: copy(other, "now", untouched), alive: false, step: "collision" },
  { name: "a dead SecretSync's", actual: copy(other, "now", untouched), alive: false, policy: "adopt", step: "take" },
  {
    name: "shared by an installation, which is no SecretSync",
    actual: copy(installation, "now", untouched),
    alive: false,
    policy: "adopt",
    step: "collision",
  },
];

for (const { name, actual, policy = "refuse", alive = true, step } of cases) {
  test(`planCopy: ${name}, ${policy}${alive ? "" : ", owner gone"}: ${step}`, () => {
    const desired = {
      source,
      content: { fingerprint: "now", keys: ["password", "user"] },
      claim: { owner, onCollision: policy },
      isAlive: () => alive,
    };
    assert.equal(planCopy(actual && copyRecordOf(actual), desired).kind, step);
  });
}

const another = { namespace: "vault", name: "other" };
const shared = [
  { name: "nothing there", actual: undefined, step: { kind: "create" } },
  { name: "equal", actual: copy(installation, "now", untouched), step: { kind: "keep" } },
  { name: "the source has changed", actual: copy(installation, "before", untouched), step: { kind: "update" } },
  {
    name: "the copy of another source is never re-pointed",
    actual: copy(installation, "now", untouched, another),
    step: { kind: "collision", holder: "the copy of vault/other" },
  },
  {
    name: "a mark is gone",
    actual: copy({ uid: "uid-i", title: "Installation" }, "now", untouched),
    step: { kind: "collision", holder: "Installation" },
  },
  {
    name: "a SecretSync's",
    actual: copy(owner, "now", untouched),
    step: { kind: "collision", holder: "SecretSync/a" },
  },
  { name: "unmanaged", actual: at({}), step: { kind: "collision", holder: "an unmanaged Secret" } },
];

for (const { name, actual, step } of shared) {
  test(`planCopy for the installation: ${name}: ${step.kind}`, () => {
    const desired = {
      source,
      content: { fingerprint: "now", keys: ["password", "user"] },
      claim: { owner: installation, onCollision: "refuse" as const },
      isAlive: () => true,
    };
    const { actual: _, ...planned } = { actual: undefined, ...planCopy(actual && copyRecordOf(actual), desired) };
    assert.deepEqual(planned, step);
  });
}
