import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Operator } from "../../tools/local/operator.ts";
import { sampleIn } from "./metrics.ts";

const patienceMs = 60_000;

export const metricsOf = async ({ metricsUrl }: Operator) => await (await fetch(`${metricsUrl}/metrics`)).text();

export async function untilMode(operator: Operator, feature: string, mode: string): Promise<void> {
  for (const deadline = performance.now() + patienceMs; ; await sleep(50)) {
    if (sampleIn(await metricsOf(operator), "latchkey_feature_mode", { feature, mode }) === 1) return;
    if (performance.now() > deadline) throw new Error(`${feature} does not come to be ${mode}`);
  }
}

export const readyLines = (operator: Operator) => operator.logs().filter(({ message }) => message === "ready");

/** Of as many generations as that: fewer would be one too slow, more a loop. */
export async function untilReady(operator: Operator, times: number): Promise<void> {
  for (const deadline = performance.now() + patienceMs; readyLines(operator).length < times; await sleep(50)) {
    if (performance.now() > deadline) throw new Error(`ready ${readyLines(operator).length} times, not ${times}`);
  }
  assert.equal(readyLines(operator).length, times);
  assert.equal((await fetch(`${operator.metricsUrl}/readyz`)).status, 200);
  assert.equal(operator.ending, undefined);
}
