const unitMs = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1, us: 1e-3, µs: 1e-3, μs: 1e-3, ns: 1e-6 } as const;
/** What fits into Go's 64 bits of nanoseconds: 292 years. */
const maxMs = 2 ** 63 / 1e6;

const whole = /^\+?(?:(?:\d+\.?\d*|\.\d+)(?:h|ms|m|s|us|µs|μs|ns))+$/u;
const part = /([\d.]+)(h|ms|m|s|us|µs|μs|ns)/gu;

/** A duration as Go writes it (`1h30m`, `1.5h`, `500ms`, `0`) in milliseconds; none is negative. */
export function parseDuration(text: string): number {
  if (text === "0") return 0;
  if (!whole.test(text)) throw new Error(`${JSON.stringify(text)} is not a duration such as 90s, 1h30m or 500ms`);
  let sum = 0;
  for (const [, number, unit] of text.matchAll(part)) sum += Number(number) * unitMs[unit as keyof typeof unitMs];
  if (sum > maxMs) throw new Error(`${JSON.stringify(text)} is too long a duration`);
  return Math.round(sum);
}
