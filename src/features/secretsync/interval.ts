const unitMs = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 } as const;

/** `1h30m` in milliseconds; the CRD has checked the form. */
export function parseInterval(text: string): number {
  let sum = 0;
  for (const [, digits, unit] of text.matchAll(/(\d+)(h|ms|m|s)/g)) {
    sum += Number(digits) * unitMs[unit as keyof typeof unitMs];
  }
  if (sum <= 0) throw new Error(`${JSON.stringify(text)} is not an interval`);
  return sum;
}

/** Up to 5 % longer, so that many SecretSyncs do not read in step. */
export const jittered = (ms: number, random: () => number = Math.random): number =>
  Math.round(ms * (1 + 0.05 * random()));
