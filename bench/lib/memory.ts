import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Operator } from "../../tools/local/operator.ts";
import type { Arena } from "./arena.ts";
import { residentMiB } from "./bare.ts";
import { tellProgress } from "./report.ts";
import { withLatchkey } from "./sidecars.ts";
import { median } from "./stats.ts";

const starts = 3;
const readings = 10;

/**
 * Resident memory in MiB of an operator that has found everything in order and done all that a start brings with it:
 * the median of several starts, for one alone depends on when the garbage collector last ran.
 */
export async function memoryAtRest(
  arena: Arena,
  whenReady: (operator: Operator, start: number) => Promise<unknown>,
): Promise<number> {
  const values: number[] = [];
  for (let start = 0; start < starts; start++) {
    await withLatchkey(arena, async (operator) => {
      await whenReady(operator, start);
      await untilIdle(operator);
      const terms = operator.logs().filter(({ message }) => message === "leading").length;
      if (terms > 1) tellProgress(`the operator was too busy to keep its lease, ${terms - 1} times`);
      values.push(await settledMiB(operator));
    });
  }
  return median(values);
}

async function settledMiB({ pid }: Operator): Promise<number> {
  const values: number[] = [];
  for (let at = 0; at < readings; at++) {
    values.push(residentMiB(pid));
    await sleep(1000);
  }
  return median(values);
}

const windowMs = 5_000;
const idleShare = 0.04;

/** Resolves once it has hardly used a processor for a while. What it hears of meanwhile was asked for long before. */
export async function untilIdle({ pid }: Operator): Promise<void> {
  for (;;) {
    const before = processorMs(pid);
    await sleep(windowMs);
    if (processorMs(pid) - before < idleShare * windowMs) return;
  }
}

/** User and system time; the kernel counts in hundredths of a second. */
function processorMs(pid: number): number {
  const stat = readFileSync(join("/proc", String(pid), "stat"), "utf8");
  const [user = 0, system = 0] = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 13)
    .map(Number);
  return (user + system) * 10;
}
