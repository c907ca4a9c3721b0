import assert from "node:assert/strict";
import { test } from "node:test";
import { Demand } from "./demand.ts";

const source = "vault/quay";
const copy = { namespace: "team-a", name: "vault-quay" };
const nothing = { references: [], excluded: [], retains: false };

/** A cluster that is to have nothing any more. */
function demandOf(woken: string[]): Demand {
  const unused = undefined as never;
  return new Demand(nothing, {
    ...{ home: unused, replication: unused, installation: unused, recorded: unused, begun: Promise.resolve() },
    pullSecrets: { copyIn: unused, reportOf: unused, wake: (key) => void woken.push(key) },
    onReport: () => {},
  });
}

test("a copy waits for the injection and a moment longer, and is asked about again, also when the clock was early", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const woken: string[] = [];
  using demand = demandOf(woken);
  assert.equal(await demand.mayGo(copy, source), false, "Pods are still given its name");
  demand.noteSettled();
  for (const times of [1, 2]) {
    // The clock by which it decides has hardly moved.
    t.mock.timers.tick(3_000);
    assert.deepEqual(woken, Array(times).fill(source));
    assert.equal(await demand.mayGo(copy, source), false);
  }
});
