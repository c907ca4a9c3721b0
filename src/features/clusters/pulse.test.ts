import assert from "node:assert/strict";
import { test } from "node:test";
import { Pulse } from "./pulse.ts";

function world() {
  let nowMs = 0;
  const pulse = new Pulse(() => nowMs);
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { pulse, pass };
}

test("a cluster that answers or whose watches speak is not asked, a silent one every ten seconds", () => {
  const { pulse, pass } = world();
  pulse.heard();
  assert.equal(pulse.isDoubtful([]), false);
  assert.equal(pulse.nextBeatMs([]), 10_000);
  pass(4_000);
  assert.equal(pulse.nextBeatMs([]), 6_000);
  pass(6_000);
  assert.equal(pulse.isDoubtful([]), true);
  assert.equal(pulse.isDoubtful([60_000, 3_000]), false, "a watch has just spoken");
  assert.equal(pulse.nextBeatMs([60_000, 3_000]), 7_000);
});

test("trouble counts from its first sign, has it asked every second, and ends with an answer", () => {
  const { pulse, pass } = world();
  pulse.heard();
  pulse.doubt();
  pass(4_000);
  pulse.doubt();
  assert.equal(pulse.leftMs, 6_000);
  assert.equal(pulse.isDoubtful([0]), true);
  assert.equal(pulse.nextBeatMs([0]), 1_000);
  pass(6_000);
  assert.equal(pulse.leftMs, 0);
  pulse.heard();
  assert.equal(pulse.isTroubled, false);
  assert.equal(pulse.leftMs, 10_000);
});

test("what was only about to be tried is no trouble once it is known to be of no use", () => {
  const { pulse, pass } = world();
  pulse.doubt();
  pass(20_000);
  pulse.clear();
  assert.equal(pulse.leftMs, 10_000);
  assert.equal(pulse.isTroubled, false);
});
