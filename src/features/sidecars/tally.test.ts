import assert from "node:assert/strict";
import { test } from "node:test";
import { type PodParts, podRecord } from "../../testing/pod-records.ts";
import { talliesOf } from "./tally.ts";

const reference = (name: string) => ({ namespace: "vault", name, written: "vault", mayBeLocal: false });
const references = [reference("pull"), reference("else")];
const changedAt = "2026-01-01T00:00:10Z";
const at = (seconds: string) => ({ creationTimestamp: `2026-01-01T00:00:${seconds}Z` });
const both = ["vault/pull=vault-pull", "vault/else=vault-else"];

const cases = [
  { name: "given both", pod: { given: both }, created: "20", named: ["pull", "else"], lacking: [] },
  { name: "given one", pod: { given: both.slice(0, 1) }, created: "20", named: ["pull"], lacking: ["else"] },
  { name: "given none", pod: {}, created: "20", named: [], lacking: ["pull", "else"] },
  { name: "as old as the spec", pod: {}, created: "10", named: [], lacking: ["pull", "else"] },
  { name: "older than the spec", pod: {}, created: "09", named: [], lacking: [] },
  { name: "older, but known", pod: {}, created: "09", known: ["team-a vault/else"], named: [], lacking: ["else"] },
  { name: "known elsewhere", pod: {}, created: "09", known: ["team-b vault/else"], named: [], lacking: [] },
  {
    name: "given both, but naming none",
    pod: { given: both, names: ["own"] },
    ...{ created: "20", named: [], lacking: [] },
  },
] satisfies readonly {
  name: string;
  pod: PodParts;
  created: string;
  known?: readonly string[];
  named: readonly string[];
  lacking: readonly string[];
}[];

for (const { name, pod, created, known = [], named, lacking } of cases) {
  test(`talliesOf: a Pod ${name}`, () => {
    const injected = [podRecord("team-a/web", { ...pod, metadata: at(created) })];
    const tallies = talliesOf({ references, changedAt }, injected, new Set(known));
    const those = (isMeant: (tally: (typeof tallies)[number]) => boolean) =>
      tallies.filter(isMeant).map((tally) => tally.reference.name);
    assert.deepEqual(
      those(({ pods, namespaces }) => pods === 1 && namespaces.has("team-a")),
      named,
    );
    assert.deepEqual(
      those((tally) => tally.lacking.has("team-a")),
      lacking,
    );
  });
}

test("talliesOf: of many Pods", () => {
  const given = both.slice(0, 1);
  const injected = ["team-a/one", "team-a/two", "team-b/one"].map((key) =>
    podRecord(key, { given, metadata: at("20") }),
  );
  const [pull, other] = talliesOf({ references, changedAt }, injected, new Set());
  assert.deepEqual([pull?.pods, [...(pull?.namespaces ?? [])]], [3, ["team-a", "team-b"]]);
  assert.deepEqual(
    [...(other?.lacking ?? [])],
    [
      ["team-a", "uid-team-a/two"],
      ["team-b", "uid-team-b/one"],
    ],
  );
});
