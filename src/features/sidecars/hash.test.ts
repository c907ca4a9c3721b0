import assert from "node:assert/strict";
import { test } from "node:test";
import type { SidecarSetSpec } from "../../api/sidecar-set.ts";
import { canonicalJson, digestOf, longRunningOf, sidecarHashesOf } from "./hash.ts";

const selector = { matchLabels: { app: "x" } };
const shipper = { name: "shipper", image: "shipper:1", args: ["-v"] };
const proxy = { name: "proxy", image: "proxy:1", restartPolicy: "Always" };
const setup = { name: "setup", image: "setup:1" };
const base: SidecarSetSpec = { selector, containers: [shipper], initContainers: [setup, proxy] };

const cases: readonly { name: string; spec: SidecarSetSpec; hash: boolean; withoutImage: boolean }[] = [
  { name: "nothing", spec: base, hash: false, withoutImage: false },
  {
    name: "the order of keys",
    spec: { ...base, containers: [{ args: ["-v"], image: "shipper:1", name: "shipper" }] },
    hash: false,
    withoutImage: false,
  },
  {
    name: "an image",
    spec: { ...base, containers: [{ ...shipper, image: "shipper:2" }] },
    hash: true,
    withoutImage: false,
  },
  {
    name: "the image of a native sidecar",
    spec: { ...base, initContainers: [setup, { ...proxy, image: "proxy:2" }] },
    hash: true,
    withoutImage: false,
  },
  { name: "arguments", spec: { ...base, containers: [{ ...shipper, args: [] }] }, hash: true, withoutImage: true },
  { name: "a container less", spec: { ...base, containers: [] }, hash: true, withoutImage: true },
  { name: "a native sidecar less", spec: { ...base, initContainers: [setup] }, hash: true, withoutImage: true },
  {
    name: "an initContainer that ends",
    spec: { ...base, initContainers: [{ ...setup, image: "setup:2" }, proxy] },
    hash: false,
    withoutImage: false,
  },
  {
    name: "pull secrets, volumes and everything else",
    spec: {
      ...base,
      selector: { matchLabels: { app: "y" } },
      volumes: [{ name: "tmp", emptyDir: {} }],
      imagePullSecrets: [{ name: "quay", namespace: "vault" }],
      injectionStrategy: { paused: true },
    },
    hash: false,
    withoutImage: false,
  },
];

for (const { name, spec, hash, withoutImage } of cases) {
  test(`sidecarHashesOf: a change of ${name}`, () => {
    const [before, after] = [sidecarHashesOf(base), sidecarHashesOf(spec)];
    assert.equal(after.hash !== before.hash, hash);
    assert.equal(after.hashWithoutImage !== before.hashWithoutImage, withoutImage);
  });
}

test("containers and native sidecars are long-running", () => {
  assert.deepEqual(longRunningOf(base), [shipper, proxy]);
  assert.deepEqual(longRunningOf({ selector }), []);
});

test("canonical JSON has the keys of every object in order, and lists as they are", () => {
  assert.equal(canonicalJson({ b: [{ d: 1, c: 2 }, 0], a: null }), '{"a":null,"b":[{"c":2,"d":1},0]}');
  assert.equal(digestOf({ a: 1, b: { c: 1, d: 2 } }), digestOf({ b: { d: 2, c: 1 }, a: 1 }));
  assert.notEqual(digestOf({ a: [1, 2] }), digestOf({ a: [2, 1] }));
});
