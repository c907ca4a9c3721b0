import assert from "node:assert/strict";
import { test } from "node:test";
import { type Decision, decide } from "./decide.ts";
import type { SourceState } from "./report.ts";

const cases: {
  state: SourceState;
  isListed?: boolean;
  hasCopies?: boolean;
  missingForMs?: number;
  decision: Decision;
}[] = [
  { state: { kind: "usable" }, decision: { kind: "serve" } },
  { state: { kind: "usable" }, isListed: false, decision: { kind: "collect" } },
  { state: { kind: "unreadable", message: "no" }, decision: { kind: "collect" } },
  { state: { kind: "unreadable", message: "no" }, isListed: false, decision: { kind: "collect" } },
  { state: { kind: "vetoed" }, decision: { kind: "revoke" } },
  { state: { kind: "vetoed" }, isListed: false, decision: { kind: "revoke" } },
  { state: { kind: "is-a-copy", original: "a/b" }, decision: { kind: "revoke" } },
  { state: { kind: "type-rejected", type: "Opaque" }, decision: { kind: "revoke" } },
  { state: { kind: "missing" }, decision: { kind: "wait", forMs: 3000 } },
  { state: { kind: "missing" }, missingForMs: 2000, decision: { kind: "wait", forMs: 1000 } },
  { state: { kind: "missing" }, missingForMs: 3000, decision: { kind: "revoke" } },
  { state: { kind: "missing" }, missingForMs: 3000, isListed: false, decision: { kind: "revoke" } },
  { state: { kind: "missing" }, hasCopies: false, decision: { kind: "revoke" } },
];
for (const { state, isListed = true, hasCopies = true, missingForMs = 0, decision } of cases) {
  const what = `${state.kind}${isListed ? "" : ", not listed"}${hasCopies ? "" : ", no copies"}, ${missingForMs} ms`;
  test(`decide: ${what}: ${decision.kind}`, () =>
    assert.deepEqual(decide({ state, isListed, hasCopies, missingForMs }), decision));
}
