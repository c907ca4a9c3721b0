import assert from "node:assert/strict";
import { test } from "node:test";
import { binaryNames, recipeOf } from "./go-modules.ts";

test("every Kubernetes binary is stamped with the version go.mod pins, in both packages that are asked for it", () => {
  const { ldflags, version } = recipeOf("kube-apiserver");
  const [, major, minor] = /^v(\d+)\.(\d+)\.\d+$/.exec(version) ?? [];
  const stamp = (path: string) =>
    `-X ${path}.gitVersion=${version} -X ${path}.gitMajor=${major} -X ${path}.gitMinor=${minor} -X ${path}.gitTreeState=clean`;
  assert.equal(ldflags, `-s -w ${stamp("k8s.io/component-base/version")} ${stamp("k8s.io/client-go/pkg/version")}`);
});

test("every binary has a pinned version and a place in the cache that depends on it", () => {
  for (const { version, key } of binaryNames.map(recipeOf)) {
    assert.match(version, /^v?\d+\.\d+\.\d+$/);
    assert.match(key, /-v?\d+\.\d+\.\d+-|^v\d+\.\d+\.\d+-/);
  }
});
