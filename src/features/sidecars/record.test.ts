import assert from "node:assert/strict";
import { test } from "node:test";
import type { ManagedFields, Metadata } from "../../api/objects.ts";
import type { SidecarSetStatus } from "../../api/sidecar-set.ts";
import { metadataOf, sidecarRecord } from "../../testing/sidecar-records.ts";
import { recordOf } from "./record.ts";

const annotation = "latchkey.dev/image-pull-secrets";

test("instead: references come from the field, and a namespace left out is the default one", () => {
  const { references, objection } = sidecarRecord("a", {
    imagePullSecrets: [
      { name: "quay", namespace: "vault" },
      { name: "hub", namespace: "" },
    ],
  });
  assert.deepEqual(references, [
    { namespace: "vault", name: "quay", written: "vault", mayBeLocal: false },
    { namespace: "default", name: "hub", written: "", mayBeLocal: true },
  ]);
  assert.equal(objection, undefined);
});

test("instead: the annotation does not count", () => {
  const record = sidecarRecord("a", {}, { metadata: { annotations: { [annotation]: "vault/quay" } } });
  assert.deepEqual(record.references, []);
  assert.equal(record.note, undefined);
});

const original = (text: string | undefined, imagePullSecrets?: { name: string; namespace: string }[]) =>
  sidecarRecord("a", imagePullSecrets ? { imagePullSecrets } : {}, {
    mode: "beside",
    metadata: text === undefined ? {} : { annotations: { [annotation]: text } },
  });
const reference = (namespace: string, name: string) => ({ namespace, name, written: namespace, mayBeLocal: false });
const own = { name: "own" } as { name: string; namespace: string };

const besides = [
  { name: "no annotation", record: original(undefined), references: [] },
  { name: "an empty annotation", record: original(""), references: [] },
  {
    name: "the annotation, with and without a namespace",
    record: original("vault/quay, hub"),
    references: [reference("vault", "quay"), reference("default", "hub")],
  },
  {
    name: "a field of the original's own",
    record: original("vault/quay", [own]),
    references: [reference("vault", "quay")],
  },
  {
    name: "a field with namespaces",
    record: original(undefined, [own, { name: "hub", namespace: "vault" }]),
    references: [reference("vault", "hub")],
  },
  {
    name: "both",
    record: original("vault/quay", [{ name: "hub", namespace: "vault" }]),
    references: [reference("vault", "hub")],
    note: `${annotation} is ignored: spec.imagePullSecrets says where the Secrets are`,
  },
  {
    name: "a bad annotation",
    record: original("vault/quay,"),
    references: [],
    objection: `${annotation}: an entry is empty`,
  },
  {
    name: "a bad field",
    record: original(undefined, [{ name: "A", namespace: "vault" }]),
    references: [],
    objection: 'spec.imagePullSecrets: "vault/A" does not name a Secret',
  },
] as const;

for (const { name, record, references, ...more } of besides) {
  test(`beside: ${name}`, () => {
    assert.deepEqual(record.references, references);
    assert.deepEqual(
      [record.objection, record.note],
      ["objection" in more ? more.objection : undefined, "note" in more ? more.note : undefined],
    );
  });
}

test("beside: little is kept", () => {
  const labels = { team: "a" };
  const annotations = { [annotation]: "vault/quay", "latchkey.dev/status": "{}", other: "x".repeat(1_000) };
  const managedFields = [{ manager: "kubectl" }];
  const record = sidecarRecord(
    "a",
    { containers: [{ name: "c", image: "c:1" }], namespace: "team-a", volumes: [{ name: "v" }] },
    { mode: "beside", metadata: { labels, annotations, managedFields }, status: { matchedPods: 3 } },
  );
  assert.deepEqual(record.spec, { selector: { matchLabels: { app: "x" } }, namespace: "team-a" });
  assert.equal(record.status, undefined);
  assert.deepEqual([record.hash, record.hashWithoutImage], ["", ""]);
  const { generation, ...identity } = metadataOf("a");
  assert.deepEqual(record.metadata, {
    ...identity,
    generation,
    annotations: { [annotation]: "vault/quay", "latchkey.dev/status": "{}" },
  });
});

test("beside: an object without a spec selects nothing and breaks nothing", () => {
  const record = recordOf({ metadata: metadataOf("a") }, { mode: "beside", defaultNamespace: "default" });
  assert.equal(record.selectsLabels({ app: "x" }), false);
});

test("instead: all is kept but what kubectl and the API server keep for themselves", () => {
  const annotations = { "kubectl.kubernetes.io/last-applied-configuration": "{}", mine: "1" };
  const status: SidecarSetStatus = { matchedPods: 3 };
  const record = sidecarRecord("a", {}, { metadata: { annotations, labels: { a: "b" }, managedFields: [] }, status });
  assert.deepEqual(record.metadata, metadataOf("a", { annotations: { mine: "1" }, labels: { a: "b" } }));
  assert.deepEqual(record.status, status);
  assert.equal(record.kind, "SidecarSet");
});

test("what decides is compiled, and the digest tells specs apart", () => {
  const record = sidecarRecord("a", { namespace: "team-a" });
  assert.equal(record.selectsLabels({ app: "x" }), true);
  assert.equal(record.selectsNamespace("team-a", undefined), true);
  assert.equal(record.selectsNamespace("team-b", undefined), false);
  assert.equal(record.digest, sidecarRecord("b", { namespace: "team-a" }).digest);
  assert.notEqual(record.digest, sidecarRecord("a", { namespace: "team-b" }).digest);
});

const spec = { "f:spec": { "f:selector": {} } };
const at = (time: string, fieldsV1: object = spec, more: Partial<ManagedFields> = {}): ManagedFields => ({
  time: `2026-02-0${time}T00:00:00Z`,
  fieldsV1: fieldsV1 as Readonly<Record<string, unknown>>,
  ...more,
});
const status = { specChangedAt: "2026-03-01T00:00:00Z", observedGeneration: 2 };

const times: readonly { name: string; metadata: Partial<Metadata>; status?: SidecarSetStatus; time: string }[] = [
  { name: "nothing else is known", metadata: {}, time: "2026-01-01T00:00:00Z" },
  {
    name: "the newest of its writers",
    metadata: { managedFields: [at("2"), at("3"), at("1")] },
    time: "2026-02-03T00:00:00Z",
  },
  {
    name: "not the writer of a label",
    metadata: { managedFields: [at("2"), at("3", { "f:metadata": {} })] },
    time: "2026-02-02T00:00:00Z",
  },
  {
    name: "not the writer of the status",
    metadata: { managedFields: [at("2"), at("3", spec, { subresource: "status" })] },
    time: "2026-02-02T00:00:00Z",
  },
  {
    name: "as the status has it",
    metadata: { generation: 2, managedFields: [at("2")] },
    status,
    time: "2026-03-01T00:00:00Z",
  },
  {
    name: "not as the status had it for another generation",
    metadata: { generation: 3, managedFields: [at("2")] },
    status,
    time: "2026-02-02T00:00:00Z",
  },
];

for (const { name, metadata, time, ...more } of times) {
  test(`changedAt: ${name}`, () => assert.equal(sidecarRecord("a", {}, { metadata, ...more }).changedAt, time));
}
