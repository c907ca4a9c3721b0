import assert from "node:assert/strict";
import { test } from "node:test";
import type { SourceRecord } from "../replication/source.ts";
import { judge } from "./judge.ts";

const docker = "kubernetes.io/dockerconfigjson";
const source = (more: Partial<SourceRecord>): SourceRecord => ({
  metadata: { namespace: "ns1", name: "secret1", uid: "1", resourceVersion: "1", creationTimestamp: "" },
  ...{ type: docker, keys: [], fingerprint: "", labelManagers: [], isVetoed: false },
  ...more,
});

const cases = [
  { name: "none", source: undefined, state: { kind: "missing" } },
  { name: "a config", source: source({}), state: { kind: "usable" } },
  { name: "the older form", source: source({ type: "kubernetes.io/dockercfg" }), state: { kind: "usable" } },
  { name: "opaque", source: source({ type: "Opaque" }), state: { kind: "type-rejected", type: "Opaque" } },
  {
    name: "a token",
    source: source({ type: "kubernetes.io/service-account-token" }),
    state: { kind: "type-rejected", type: "kubernetes.io/service-account-token" },
  },
  { name: "vetoed", source: source({ isVetoed: true }), state: { kind: "vetoed" } },
  { name: "a copy", source: source({ copyOf: "ns0/first" }), state: { kind: "is-a-copy", original: "ns0/first" } },
  {
    name: "a vetoed copy: the original is what helps",
    source: source({ copyOf: "ns0/first", isVetoed: true, type: "Opaque" }),
    state: { kind: "is-a-copy", original: "ns0/first" },
  },
  { name: "vetoed and opaque", source: source({ isVetoed: true, type: "Opaque" }), state: { kind: "vetoed" } },
];
for (const { name, source, state } of cases) test(`judge: ${name}`, () => assert.deepEqual(judge(source), state));
