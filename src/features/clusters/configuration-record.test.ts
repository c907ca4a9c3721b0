import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "../../api/objects.ts";
import { configurationRecordOf, type Given, isInlineSecret } from "./configuration-record.ts";

const valid = '{"auths":{"quay.io":{"auth":"dTpw"}}}';
const annotation = "latchkey.dev/image-pull-secrets";
/** Shows what it was made of. */
const fingerprint = (type: string, data: Readonly<Record<string, string>>) => `${type} ${Object.keys(data).join()}`;

interface Fields {
  readonly userCluster?: unknown;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly status?: object;
}

function object({ userCluster, annotations = {}, status }: Fields): KubeObject {
  const metadata = { name: "k", namespace: "kubermatic", uid: "u", resourceVersion: "1", creationTimestamp: "" };
  const spec = userCluster === undefined ? {} : { userCluster };
  return { metadata: { ...metadata, annotations }, spec, ...(status && { status }) } as KubeObject;
}

const inline = (kind: "valid" | "not-set" | "no-auths"): Given => ({
  ...{ kind: "inline", verdict: { kind } },
  fingerprint: kind === "valid" ? "kubernetes.io/dockerconfigjson .dockerconfigjson" : "",
});
const [ours, theirs] = [
  { namespace: "a", name: "ours" },
  { namespace: "b", name: "theirs" },
];
const references = (...list: { namespace: string; name: string }[]): Given => ({
  kind: "references",
  references: list,
});

const cases: readonly { name: string; fields: Fields; instead: Given; beside: Given }[] = [
  { name: "nothing", fields: {}, instead: inline("not-set"), beside: inline("not-set") },
  { name: "an empty part", fields: { userCluster: {} }, instead: inline("not-set"), beside: inline("not-set") },
  {
    name: "an empty text",
    fields: { userCluster: { imagePullSecret: "" } },
    instead: inline("not-set"),
    beside: inline("not-set"),
  },
  {
    name: "a text",
    fields: { userCluster: { imagePullSecret: valid } },
    instead: inline("valid"),
    beside: inline("valid"),
  },
  {
    name: "a text that is something else",
    fields: { userCluster: { imagePullSecret: "{}" } },
    instead: inline("no-auths"),
    beside: inline("no-auths"),
  },
  {
    name: "a reference",
    fields: { userCluster: { imagePullSecretRef: ours } },
    instead: references(ours),
    beside: references(ours),
  },
  {
    name: "an annotation counts on the original's object alone",
    fields: { annotations: { [annotation]: "a/ours, b/theirs" } },
    instead: inline("not-set"),
    beside: references(ours, theirs),
  },
  {
    name: "fields win over the annotation",
    fields: { userCluster: { imagePullSecret: valid }, annotations: { [annotation]: "b/theirs" } },
    instead: inline("valid"),
    beside: inline("valid"),
  },
  {
    name: "an annotation that cannot be read",
    fields: { annotations: { [annotation]: "theirs" } },
    instead: inline("not-set"),
    beside: { kind: "unreadable", objection: '"theirs" needs a namespace: <namespace>/<name>' },
  },
  {
    name: "fields of another shape",
    fields: { userCluster: { imagePullSecret: { a: 1 }, imagePullSecretRef: "b" } },
    instead: inline("not-set"),
    beside: inline("not-set"),
  },
  {
    name: "Kubermatic's own part is null",
    fields: { userCluster: null },
    instead: inline("not-set"),
    beside: inline("not-set"),
  },
];
for (const { name, fields, ...expected } of cases) {
  for (const mode of ["instead", "beside"] as const) {
    test(`the default as its writer gave it, ${mode}: ${name}`, () => {
      assert.deepEqual(configurationRecordOf(object(fields), { mode, fingerprint }).given, expected[mode]);
    });
  }
}

test("no text is kept, be it valid or not, nor what kubectl remembers of it", () => {
  for (const imagePullSecret of [valid, `${valid},`, '{"auths":"dTpw"}']) {
    const annotations = { "kubectl.kubernetes.io/last-applied-configuration": imagePullSecret };
    const given = object({ userCluster: { imagePullSecret }, annotations });
    for (const mode of ["instead", "beside"] as const) {
      const text = JSON.stringify(configurationRecordOf(given, { mode, fingerprint }));
      assert.equal(text.includes("dTpw"), false);
    }
  }
});

test("what was told is read where it was told", () => {
  const conditions = [{ type: "DefaultValid", status: "True", reason: "Valid", message: "" }];
  const told = { "latchkey.dev/status": JSON.stringify({ conditions }) };
  const given = object({ annotations: told, status: { conditions: [], phase: "theirs" } });
  assert.deepEqual(configurationRecordOf(given, { mode: "beside", fingerprint }).status, { conditions });
  assert.deepEqual(configurationRecordOf(given, { mode: "instead", fingerprint }).status, {
    ...{ conditions: [], phase: "theirs" },
  });
});

const kubermatic = { apiVersion: "kubermatic.k8c.io/v1", kind: "KubermaticConfiguration", name: "k", uid: "u" };
const owners = [
  { name: "nobody's", ownerReferences: undefined, isOurs: false },
  { name: "a configuration's", ownerReferences: [{ ...kubermatic, controller: true }], isOurs: true },
  { name: "only related to a configuration", ownerReferences: [kubermatic], isOurs: false },
  {
    name: "that of another kind",
    ownerReferences: [{ ...kubermatic, kind: "Seed", controller: true }],
    isOurs: false,
  },
  {
    name: "that of another group",
    ownerReferences: [{ ...kubermatic, apiVersion: "example.com/v1", controller: true }],
    isOurs: false,
  },
];
for (const { name, ownerReferences, isOurs } of owners) {
  test(`a Secret by the name of the inline default is ${isOurs ? "" : "not "}ours: ${name}`, () => {
    const { metadata } = object({});
    assert.equal(isInlineSecret({ metadata: { ...metadata, ...(ownerReferences && { ownerReferences }) } }), isOurs);
  });
}
