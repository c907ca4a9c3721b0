import { Gauge } from "prom-client";
import { type SecretSync, targetStates } from "../../api/secret-sync.ts";
import { registry } from "../../kube/metrics.ts";

let listSyncs: () => Iterable<SecretSync> = () => [];

new Gauge({
  name: "latchkey_secretsync_targets",
  help: "Destinations of all SecretSyncs, by their state; every replica tells the same.",
  labelNames: ["state"] as const,
  registers: [registry],
  collect() {
    for (const state of targetStates) this.set({ state }, 0);
    for (const sync of listSyncs()) for (const { state } of sync.status?.targets ?? []) this.inc({ state });
  },
});

/** Counted when somebody asks, from what the SecretSyncs themselves say. */
export function countTargets(list: () => Iterable<SecretSync>): void {
  listSyncs = list;
}
