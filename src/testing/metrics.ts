import { testEnvironment } from "./cluster.ts";

/** The operator's `/metrics` as text. */
export async function scrape(): Promise<string> {
  const response = await fetch(new URL("/metrics", testEnvironment("LATCHKEY_TEST_METRICS")));
  if (!response.ok) throw new Error(`/metrics answered ${response.status}`);
  return response.text();
}

/** The sum of all samples of a metric whose labels include these; `undefined` if there is none. */
export function sampleIn(
  metrics: string,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const wanted = Object.entries(labels).map(([key, value]) => `${key}="${value}"`);
  const values = metrics.split("\n").flatMap((line) => {
    const [, found, inside = "", value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    return found === name && wanted.every((pair) => inside.split(",").includes(pair)) ? [Number(value)] : [];
  });
  return values.length > 0 ? values.reduce((sum, value) => sum + value, 0) : undefined;
}
