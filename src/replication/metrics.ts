import { Counter, Histogram } from "prom-client";
import { registry } from "../kube/metrics.ts";

export const copyWrites = new Counter({
  name: "latchkey_copy_writes_total",
  help: "Writes of copies, by what came of them.",
  labelNames: ["feature", "verb", "result"] as const,
  registers: [registry],
});

export const propagation = new Histogram({
  name: "latchkey_propagation_seconds",
  help: "From the event of a changed source until its last copy was written.",
  labelNames: ["feature"] as const,
  buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  registers: [registry],
});
