import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "../../api/objects.ts";
import { annotationObjection, parseToldStatus, recordOf, type Wish } from "./record.ts";

const mark = (name: string) => `latchkey.dev/${name}`;

interface Given {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: object;
  readonly status?: object;
  readonly labels?: Readonly<Record<string, string>>;
}

function object({ annotations = {}, spec, status, labels = {} }: Given): KubeObject {
  const marks = Object.fromEntries(Object.entries(annotations).map(([name, value]) => [mark(name), value]));
  const metadata = { name: "c1", uid: "u", resourceVersion: "1", creationTimestamp: "", labels, annotations: marks };
  return { metadata, ...(spec && { spec }), ...(status && { status }) } as KubeObject;
}

const nothing: Wish = {
  ...{ references: [], usesDefault: true, isHome: false, kubeconfig: undefined, isPaused: false, pauseReason: "" },
  ...{ excluded: [], retains: false, mode: "Auto" },
};
const [one, two] = [
  { namespace: "a", name: "one" },
  { namespace: "b", name: "two" },
];

const standIns: readonly { name: string; given: Given; wish: Partial<Wish> }[] = [
  { name: "no spec at all", given: {}, wish: {} },
  { name: "references, in order", given: { spec: { imagePullSecrets: [two, one] } }, wish: { references: [two, one] } },
  { name: "an empty list is none", given: { spec: { imagePullSecrets: [] } }, wish: {} },
  { name: "no default", given: { spec: { disableDefaultImagePullSecrets: true } }, wish: { usesDefault: false } },
  { name: "the home", given: { spec: { home: true } }, wish: { isHome: true } },
  {
    name: "where its kubeconfig is",
    given: { spec: { kubeconfigSecretRef: { namespace: "fleet", key: "k" } } },
    wish: { kubeconfig: { namespace: "fleet", key: "k" } },
  },
  {
    name: "paused, and why",
    given: { spec: { pause: true, pauseReason: "holidays" } },
    wish: { isPaused: true, pauseReason: "holidays" },
  },
  {
    name: "the rest",
    given: { spec: { excludedNamespaces: ["x"], onSourceDeleted: "Retain", injection: { mode: "None" } } },
    wish: { excluded: ["x"], retains: true, mode: "None" },
  },
  {
    name: "annotations do nothing, however they are",
    given: {
      annotations: { "image-pull-secrets": "a/one", "injection-mode": "bad", "default-image-pull-secrets": "disabled" },
    },
    wish: {},
  },
];
for (const { name, given, wish } of standIns) {
  test(`what a stand-in asks for: ${name}`, () => {
    assert.deepEqual(recordOf(object(given), "instead").wish, { ...nothing, ...wish });
  });
}

const originals: readonly { name: string; given: Given; wish: Partial<Wish> }[] = [
  { name: "nothing", given: {}, wish: {} },
  {
    name: "references, with blanks around",
    given: { annotations: { "image-pull-secrets": " b/two , a/one" } },
    wish: { references: [two, one] },
  },
  { name: "an empty annotation is none", given: { annotations: { "image-pull-secrets": "" } }, wish: {} },
  {
    name: "no default",
    given: { annotations: { "default-image-pull-secrets": "disabled" } },
    wish: { usesDefault: false },
  },
  {
    name: "the namespace of its kubeconfig",
    given: { annotations: { "kubeconfig-secret": "fleet" } },
    wish: { kubeconfig: { namespace: "fleet" } },
  },
  {
    name: "its kubeconfig",
    given: { annotations: { "kubeconfig-secret": "fleet/c1" } },
    wish: { kubeconfig: { namespace: "fleet", name: "c1" } },
  },
  {
    name: "the rest",
    given: {
      annotations: { "excluded-namespaces": "x, y", "on-source-deleted": "Retain", "injection-mode": "ServiceAccount" },
    },
    wish: { excluded: ["x", "y"], retains: true, mode: "ServiceAccount" },
  },
  {
    name: "Kubermatic's own pause is honoured",
    given: { spec: { pause: true, pauseReason: "upgrade" } },
    wish: { isPaused: true, pauseReason: "upgrade" },
  },
  {
    name: "our other fields are not Kubermatic's",
    given: { spec: { home: true, excludedNamespaces: ["x"], onSourceDeleted: "Retain", imagePullSecret: one } },
    wish: {},
  },
  {
    name: "a field for the kubeconfig wins over the annotation",
    given: {
      spec: { kubeconfigSecretRef: { namespace: "fleet", name: "k", key: "value", more: 1 } },
      annotations: { "kubeconfig-secret": "elsewhere" },
    },
    wish: { kubeconfig: { namespace: "fleet", name: "k", key: "value" } },
  },
  {
    name: "a field for the kubeconfig of another shape is none of ours",
    given: { spec: { kubeconfigSecretRef: { name: "k" } }, annotations: { "kubeconfig-secret": "fleet" } },
    wish: { kubeconfig: { namespace: "fleet" } },
  },
  {
    name: "a field for references wins over the annotation",
    given: { spec: { imagePullSecrets: [one] }, annotations: { "image-pull-secrets": "b/two" } },
    wish: { references: [one] },
  },
  {
    name: "a field for references wins over an annotation that cannot be read",
    given: { spec: { imagePullSecrets: [one] }, annotations: { "image-pull-secrets": "b" } },
    wish: { references: [one] },
  },
  {
    name: "a field of another shape is none of ours",
    given: { spec: { imagePullSecrets: [{ name: "one" }, "two"] }, annotations: { "image-pull-secrets": "b/two" } },
    wish: { references: [two] },
  },
  {
    name: "references that cannot be read are a broken level",
    given: { annotations: { "image-pull-secrets": "a/one,b" } },
    wish: {
      objection: `annotation ${mark("image-pull-secrets")}: "b" needs a namespace: <namespace>/<name>`,
    },
  },
  {
    name: "a word about the default that cannot be read as well",
    given: { annotations: { "default-image-pull-secrets": "no" } },
    wish: { objection: `annotation ${mark("default-image-pull-secrets")}: must be one of disabled` },
  },
  {
    name: "other values that cannot be read count as not given",
    given: {
      annotations: {
        ...{ "image-pull-secrets": "a/one", "injection-mode": "policy", "on-source-deleted": "keep" },
        ...{ "kubeconfig-secret": "a/b/c", "excluded-namespaces": "x,Y" },
      },
    },
    wish: { references: [one], excluded: ["x"] },
  },
];
for (const { name, given, wish } of originals) {
  test(`what is asked of us on the original's object: ${name}`, () => {
    assert.deepEqual(recordOf(object(given), "beside").wish, { ...nothing, ...wish });
  });
}

