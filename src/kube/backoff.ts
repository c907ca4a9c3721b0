interface Backoff {
  readonly baseMs: number;
  readonly maxMs: number;
  /** Share of the wait that is random, 0 to 1; half of it unless told. */
  readonly jitter?: number;
}

/** Doubles from `baseMs` with each attempt (the first is 0) up to `maxMs`; the jitter only ever shortens the wait. */
export function backoffMs(
  attempt: number,
  { baseMs, maxMs, jitter = 0.5 }: Backoff,
  random: () => number = Math.random,
): number {
  const full = Math.min(maxMs, baseMs * 2 ** Math.max(0, attempt));
  return full * (1 - jitter * random());
}
