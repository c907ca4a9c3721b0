import { withDeadline } from "../kube/deadline.ts";
import { FencedError, isTransient } from "../kube/errors.ts";
import type { Log } from "../kube/log.ts";
import type { Outcome } from "./outcome.ts";

/** How a pass ended. */
export type Ending =
  | { readonly kind: "done"; readonly recheckAfterMs?: number | undefined }
  /** The controller wants another try. */
  | { readonly kind: "retry"; readonly recheckAfterMs?: number | undefined }
  /** The object in the cache was behind the one in the cluster. */
  | { readonly kind: "conflict" }
  | { readonly kind: "failed" }
  /** Cut off, as leadership was lost: whoever leads next begins anew. */
  | { readonly kind: "stopped" };

export function endingOf({ retry, recheckAfterMs }: Pick<Outcome, "retry" | "recheckAfterMs">): Ending {
  return { kind: retry ? "retry" : "done", recheckAfterMs };
}

interface PassLimits {
  readonly timeoutMs?: number | undefined;
  /** Ends with the term. */
  readonly signal: AbortSignal | undefined;
  readonly log: Log;
  /** For a failure that is to be shown as well as logged. It must not throw. */
  onFailure?(error: unknown): Promise<void>;
}

const defaultTimeoutMs = 120_000;
/** How long a pass that was told to end may take to do so. */
const abandonAfterMs = 10_000;

/** Runs one pass within its time. Never throws. */
export async function timedPass(act: (signal: AbortSignal) => Promise<Ending>, limits: PassLimits): Promise<Ending> {
  const { timeoutMs = defaultTimeoutMs, signal: term, log } = limits;
  try {
    return await withDeadline(timeoutMs, term, async (signal) => {
      try {
        return await unlessAbandoned(act(signal), signal);
      } catch (cause) {
        // Whatever broke first when the time was up, it is the deadline that people should read about.
        if (!signal.aborted || term?.aborted) throw cause;
        throw new Error(`the pass took longer than ${timeoutMs / 1000} s`, { cause });
      }
    });
  } catch (error) {
    if (term?.aborted || error instanceof FencedError) return { kind: "stopped" };
    // An API server that is away is told by the caches, once; here it would be a line per object and retry.
    if (isTransient(error)) log.debug("pass failed", { error });
    else log.warn("pass failed", { error });
    await limits.onFailure?.(error);
    return { kind: "failed" };
  }
}

/** A pass that does not heed its signal is left behind: fenced, it can do no harm, and its key is free again. */
async function unlessAbandoned<R>(work: Promise<R>, signal: AbortSignal): Promise<R> {
  const { promise: abandoned, reject } = Promise.withResolvers<never>();
  let timer: NodeJS.Timeout | undefined;
  const onAbort = () => {
    timer = setTimeout(() => reject(signal.reason), abandonAfterMs);
  };
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([work, abandoned]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}
