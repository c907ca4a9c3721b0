import assert from "node:assert/strict";
import { test } from "node:test";
import { type Decision, decide } from "./decide.ts";
import type { SourceState } from "./report.ts";

const cases: {
  state: SourceState;
  isListed?: boolean;
  isRetained?: boolean;
  isHeld?: boolean;
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
  { state: { kind: "missing" }, missingForMs: 3000, isRetained: true, decision: { kind: "collect" } },
  { state: { kind: "vetoed" }, isRetained: true, decision: { kind: "revoke" } },
  { state: { kind: "vetoed" }, isHeld: true, decision: { kind: "collect" } },
  { state: { kind: "type-rejected", type: "Opaque" }, isHeld: true, decision: { kind: "collect" } },
  { state: { kind: "usable" }, isHeld: true, decision: { kind: "serve" } },
];
for (const each of cases) {
  const { state, isListed = true, isRetained = false, isHeld = false, hasCopies = true, missingForMs = 0 } = each;
  const facts = [
    ...[!isListed && "not listed", isRetained && "retained", isHeld && "held", !hasCopies && "no copies"],
  ].filter(Boolean);
  test(`decide: ${[state.kind, ...facts, `${missingForMs} ms`].join(", ")}: ${each.decision.kind}`, () =>
    assert.deepEqual(decide({ state, isListed, isRetained, isHeld, hasCopies, missingForMs }), each.decision));
}
