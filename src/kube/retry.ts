import { backoffMs } from "./backoff.ts";
import { ApiError, isTransientStatus, UnreachableError } from "./errors.ts";

export const maxAttempts = 5;
const backoff = { baseMs: 100, maxMs: 5_000 };

/** The connection never stood: whatever was to be sent was not. */
const neverSent = [
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_PRX_CONN",
];
/** The connection stood and was lost: nobody knows how far the request came. */
const lost = ["ECONNRESET", "EPIPE", "ETIMEDOUT", "UND_ERR_SOCKET", "UND_ERR_DESTROYED", "UND_ERR_CLOSED"];

/**
 * How long to wait before trying again; undefined: not again. What may have been carried out already is repeated only
 * if twice is as good as once; otherwise the caller looks at what is there and converges.
 */
export function retryWaitMs(
  error: unknown,
  { attempt, isRepeatable }: { readonly attempt: number; readonly isRepeatable: boolean },
): number | undefined {
  if (attempt + 1 >= maxAttempts || !isWorthRepeating(error, isRepeatable)) return undefined;
  const asked = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
  return asked + backoffMs(attempt, backoff);
}

function isWorthRepeating(error: unknown, isRepeatable: boolean): boolean {
  if (error instanceof UnreachableError) {
    return neverSent.includes(error.code) || (isRepeatable && lost.includes(error.code));
  }
  if (!(error instanceof ApiError)) return false;
  // Turned away at the door.
  if (error.status === 429) return true;
  if (error.status === 503 && error.retryAfterMs !== undefined) return true;
  return isRepeatable && isTransientStatus(error.status, error.reason);
}
