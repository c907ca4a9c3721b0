import { Counter, Gauge } from "prom-client";
import { registry } from "./metrics.ts";

/** What the metrics want to know of a cache. */
interface Observed {
  readonly name: string;
  readonly size: number;
  /** Milliseconds of `Date.now()`. */
  readonly lastHeardAt: number;
}

const observed = new Set<Observed>();
const registers = [registry];
const labelNames = ["cache"] as const;

/** Caches of one name (the same kind in several clusters, objects followed by name) show as one. */
function byName(measure: (cache: Observed) => number, join: (a: number, b: number) => number): Map<string, number> {
  const values = new Map<string, number>();
  for (const cache of observed) {
    const value = measure(cache);
    const before = values.get(cache.name);
    values.set(cache.name, before === undefined ? value : join(before, value));
  }
  return values;
}

function gauge(name: string, help: string, values: () => ReadonlyMap<string, number>): void {
  new Gauge({
    name,
    help,
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const [cache, value] of values()) this.set({ cache }, value);
    },
  });
}

gauge("latchkey_cache_objects", "Objects in a watch cache.", () =>
  byName(
    (cache) => cache.size,
    (a, b) => a + b,
  ),
);
gauge("latchkey_cache_last_event_age_seconds", "Time since a watch cache last heard from its API server.", () =>
  byName((cache) => Math.max(0, Date.now() - cache.lastHeardAt) / 1000, Math.max),
);

export const cacheLists = new Counter({
  name: "latchkey_cache_lists_total",
  help: "Complete lists a watch cache has read; more than one means its watch could not go on where it was.",
  labelNames,
  registers,
});
export const cacheFailures = new Counter({
  name: "latchkey_cache_failures_total",
  help: "Lists and watches that failed and were tried again.",
  labelNames,
  registers,
});
export const cacheListenerErrors = new Counter({
  name: "latchkey_cache_listener_errors_total",
  help: "Changes whose listener or transform threw.",
  labelNames,
  registers,
});

/** Shows the cache until the returned function is called. */
export function observeCache(cache: Observed): () => void {
  observed.add(cache);
  return () => observed.delete(cache);
}
