import { parseDuration } from "../../kube/duration.ts";

/** `1h30m` in milliseconds; the CRD has checked the form. */
export function parseInterval(text: string): number {
  const ms = parseDuration(text);
  if (ms <= 0) throw new Error(`${JSON.stringify(text)} is not an interval`);
  return ms;
}

/** Up to 5 % longer, so that many SecretSyncs do not read in step. */
export const jittered = (ms: number, random: () => number = Math.random): number =>
  Math.round(ms * (1 + 0.05 * random()));
