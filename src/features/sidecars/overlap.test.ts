import assert from "node:assert/strict";
import { test } from "node:test";
import type { LabelRequirement, LabelSelector } from "../../api/label-selector.ts";
import { sidecarRecord } from "../../testing/sidecar-records.ts";
import { canOverlap, conflictOf } from "./overlap.ts";
import type { Scope } from "./selector.ts";

const on = (operator: LabelRequirement["operator"], ...values: string[]): LabelSelector => ({
  matchExpressions: [{ key: "app", operator, ...(values.length > 0 && { values }) }],
});
const app = (name: string): LabelSelector => ({ matchLabels: { app: name } });

const selectors: readonly { name: string; a: LabelSelector; b: LabelSelector; overlap: boolean }[] = [
  { name: "the same", a: app("x"), b: app("x"), overlap: true },
  { name: "another value of one label", a: app("x"), b: app("y"), overlap: false },
  { name: "values in common", a: on("In", "x", "y"), b: on("In", "y", "z"), overlap: true },
  { name: "no value in common", a: on("In", "x", "y"), b: on("In", "z"), overlap: false },
  { name: "all values shut out", a: on("In", "x", "y"), b: on("NotIn", "x", "y", "z"), overlap: false },
  { name: "not all values shut out", a: on("In", "x", "y"), b: on("NotIn", "x"), overlap: true },
  { name: "there and not there", a: on("Exists"), b: on("DoesNotExist"), overlap: false },
  { name: "with a value and not there", a: app("x"), b: on("DoesNotExist"), overlap: false },
  { name: "shut out and not there", a: on("NotIn", "x"), b: on("DoesNotExist"), overlap: true },
  { name: "shut out, twice", a: on("NotIn", "x"), b: on("NotIn", "y"), overlap: true },
  { name: "there, and shut out", a: on("Exists"), b: on("NotIn", "x"), overlap: true },
  { name: "different labels", a: app("x"), b: { matchLabels: { tier: "a" } }, overlap: true },
  { name: "one that selects nothing", a: app("x"), b: {}, overlap: false },
];

for (const { name, a, b, overlap } of selectors) {
  test(`canOverlap: ${name}`, () => {
    assert.equal(canOverlap({ selector: a }, { selector: b }), overlap);
    assert.equal(canOverlap({ selector: b }, { selector: a }), overlap);
  });
}

const inNamespace = (name: string): LabelSelector => ({ matchLabels: { "kubernetes.io/metadata.name": name } });
const places: readonly { name: string; a: Omit<Scope, "selector">; b: Omit<Scope, "selector">; overlap: boolean }[] = [
  { name: "everywhere and one namespace", a: {}, b: { namespace: "a" }, overlap: true },
  { name: "the same namespace", a: { namespace: "a" }, b: { namespace: "a" }, overlap: true },
  { name: "two namespaces", a: { namespace: "a" }, b: { namespace: "b" }, overlap: false },
  {
    name: "a namespace and its own label",
    a: { namespace: "a" },
    b: { namespaceSelector: inNamespace("a") },
    overlap: true,
  },
  {
    name: "a namespace and the label of another",
    a: { namespace: "a" },
    b: { namespaceSelector: inNamespace("b") },
    overlap: false,
  },
  { name: "a namespace and any other label", a: { namespace: "a" }, b: { namespaceSelector: app("x") }, overlap: true },
  { name: "labels apart", a: { namespaceSelector: app("x") }, b: { namespaceSelector: app("y") }, overlap: false },
  {
    name: "a namespace that wins over its selector",
    a: { namespace: "a", namespaceSelector: app("x") },
    b: { namespaceSelector: app("y") },
    overlap: true,
  },
];

for (const { name, a, b, overlap } of places) {
  test(`canOverlap: ${name}`, () => {
    assert.equal(canOverlap({ selector: app("x"), ...a }, { selector: app("x"), ...b }), overlap);
    assert.equal(canOverlap({ selector: app("x"), ...b }, { selector: app("x"), ...a }), overlap);
  });
}

const container = (name: string) => ({ name, image: "i" });
const logs = sidecarRecord("logs", {
  containers: [container("sidecar1")],
  initContainers: [container("init1")],
  volumes: [{ name: "tmp", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } }],
});

const conflicts = [
  { name: "nothing in common", spec: { containers: [container("other")] }, words: undefined },
  {
    name: "a container",
    spec: { containers: [container("other"), container("sidecar1")] },
    words: "container sidecar1 is also injected by SidecarSet logs",
  },
  {
    name: "an initContainer called like a container",
    spec: { initContainers: [container("sidecar1")] },
    words: "container sidecar1 is also injected by SidecarSet logs",
  },
  {
    name: "an initContainer",
    spec: { initContainers: [container("init1")] },
    words: "container init1 is also injected by SidecarSet logs",
  },
  {
    name: "a container, but never in one Pod",
    spec: { selector: app("y"), containers: [container("sidecar1")] },
    words: undefined,
  },
  {
    name: "an equal volume",
    spec: { volumes: [{ emptyDir: { sizeLimit: "1Mi", medium: "Memory" }, name: "tmp" }] },
    words: undefined,
  },
  {
    name: "a volume with another content",
    spec: {
      volumes: [
        { name: "data", emptyDir: {} },
        { name: "tmp", emptyDir: {} },
      ],
    },
    words: "volume tmp has another content in SidecarSet logs",
  },
  {
    name: "a volume with another content, but never in one Pod",
    spec: { selector: app("y"), volumes: [{ name: "tmp", emptyDir: {} }] },
    words: undefined,
  },
] as const;

for (const { name, spec, words } of conflicts) {
  test(`conflictOf: ${name}`, () => assert.equal(conflictOf(sidecarRecord("mine", spec), logs), words));
}
