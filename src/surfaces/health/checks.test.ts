import assert from "node:assert/strict";
import { test } from "node:test";
import { controllerLives } from "./checks.ts";

const settled = { name: "secretsync", closed: Promise.reject(new Error("a defect")) };
const going = { name: "secretsync", closed: new Promise<void>(() => {}) };

const cases = [
  { name: "running", controller: going, signal: new AbortController().signal, expected: undefined },
  { name: "ended before its time", controller: settled, signal: new AbortController().signal, expected: "has ended" },
  { name: "ended with the operator", controller: settled, signal: AbortSignal.abort(), expected: undefined },
];

for (const { name, controller, signal, expected } of cases) {
  test(`controllerLives: ${name}: ${expected ?? "fine"}`, async () => {
    const check = controllerLives(controller, signal);
    await Promise.allSettled([Promise.race([controller.closed, Promise.resolve()])]);
    assert.equal(check.failing(), expected);
  });
}
