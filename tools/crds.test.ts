import assert from "node:assert/strict";
import { test } from "node:test";
import { driftOf } from "./crds.ts";

const wanted = new Map([
  ["a.yaml", "a"],
  ["b.yaml", "b"],
]);

const cases = [
  {
    name: "as it should be",
    actual: [
      ["a.yaml", "a"],
      ["b.yaml", "b"],
    ],
    drift: [],
  },
  { name: "missing", actual: [["a.yaml", "a"]], drift: ["b.yaml is missing"] },
  {
    name: "changed by hand",
    actual: [
      ["a.yaml", "x"],
      ["b.yaml", "b"],
    ],
    drift: ["a.yaml is out of date"],
  },
  { name: "left over", actual: [...wanted, ["c.yaml", "c"]], drift: ["c.yaml is not ours any more"] },
] satisfies { name: string; actual: [string, string][]; drift: string[] }[];

for (const { name, actual, drift } of cases) {
  test(`driftOf: ${name}`, () => assert.deepEqual(driftOf(wanted, new Map(actual)), drift));
}
