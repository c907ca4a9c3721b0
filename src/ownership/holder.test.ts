import assert from "node:assert/strict";
import { test } from "node:test";
import {
  managedByLabel,
  ownerAnnotation,
  ownerUidLabel,
  selfAnnotation,
  sourceAnnotation,
  sourceHashLabel,
} from "../api/marks.ts";
import type { KubeObject, Metadata, OwnerReference } from "../api/objects.ts";
import { describeSource, holderOf, isProvenOurs, type Owner } from "./holder.ts";
import { sourceHashOf } from "./source-hash.ts";

const reference: OwnerReference = { apiVersion: "x/v1", kind: "SecretSync", name: "a", uid: "uid-a", controller: true };
const owner: Owner = { uid: "uid-a", title: "SecretSync/a", reference };
const installation: Owner = { uid: "uid-i", title: "Installation", isInstallation: true };

const labels = (uid: string) => ({ [managedByLabel]: "latchkey", [ownerUidLabel]: uid });
const annotations = (title: string, self = "team/db") => ({
  [ownerAnnotation]: title,
  [sourceAnnotation]: "vault/db",
  [selfAnnotation]: self,
});
const at = (more: Partial<Metadata>): KubeObject => ({
  metadata: { namespace: "team", name: "db", uid: "1", resourceVersion: "1", creationTimestamp: "", ...more },
});
const ours = { labels: labels("uid-a"), annotations: annotations("SecretSync/a"), ownerReferences: [reference] };
const deployment = { apiVersion: "apps/v1", kind: "Deployment", name: "web", uid: "uid-d", controller: true };
const none = "an unmanaged Secret";

const cases = [
  { name: "all marks and the reference", metadata: ours, held: { kind: "ours" }, proven: true },
  {
    name: "the reference, labels gone",
    metadata: { ...ours, labels: {} },
    held: { kind: "damaged" },
    proven: false,
  },
  {
    name: "the reference, annotations gone",
    metadata: { ...ours, annotations: {} },
    held: { kind: "damaged" },
    proven: false,
  },
  {
    name: "all marks, the reference gone",
    metadata: { ...ours, ownerReferences: [] },
    held: { kind: "damaged" },
    proven: false,
  },
  {
    name: "nothing left of us",
    metadata: {},
    held: { kind: "foreign", holder: none, isControlled: false },
    proven: false,
  },
  {
    name: "pasted from another copy, reference and all",
    metadata: { ...ours, annotations: annotations("SecretSync/a", "other/db") },
    held: { kind: "foreign", holder: "a Secret with the marks of another one", isControlled: true },
    proven: false,
  },
  {
    name: "our marks under somebody else's controller",
    metadata: { ...ours, ownerReferences: [deployment] },
    held: { kind: "foreign", holder: "Deployment/web", isControlled: true },
    proven: false,
  },
  {
    name: "controlled by something else",
    metadata: { ownerReferences: [deployment] },
    held: { kind: "foreign", holder: "Deployment/web", isControlled: true },
    proven: false,
  },
  {
    name: "an owner that is no controller",
    metadata: { ownerReferences: [{ ...deployment, controller: false }] },
    held: { kind: "foreign", holder: none, isControlled: false },
    proven: false,
  },
  {
    name: "another SecretSync's",
    metadata: { labels: labels("uid-b"), annotations: annotations("SecretSync/b") },
    held: { kind: "another's", uid: "uid-b", holder: "SecretSync/b", isControlled: false },
    proven: false,
  },
  {
    name: "controlled by another SecretSync, all marks gone",
    metadata: { ownerReferences: [{ ...reference, name: "b", uid: "uid-b" }] },
    held: { kind: "another's", uid: "uid-b", holder: "SecretSync/b", isControlled: true },
    proven: false,
  },
  {
    name: "an old SecretSync's of the same name",
    metadata: { labels: labels("uid-old"), annotations: annotations("SecretSync/a") },
    held: { kind: "another's", uid: "uid-old", holder: "an earlier SecretSync/a", isControlled: false },
    proven: false,
  },
  {
    name: "going away",
    metadata: { ...ours, deletionTimestamp: "2026-01-01T00:00:00Z" },
    held: { kind: "terminating", holder: "SecretSync/a" },
    proven: true,
  },
] as const;

for (const { name, metadata, held, proven } of cases) {
  test(`holderOf: ${name}`, () => {
    assert.deepEqual(holderOf(at(metadata), owner), held);
    assert.equal(isProvenOurs(at(metadata), owner), proven);
  });
}

const shared = { labels: { ...labels("uid-i"), [sourceHashLabel]: sourceHashOf({ namespace: "vault", name: "db" }) } };
const byInstallation = annotations("Installation");
const sharedCases = [
  { name: "all marks", metadata: { ...shared, annotations: byInstallation }, kind: "ours" },
  { name: "the hash gone", metadata: { labels: labels("uid-i"), annotations: byInstallation }, kind: "foreign" },
  {
    name: "the hash of another source",
    metadata: { ...shared, annotations: { ...byInstallation, [sourceAnnotation]: "vault/other" } },
    kind: "foreign",
  },
  {
    name: "no source named",
    metadata: { ...shared, annotations: { [ownerAnnotation]: "Installation" } },
    kind: "foreign",
  },
  {
    name: "another installation's",
    metadata: { labels: { ...shared.labels, ...labels("uid-j") }, annotations: byInstallation },
    kind: "another's",
  },
  {
    name: "pasted from another copy",
    metadata: { ...shared, annotations: annotations("Installation", "other/db") },
    kind: "foreign",
  },
] as const;

for (const { name, metadata, kind } of sharedCases) {
  test(`holderOf a copy that the installation shares: ${name}`, () => {
    assert.equal(holderOf(at(metadata), installation).kind, kind);
    assert.equal(isProvenOurs(at(metadata), installation), kind === "ours");
  });
}

const sources = [
  { annotation: "vault/db", shown: "vault/db" },
  { annotation: "a word to the reader", shown: "another Secret" },
  { annotation: `vault/${"x".repeat(254)}`, shown: "another Secret" },
  { annotation: undefined, shown: "another Secret" },
];
for (const { annotation, shown } of sources) {
  test(`describeSource repeats only what can be a source: ${annotation?.slice(0, 30)}`, () => {
    const copy = at(annotation === undefined ? {} : { annotations: { [sourceAnnotation]: annotation } });
    assert.equal(describeSource(copy), shown);
  });
}
