import { setTimeout as sleep } from "node:timers/promises";
import type { WatchCache } from "../../kube/cache.ts";
import type { Kube, RequestSeen } from "../../kube/client.ts";
import { withDeadline } from "../../kube/deadline.ts";
import type { Check } from "../../runtime/health.ts";
import type { RunningController } from "../../runtime/run-controller.ts";

const beatMs = 5000;
const awayAfterMs = 20_000;
const stalledAfterMs = 10 * 60_000;

/** When the API server last answered. It is asked only where nothing else has asked it for a while. */
export class Pulse {
  #heardAtMs = Number.NEGATIVE_INFINITY;

  readonly note = ({ status }: RequestSeen): void => {
    if (typeof status === "number" && status < 500) this.#heardAtMs = performance.now();
  };

  readonly check: Check = {
    name: "api-server",
    failing: () => (this.#silentMs() > awayAfterMs ? "has not answered for a while" : undefined),
  };

  /** Until aborted. */
  async beat(kube: Kube, { signal }: { readonly signal: AbortSignal }): Promise<void> {
    while (!signal.aborted) {
      if (this.#silentMs() >= beatMs) {
        // The answer is noted by `note`, and a failure is what the check is for.
        await withDeadline(beatMs, signal, (attempt) => kube.request("GET", "/version", { signal: attempt })).catch(
          () => {},
        );
      }
      await sleep(beatMs, undefined, { signal }).catch(() => {});
    }
  }

  #silentMs(): number {
    return performance.now() - this.#heardAtMs;
  }
}

type Watched = Pick<WatchCache, "name" | "isSynced" | "health">;

export function cacheIsFilled(cache: Watched): Check {
  return { name: `cache-${cache.name}`, failing: () => (cache.isSynced ? undefined : "not filled yet") };
}

export function cacheIsNotDeaf(cache: Watched): Check {
  return {
    name: `watch-${cache.name}`,
    failing: () => (cache.health.isDeaf(Date.now()) ? "has heard nothing for minutes" : undefined),
  };
}

export function controllerIsFilled(controller: RunningController): Check {
  return { name: `controller-${controller.name}`, failing: () => (controller.isSynced ? undefined : "not filled yet") };
}

/** A controller ends with the signal; one that ended before will never act again. */
export function controllerLives(
  { name, closed }: Pick<RunningController, "name" | "closed">,
  signal: AbortSignal,
): Check {
  let hasEnded = false;
  const note = () => {
    hasEnded = !signal.aborted;
  };
  void closed.then(note, note);
  return { name: `controller-${name}`, failing: () => (hasEnded ? "has ended" : undefined) };
}

export function controllerMoves(controller: RunningController): Check {
  return {
    name: `progress-${controller.name}`,
    failing: () =>
      controller.stalledMs() > stalledAfterMs ? "work is queued and no pass has ended for minutes" : undefined,
  };
}
