import type { Operator } from "../../tools/local/operator.ts";

/** The sum of one of the operator's counters, over the series that are wanted; throws if it has no such counter. */
export async function countOf(
  { metricsUrl }: Operator,
  name: string,
  isWanted: (series: string) => boolean = () => true,
): Promise<number> {
  const text = await (await fetch(`${metricsUrl}/metrics`)).text();
  if (!text.includes(`# TYPE ${name} counter`)) throw new Error(`void: the operator has no metric ${name}`);
  return sumOf(text, name, isWanted);
}

/** Over everything that a webhook did. */
export const webhookCount = (operator: Operator, name: string, hook: string): Promise<number> =>
  countOf(operator, name, (series) => series.includes(`hook="${hook}"`));

/** The sum over all series of a metric in a text that a Prometheus would read. */
export function sumOf(text: string, name: string, isWanted: (series: string) => boolean = () => true): number {
  const lines = text.split("\n").filter((line) => line.startsWith(`${name}{`) && isWanted(line));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}
