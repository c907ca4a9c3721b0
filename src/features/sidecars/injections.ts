import { Counter } from "prom-client";
import { registry } from "../../kube/metrics.ts";

const injections = new Counter({
  name: "latchkey_sidecars_injections_total",
  help: "SidecarSets met by new Pods, by result: injected, skipped (it does not fit the Pod), both_names (the name of a copy was not known in time), error (the Pod was admitted as it was).",
  labelNames: ["sidecarset", "result"] as const,
  registers: [registry],
});

const results = ["injected", "skipped", "both_names"] as const;

/** Of a SidecarSet that is gone nothing is told. */
export function forgetInjections(sidecarset: string): void {
  for (const result of results) injections.remove({ sidecarset, result });
}

/** An error is no SidecarSet's. */
export function countInjection(result: (typeof results)[number] | "error", sidecarset = ""): void {
  injections.inc({ sidecarset, result });
}
