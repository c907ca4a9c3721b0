import assert from "node:assert/strict";
import { test } from "node:test";
import { reachOf } from "./serve.ts";

const local = "https://127.0.0.1:9443";
const given = "https://hooks.example:8443";
const config = { namespace: "operators", leaderElect: true, admissionAddress: ":9443" };
const service = { kind: "service", namespace: "operators" } as const;

const cases = [
  { name: "in a cluster: the Service", isInCluster: true, admissionUrl: undefined, reach: service },
  { name: "in a cluster with a URL: the Service all the same", isInCluster: true, admissionUrl: given, reach: service },
  {
    name: "outside: its own address",
    isInCluster: false,
    admissionUrl: undefined,
    reach: { kind: "url", baseUrl: local },
  },
  {
    name: "outside with a URL: that one",
    isInCluster: false,
    admissionUrl: given,
    reach: { kind: "url", baseUrl: given },
  },
] as const;

for (const { name, isInCluster, admissionUrl, reach } of cases) {
  test(`reachOf: ${name}`, () => assert.deepEqual(reachOf({ ...config, isInCluster, admissionUrl }, local), reach));
}
