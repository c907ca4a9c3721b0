import type { Operator } from "../../tools/local/operator.ts";

/** The sum of one of the operator's counters over everything that a webhook did; throws if it has no such counter. */
export async function webhookCount({ metricsUrl }: Operator, name: string, hook: string): Promise<number> {
  const text = await (await fetch(`${metricsUrl}/metrics`)).text();
  if (!text.includes(`# TYPE ${name} counter`)) throw new Error(`void: the operator has no metric ${name}`);
  const lines = text.split("\n").filter((line) => line.startsWith(`${name}{`) && line.includes(`hook="${hook}"`));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}
