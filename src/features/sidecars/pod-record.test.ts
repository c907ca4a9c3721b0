import assert from "node:assert/strict";
import { test } from "node:test";
import { injectedPod, type PodParts, podRecord } from "../../testing/pod-records.ts";
import { podIndexes, podRecordOf } from "./pod-record.ts";

test("podRecordOf: keeps what decides, and no more", () => {
  const pod = injectedPod("team-a/web", {
    sets: ["logs", "mesh"],
    given: ["vault/pull=vault-pull"],
    names: ["own", "vault-pull"],
    hashes: { logs: "h1" },
    containers: ["shipper", "app"],
    initContainers: ["init"],
    annotations: { note: "x".repeat(10_000), "kubernetes.io/config.mirror": "m" },
  });
  const { metadata, ...record } = podRecordOf(pod);
  assert.deepEqual(record, {
    injected: ["logs", "mesh"],
    hashes: new Map([["logs", "h1"]]),
    pullSecrets: new Map([["vault/pull", "vault-pull"]]),
    names: new Set(["own", "vault-pull"]),
    containers: ["shipper", "app"],
    initContainers: ["init"],
    isFinished: false,
    isReady: true,
  });
  assert.deepEqual(metadata.annotations, { "kubernetes.io/config.mirror": "m" });
  assert.equal(metadata.labels?.app, "x");
});

test("podRecordOf: a Pod with nothing but its name", () => {
  const { metadata } = injectedPod("team-a/bare");
  const record = podRecordOf({ metadata: { ...metadata, labels: {}, annotations: {} } });
  assert.deepEqual([record.injected, record.names.size, record.isFinished, record.isReady], [[], 0, false, false]);
});

const states = [
  { name: "running and ready", parts: {}, isFinished: false, isReady: true },
  { name: "running, not ready", parts: { isReady: false }, isFinished: false, isReady: false },
  { name: "pending", parts: { phase: "Pending", isReady: false }, isFinished: false, isReady: false },
  { name: "pending though ready", parts: { phase: "Pending" }, isFinished: false, isReady: false },
  { name: "unknown", parts: { phase: "Unknown" }, isFinished: false, isReady: false },
  { name: "succeeded", parts: { phase: "Succeeded", isReady: false }, isFinished: true, isReady: false },
  { name: "failed", parts: { phase: "Failed", isReady: false }, isFinished: true, isReady: false },
] satisfies readonly { name: string; parts: PodParts; isFinished: boolean; isReady: boolean }[];

for (const { name, parts, ...wanted } of states) {
  test(`podRecordOf: ${name}`, () => {
    const { isFinished, isReady } = podRecord("team-a/web", parts);
    assert.deepEqual({ isFinished, isReady }, wanted);
  });
}

test("podIndexes: how a Pod is found", () => {
  const given = ["vault/pull=vault-pull", "vault/other=vault-other"];
  const record = podRecord("team-a/web", { sets: ["logs", "mesh"], given });
  const found = Object.fromEntries(Object.entries(podIndexes).map(([name, valuesOf]) => [name, valuesOf(record)]));
  assert.deepEqual(found, {
    set: ["logs", "mesh"],
    source: ["vault/pull", "vault/other"],
    claim: ["team-a/vault-pull", "team-a/vault-other"],
    namespace: ["team-a"],
  });
});

test("podRecordOf: Pods of one kind share what they say", () => {
  const parts = { given: ["vault/pull=vault-pull"], hashes: { logs: "h" }, initContainers: ["init"] };
  const [one, two] = ["team-a/web-1", "team-a/web-2"].map((key) => podRecord(key, parts));
  assert.ok(one && two);
  for (const part of ["injected", "hashes", "pullSecrets", "names", "containers", "initContainers"] as const) {
    assert.equal(one[part], two[part], part);
  }
  assert.equal(one.metadata.labels, two.metadata.labels);
});
