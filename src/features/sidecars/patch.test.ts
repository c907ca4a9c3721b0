import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../api/pods.ts";
import { reviewedPod } from "../../testing/sidecar-records.ts";
import { patchOf } from "./patch.ts";

const plain = reviewedPod({ volumes: [{ name: "v", emptyDir: {} }] }, { labels: { app: "x" } });
const containers = [{ name: "c", image: "c:1" }];

const cases: readonly { name: string; before: Pod; after: Pod; patch: ReturnType<typeof patchOf> }[] = [
  { name: "nothing changed", before: plain, after: structuredClone(plain), patch: [] },
  {
    name: "a field changed",
    before: plain,
    after: { ...plain, spec: { ...plain.spec, containers } },
    patch: [{ op: "add", path: "/spec/containers", value: containers }],
  },
  {
    name: "fields that were not there",
    before: plain,
    after: {
      metadata: { ...plain.metadata, annotations: { a: "1" } },
      spec: { ...plain.spec, initContainers: containers, imagePullSecrets: [{ name: "s" }] },
    },
    patch: [
      { op: "add", path: "/metadata/annotations", value: { a: "1" } },
      { op: "add", path: "/spec/initContainers", value: containers },
      { op: "add", path: "/spec/imagePullSecrets", value: [{ name: "s" }] },
    ],
  },
  {
    name: "fields that went",
    before: plain,
    after: reviewedPod(),
    patch: [
      { op: "remove", path: "/metadata/labels" },
      { op: "remove", path: "/spec/volumes" },
    ],
  },
  {
    name: "what is not ours",
    before: plain,
    after: { ...plain, spec: { ...plain.spec, nodeName: "n" } },
    patch: [],
  },
];

for (const { name, before, after, patch } of cases) {
  test(`patchOf: ${name}`, () => assert.deepEqual(patchOf(before, after), patch));
}