const many = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`).join();
const values: readonly { name: string; value: string; problem?: RegExp }[] = [
  { name: "image-pull-secrets", value: "a/one" },
  { name: "image-pull-secrets", value: "one", problem: /needs a namespace/ },
  { name: "image-pull-secrets", value: " ", problem: /an entry is empty/ },
  { name: "default-image-pull-secrets", value: "disabled" },
  { name: "default-image-pull-secrets", value: "Disabled", problem: /must be one of disabled/ },
  { name: "kubeconfig-secret", value: "fleet" },
  { name: "kubeconfig-secret", value: "fleet/c1" },
  { name: "kubeconfig-secret", value: "fleet/", problem: /must be <namespace>\[\/<name>\]/ },
  { name: "kubeconfig-secret", value: "a/b/c", problem: /must be <namespace>/ },
  { name: "kubeconfig-secret", value: "Fleet", problem: /must be <namespace>/ },
  { name: "excluded-namespaces", value: "a" },
  { name: "excluded-namespaces", value: many(64) },
  { name: "excluded-namespaces", value: many(65), problem: /65 entries are more than 64/ },
  { name: "excluded-namespaces", value: "a,b.c", problem: /must be names of namespaces/ },
  { name: "excluded-namespaces", value: "a,", problem: /must be names of namespaces/ },
  { name: "excluded-namespaces", value: "a, a", problem: /a namespace is there twice/ },
  { name: "injection-mode", value: "Policy" },
  { name: "injection-mode", value: "policy", problem: /must be one of Auto, Policy, ServiceAccount, None/ },
  { name: "on-source-deleted", value: "Delete" },
  { name: "on-source-deleted", value: "Keep", problem: /must be one of Delete, Retain/ },
  { name: "status", value: "not ours to judge" },
];
for (const { name, value, problem } of values) {
  test(`annotation ${name}: ${value.slice(0, 20)} is ${problem ? "refused" : "accepted"}`, () => {
    const objection = annotationObjection({ [mark(name)]: value });
    if (!problem) assert.equal(objection, undefined);
    else assert.match(objection ?? "", new RegExp(`^annotation ${mark(name)}: .*${problem.source}`));
    assert.equal(annotationObjection({ [mark(name)]: "" }), undefined, "empty means absent");
  });
}

test("of the original's object nothing is kept but its identity and what is ours", () => {
  const given = {
    annotations: { "image-pull-secrets": "a/one", status: "{}" },
    spec: { secret: "value" },
    status: { namespaceName: "cluster-x", address: { adminToken: "value" } },
    labels: { "project-id": "p" },
  };
  const original = object(given);
  const { annotations } = original.metadata;
  const full = {
    ...original,
    metadata: { ...original.metadata, annotations: { ...annotations, other: "x" }, finalizers: ["theirs"] },
  };
  const { metadata, status } = recordOf(full, "beside");
  assert.deepEqual(metadata, {
    ...{ name: "c1", uid: "u", resourceVersion: "1", creationTimestamp: "", annotations, finalizers: ["theirs"] },
  });
  assert.deepEqual(status, { namespaceName: "cluster-x" });
});

test("kubectl's own annotation is not kept: it repeats the whole object", () => {
  const applied = { "kubectl.kubernetes.io/last-applied-configuration": "{}", kept: "yes" };
  const plain = object({});
  const { metadata } = recordOf({ ...plain, metadata: { ...plain.metadata, annotations: applied } }, "instead");
  assert.deepEqual(metadata.annotations, { kept: "yes" });
});

const forged = ["", "{", "[]", "null", '"text"', '{"conditions":"none","namespaces":[],"clusterID":7,"mode":{}}'];
for (const text of forged) {
  test(`a status that somebody else wrote is no reason to fail: ${text || "empty"}`, () => {
    assert.deepEqual(parseToldStatus(object({ annotations: { status: text } })) ?? {}, {});
  });
}

test("the status that we told is understood again", () => {
  const conditions = [{ type: "Ready", status: "True", reason: "Served", message: "" }];
  const text = JSON.stringify({ conditions, mode: "Policy", credentialsFrom: "Cluster", clusterID: "id" });
  assert.deepEqual(parseToldStatus(object({ annotations: { status: text } })), {
    ...{ conditions, injection: { mode: "Policy" }, credentialsFrom: "Cluster", clusterID: "id" },
  });
});
