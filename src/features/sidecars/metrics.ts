import { Gauge } from "prom-client";
import type { SidecarSetStatus } from "../../api/sidecar-set.ts";
import { registry } from "../../kube/metrics.ts";
import type { Place, Report } from "../../pullsecrets/report.ts";
import type { SidecarSetRecord } from "./record.ts";

let listSets: () => Iterable<SidecarSetRecord> = () => [];
type Reports = Iterable<readonly [source: string, report: Report]>;
let listReports: () => Reports = () => [];

/** Counted when somebody asks, from what the SidecarSets themselves say; of one that is gone nothing is told. */
export function showPods(list: () => Iterable<SidecarSetRecord>): void {
  listSets = list;
}

export function showCopies(list: () => Reports): void {
  listReports = list;
}

type Counter = "matchedPods" | "updatedPods" | "readyPods";

const podGauge = (name: string, help: string, counter: Counter & keyof SidecarSetStatus) =>
  new Gauge({
    name,
    help,
    labelNames: ["sidecarset"] as const,
    registers: [registry],
    collect() {
      this.reset();
      for (const { metadata, status } of listSets()) {
        if (status?.[counter] !== undefined) this.set({ sidecarset: metadata.name }, status[counter]);
      }
    },
  });

podGauge("latchkey_sidecars_matched_pods", "Pods that have the containers of a SidecarSet.", "matchedPods");
podGauge("latchkey_sidecars_updated_pods", "Of these, Pods with the containers of its present spec.", "updatedPods");
podGauge("latchkey_sidecars_ready_pods", "Of the matched Pods, those that are ready.", "readyPods");

/** In the words of the status. */
const states: Readonly<Record<Place["kind"], string>> = {
  copied: "Copied",
  collision: "Collision",
  refused: "CopyRefused",
  pending: "Pending",
};

new Gauge({
  name: "latchkey_sidecars_copies",
  help: "Namespaces that need a copy of a pull secret, by what came of it; told by the leader.",
  labelNames: ["state"] as const,
  registers: [registry],
  collect() {
    for (const state of Object.values(states)) this.set({ state }, 0);
    for (const [, { places }] of listReports()) {
      for (const { kind } of places.values()) this.inc({ state: states[kind] });
    }
  },
});
