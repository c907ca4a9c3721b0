import { setTimeout as sleep } from "node:timers/promises";
import { namespaces } from "./api/objects.ts";
import type { Config } from "./config.ts";
import { backoffMs } from "./kube/backoff.ts";
import type { Call, Kube } from "./kube/client.ts";
import { isReason, isTransient } from "./kube/errors.ts";
import type { Log } from "./kube/log.ts";

/** What every step of the start is given. */
export interface Run {
  readonly signal: AbortSignal;
  readonly log: Log;
}

/** Repeats a step of the start for as long as the API server is away; any other failure is thrown. */
export async function whenReachable<T>(task: () => Promise<T>, { log, signal }: Run): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await task();
    } catch (error) {
      if (signal.aborted || !isTransient(error)) throw error;
      if (attempt === 0) log.warn("waiting for the API server", { error });
      await sleep(backoffMs(attempt, { baseMs: 250, maxMs: 5000 }), undefined, { signal });
    }
  }
}

/** In a cluster the namespace is there, since we run in it. */
export async function ensureNamespace(kube: Kube, { isInCluster, namespace }: Config, call: Call): Promise<void> {
  if (isInCluster || (await kube.getMetadata(namespaces, { name: namespace }, call))) return;
  try {
    await kube.create(namespaces, { metadata: { name: namespace } }, call);
  } catch (error) {
    if (!isReason(error, "AlreadyExists")) throw error;
  }
}
