import assert from "node:assert/strict";
import { test } from "node:test";
import { reviewedPod, sidecarRecord } from "../../testing/sidecar-records.ts";
import { isExempt, matchingSets } from "./matching.ts";

const exemptions = [
  { name: "any Pod", annotations: {}, namespace: { name: "team-a", labels: {} }, exempt: false },
  { name: "a Pod of a namespace without labels", annotations: {}, namespace: { name: "team-a" }, exempt: false },
  { name: "a Pod of kube-system", annotations: {}, namespace: { name: "kube-system" }, exempt: false },
  {
    name: "a mirror Pod",
    annotations: { "kubernetes.io/config.mirror": "" },
    namespace: { name: "team-a" },
    exempt: true,
  },
  { name: "a Pod of our own namespace", annotations: {}, namespace: { name: "latchkey-system" }, exempt: true },
  {
    name: "a Pod of a namespace that opted out",
    annotations: {},
    namespace: { name: "team-a", labels: { "latchkey.dev/inject": "false" } },
    exempt: true,
  },
  {
    name: "a Pod of a namespace that opted in",
    annotations: {},
    namespace: { name: "team-a", labels: { "latchkey.dev/inject": "true" } },
    exempt: false,
  },
  {
    name: "a Pod that would opt out by itself",
    annotations: { "latchkey.dev/inject": "false" },
    namespace: { name: "team-a" },
    exempt: false,
  },
] as const;

for (const { name, annotations, namespace, exempt } of exemptions) {
  test(`isExempt: ${name}`, () =>
    assert.equal(isExempt(reviewedPod({}, { annotations }), namespace, "latchkey-system"), exempt));
}

const records = [
  sidecarRecord("zz-all"),
  sidecarRecord("in-a", { namespace: "team-a" }),
  sidecarRecord("in-b", { namespace: "team-b" }),
  sidecarRecord("a-labelled", { namespaceSelector: { matchLabels: { sidecars: "on" } } }),
  sidecarRecord("other-app", { selector: { matchLabels: { app: "y" } } }),
  sidecarRecord("both", { namespace: "team-a", namespaceSelector: { matchLabels: { sidecars: "on" } } }),
  sidecarRecord("empty", { selector: {} }),
  sidecarRecord("empty-namespaces", { namespaceSelector: {} }),
];

const matches = [
  { name: "in team-a", labels: { app: "x" }, namespace: { name: "team-a" }, sets: ["both", "in-a", "zz-all"] },
  { name: "in team-b", labels: { app: "x" }, namespace: { name: "team-b", labels: {} }, sets: ["in-b", "zz-all"] },
  {
    name: "in a labelled namespace",
    labels: { app: "x" },
    namespace: { name: "team-c", labels: { sidecars: "on" } },
    sets: ["a-labelled", "zz-all"],
  },
  { name: "of another app", labels: { app: "y" }, namespace: { name: "team-a" }, sets: ["other-app"] },
  { name: "without labels", labels: undefined, namespace: { name: "team-a" }, sets: [] },
];

for (const { name, labels, namespace, sets } of matches) {
  test(`matchingSets: a Pod ${name}`, () =>
    assert.deepEqual(
      matchingSets(records, labels, namespace).map(({ metadata }) => metadata.name),
      sets,
    ));
}
