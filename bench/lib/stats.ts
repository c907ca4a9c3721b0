/** The value below which `share` of the values lie, by the nearest rank. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = Math.max(0, Math.ceil(share * sorted.length) - 1);
  const value = sorted[at];
  if (value === undefined) throw new Error("no values to take a percentile of");
  return value;
}

export const median = (values: readonly number[]): number => percentile(values, 0.5);
