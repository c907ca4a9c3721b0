import assert from "node:assert/strict";
import { test } from "node:test";
import { sourceAnnotation, sourceHashLabel, vetoAnnotation } from "../api/marks.ts";
import type { Metadata, Secret } from "../api/objects.ts";
import { fingerprintWith } from "./fingerprint.ts";
import { isSameContent, type SourceRecord, sourceRecordWith } from "./source.ts";

const metadata = { namespace: "vault", name: "db", uid: "1", resourceVersion: "1", creationTimestamp: "" };
const recordOf = (more: Partial<Metadata> = {}, data = { a: "MQ==" }): SourceRecord => {
  const secret: Secret = { metadata: { ...metadata, ...more }, type: "Opaque", data };
  return sourceRecordWith(fingerprintWith(Buffer.alloc(32, 1)))(secret);
};
const copy = { labels: { [sourceHashLabel]: "0123456789" }, annotations: { [sourceAnnotation]: "home/db" } };

const cases = [
  { name: "a plain one", record: recordOf(), isVetoed: false, copyOf: undefined },
  {
    name: "vetoed",
    record: recordOf({ annotations: { [vetoAnnotation]: "true" } }),
    isVetoed: true,
    copyOf: undefined,
  },
  { name: "a veto in other words", record: recordOf({ annotations: { [vetoAnnotation]: "yes" } }), isVetoed: false },
  { name: "a shared copy", record: recordOf(copy), isVetoed: false, copyOf: "home/db" },
  {
    name: "a shared copy that does not say of what",
    record: recordOf({ labels: copy.labels }),
    isVetoed: false,
    copyOf: "another Secret",
  },
  { name: "a copy that is not shared", record: recordOf({ annotations: copy.annotations }), isVetoed: false },
];
for (const { name, record, isVetoed, copyOf } of cases) {
  test(`what is remembered of a source: ${name}`, () => {
    assert.equal(record.isVetoed, isVetoed);
    assert.equal(record.copyOf, copyOf);
  });
}

const changes = [
  { name: "a label of somebody else", after: recordOf({ labels: { app: "web" } }), same: true },
  { name: "other data", after: recordOf({}, { a: "Mg==" }), same: false },
  { name: "a veto", after: recordOf({ annotations: { [vetoAnnotation]: "true" } }), same: false },
  { name: "the mark of a shared copy", after: recordOf(copy), same: false },
  { name: "made anew", after: recordOf({ uid: "2" }), same: false },
  { name: "being deleted", after: recordOf({ deletionTimestamp: "2026-01-01T00:00:00Z" }), same: false },
];
for (const { name, after, same } of changes) {
  test(`isSameContent: ${name}`, () => assert.equal(isSameContent(recordOf(), after), same));
}
