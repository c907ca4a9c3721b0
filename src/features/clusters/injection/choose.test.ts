import assert from "node:assert/strict";
import { test } from "node:test";
import { injectionModes } from "../../../api/cluster.ts";
import { chooseWay } from "./choose.ts";

const cases = [
  { mode: "Auto", version: "v1", kind: "Policy" },
  { mode: "Auto", version: "v1beta1", kind: "Policy" },
  { mode: "Auto", version: undefined, kind: "ServiceAccount" },
  { mode: "Policy", version: "v1", kind: "Policy" },
  { mode: "Policy", version: "v1beta1", kind: "Policy" },
  { mode: "Policy", version: undefined, kind: "unavailable" },
  { mode: "ServiceAccount", version: "v1", kind: "ServiceAccount" },
  { mode: "ServiceAccount", version: undefined, kind: "ServiceAccount" },
  { mode: "None", version: "v1", kind: "None" },
  { mode: "None", version: undefined, kind: "None" },
] as const;

for (const { mode, version, kind } of cases) {
  test(`chooseWay: ${mode} with ${version ? `policies of ${version}` : "no policies"} is ${kind}`, () => {
    const way = chooseWay(mode, version);
    assert.equal(way.kind, kind);
    if (way.kind === "Policy") assert.equal(way.version, version);
    if (way.kind === "unavailable") assert.match(way.message, /mutatingadmissionpolicies/);
  });
}

test("chooseWay: every mode there is has been decided on", () => {
  assert.deepEqual(new Set(cases.map(({ mode }) => mode)), new Set(injectionModes));
});
