import { Counter, Gauge, Histogram } from "prom-client";
import { registry } from "../kube/metrics.ts";
import type { Mode } from "./modes.ts";

export const passes = new Counter({
  name: "latchkey_passes_total",
  help: "Passes over objects, by how they ended.",
  labelNames: ["controller", "result"],
  registers: [registry],
});

export const passSeconds = new Histogram({
  name: "latchkey_pass_seconds",
  help: "How long passes take.",
  labelNames: ["controller"],
  buckets: [0.005, 0.02, 0.1, 0.5, 2, 10, 60],
  registers: [registry],
});

const queues = new Map<() => number, string>();

new Gauge({
  name: "latchkey_queue_depth",
  help: "Objects waiting for a pass that could run now.",
  labelNames: ["controller"],
  registers: [registry],
  collect() {
    this.reset();
    for (const [depth, controller] of queues) this.inc({ controller }, depth());
  },
});

/** Shows a queue's depth until the returned function is called; queues of one name (one for each cluster) show as one. */
export function showQueue(controller: string, depth: () => number): () => void {
  queues.set(depth, controller);
  return () => queues.delete(depth);
}

export const leader = new Gauge({
  name: "latchkey_leader",
  help: "1 on the replica that acts, 0 on a standby.",
  registers: [registry],
});

const featureMode = new Gauge({
  name: "latchkey_feature_mode",
  help: "1 for the mode each feature is in.",
  labelNames: ["feature", "mode"],
  registers: [registry],
});

const modes: readonly Mode[] = ["instead", "beside", "off"];

export function showMode(feature: string, mode: Mode): void {
  for (const each of modes) featureMode.set({ feature, mode: each }, each === mode ? 1 : 0);
}
