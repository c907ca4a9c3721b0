import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubermaticConfiguration } from "../../api/kubermatic-configuration.ts";
import type { Verdict } from "../../runtime/admission.ts";
import { reviewAnnotations, reviewDefault } from "./hooks.ts";

const mark = (name: string) => `latchkey.dev/${name}`;
const said = (verdict: Verdict) => (verdict.allowed ? (verdict.warnings ?? []) : [verdict.code, verdict.message]);
const ignored = (name: string) => `annotation ${mark(name)} is ignored: this Cluster has fields of its own`;

const clusters: readonly {
  name: string;
  annotations: Readonly<Record<string, string>>;
  instead: readonly string[];
  beside: readonly unknown[];
}[] = [
  { name: "nothing", annotations: {}, instead: [], beside: [] },
  { name: "somebody else's", annotations: { "example.com/mode": "x" }, instead: [], beside: [] },
  { name: "emptied", annotations: { [mark("injection-mode")]: "" }, instead: [], beside: [] },
  { name: "our status", annotations: { [mark("status")]: "{}" }, instead: [], beside: [] },
  {
    name: "references",
    annotations: { [mark("image-pull-secrets")]: "a/b" },
    instead: [ignored("image-pull-secrets")],
    beside: [],
  },
  {
    name: "two that are good",
    annotations: { [mark("injection-mode")]: "None", [mark("kubeconfig-secret")]: "fleet" },
    instead: [ignored("kubeconfig-secret"), ignored("injection-mode")],
    beside: [],
  },
  {
    name: "one that is not",
    annotations: { [mark("injection-mode")]: "Policy", [mark("on-source-deleted")]: "never" },
    instead: [ignored("injection-mode"), ignored("on-source-deleted")],
    beside: [422, `annotation ${mark("on-source-deleted")}: must be one of Delete, Retain`],
  },
];
for (const { name, annotations, ...expected } of clusters) {
  for (const mode of ["instead", "beside"] as const) {
    test(`annotations of a Cluster, ${mode}: ${name}`, () => {
      assert.deepEqual(said(reviewAnnotations(annotations, mode)), expected[mode]);
    });
  }
}

function configuration(text: string | undefined, annotation?: string): KubermaticConfiguration {
  const annotations = annotation === undefined ? {} : { [mark("image-pull-secrets")]: annotation };
  const metadata = { name: "k", uid: "u", resourceVersion: "1", creationTimestamp: "", annotations };
  return { metadata, spec: text === undefined ? {} : { userCluster: { imagePullSecret: text } } };
}

const field = "spec.userCluster.imagePullSecret";
const useless = `annotation ${mark("image-pull-secrets")} is ignored: there is a field for it`;
const defaults: readonly {
  name: string;
  given: KubermaticConfiguration;
  instead: readonly string[];
  beside: readonly unknown[];
}[] = [
  { name: "nothing", given: configuration(undefined), instead: [], beside: [] },
  { name: "empty", given: configuration(""), instead: [], beside: [] },
  { name: "valid", given: configuration('{"auths":{"a":{}}}'), instead: [], beside: [] },
  {
    name: "a trailing comma",
    given: configuration('{"auths":{"a":{}},\n}'),
    instead: [`${field}: not valid JSON at line 2, column 1; it is not used`],
    beside: [`${field}: not valid JSON at line 2, column 1; it is not used`],
  },
  {
    name: "another shape",
    given: configuration("[]"),
    instead: [`${field}: no auths with at least one entry; it is not used`],
    beside: [`${field}: no auths with at least one entry; it is not used`],
  },
  { name: "an annotation", given: configuration(undefined, "a/b"), instead: [useless], beside: [] },
  {
    name: "a bad annotation",
    given: configuration(undefined, "b"),
    instead: [useless],
    beside: [422, `annotation ${mark("image-pull-secrets")}: "b" needs a namespace: <namespace>/<name>`],
  },
];
for (const { name, given, ...expected } of defaults) {
  for (const mode of ["instead", "beside"] as const) {
    test(`a default as it is written, ${mode}: ${name}`, () => {
      assert.deepEqual(said(reviewDefault(given, mode)), expected[mode]);
    });
  }
}
