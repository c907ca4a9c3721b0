import assert from "node:assert/strict";
import { test } from "node:test";
import { type PodParts, podRecord } from "../../testing/pod-records.ts";
import { sidecarRecord } from "../../testing/sidecar-records.ts";
import { countersOf, matchedPods, namespacesOf } from "./counters.ts";
import { isListing } from "./need.ts";
import type { PodRecord } from "./pod-record.ts";

const set = sidecarRecord("logs", {
  namespaceSelector: { matchLabels: { sidecars: "on" } },
  containers: [{ name: "shipper", image: "shipper:1" }],
  initContainers: [{ name: "prepare", image: "prepare:1" }],
});

const surroundings = {
  ownNamespace: "latchkey-system",
  factsOf: (name: string) => ({ name, labels: name.startsWith("on-") ? { sidecars: "on" } : {} }),
};

const matchedAmong = (pods: readonly PodRecord[]) =>
  matchedPods(
    set,
    pods.filter((pod) => isListing(pod, set, surroundings)),
  );

const whole: PodParts = { containers: ["shipper", "app"], initContainers: ["prepare"] };

const cases = [
  { name: "as injected", pod: whole, matched: true },
  { name: "not ready", pod: { ...whole, isReady: false }, matched: true },
  { name: "finished", pod: { ...whole, phase: "Succeeded" }, matched: false },
  { name: "of another SidecarSet", pod: { ...whole, sets: ["mesh"] }, matched: false },
  { name: "of several", pod: { ...whole, sets: ["logs", "mesh"] }, matched: true },
  { name: "with other labels", pod: { ...whole, labels: { app: "y" } }, matched: false },
  { name: "without a container", pod: { ...whole, containers: ["app"] }, matched: false },
  { name: "without an init container", pod: { ...whole, initContainers: [] }, matched: false },
  { name: "in a namespace that is not selected", pod: whole, key: "off-a/web", matched: false },
] satisfies readonly { name: string; pod: PodParts; key?: string; matched: boolean }[];

for (const { name, pod, key = "on-a/web", matched } of cases) {
  test(`matchedPods: a Pod ${name}`, () => assert.equal(matchedAmong([podRecord(key, pod)]).length, matched ? 1 : 0));
}

test("countersOf: matched, updated, ready, both", () => {
  const current = { ...whole, hashes: { logs: set.hash } };
  const pods = [
    podRecord("on-a/1", current),
    podRecord("on-a/2", { ...current, isReady: false }),
    podRecord("on-b/3", { ...whole, hashes: { logs: "former" } }),
    podRecord("on-b/4", { ...whole, isReady: false }),
    podRecord("on-b/5", { ...whole, hashes: { mesh: set.hash } }),
  ];
  assert.deepEqual(countersOf(set, pods), { matchedPods: 5, updatedPods: 2, readyPods: 3, updatedReadyPods: 1 });
  assert.deepEqual([...namespacesOf(pods)], ["on-a", "on-b"]);
});

test("countersOf: of no Pods", () =>
  assert.deepEqual(countersOf(set, []), { matchedPods: 0, updatedPods: 0, readyPods: 0, updatedReadyPods: 0 }));
