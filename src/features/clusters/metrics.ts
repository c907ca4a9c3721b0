import { Gauge } from "prom-client";
import { registry } from "../../kube/metrics.ts";
import type { ConfigurationRecord } from "./configuration-record.ts";
import type { Link } from "./link.ts";
import type { ClusterRecord } from "./record.ts";

/** What is told about clusters, when somebody asks: from the Clusters themselves, and of those this replica serves. */
interface Shown {
  clusters(): Iterable<ClusterRecord>;
  links(): Iterable<Link>;
  counting(): ConfigurationRecord | undefined;
}

const nothing: Shown = { clusters: () => [], links: () => [], counting: () => undefined };
let shown = nothing;

export function showClusters(what: Shown | undefined): void {
  shown = what ?? nothing;
}

const registers = [registry];

function gauge<const L extends string>(
  name: string,
  help: string,
  labelNames: readonly L[],
  values: () => Iterable<readonly [labels: Partial<Record<L, string>>, value: number]>,
): void {
  new Gauge({
    ...{ name, help, labelNames, registers },
    collect() {
      this.reset();
      // Without labels a reset leaves a zero.
      if (labelNames.length === 0) this.remove();
      for (const [labels, value] of values()) this.set(labels, value);
    },
  });
}

const conditionOf = ({ status }: ClusterRecord, wanted: string) =>
  status?.conditions?.find(({ type }) => type === wanted);

gauge("latchkey_cluster_reachable", "1 for a cluster whose API server answers.", ["cluster"], () =>
  [...shown.clusters()].flatMap((record) => {
    const condition = conditionOf(record, "Reachable");
    return condition ? [[{ cluster: record.metadata.name }, condition.status === "True" ? 1 : 0]] : [];
  }),
);

gauge("latchkey_cluster_namespaces", "Namespaces of a cluster, by how they stand.", ["cluster", "state"], () =>
  [...shown.clusters()].flatMap(({ metadata: { name: cluster }, status }) => {
    const { served = 0, excluded = 0, failed = 0 } = status?.namespaces ?? {};
    const states = { complete: served - failed, failed, excluded };
    return Object.entries(states).map(([state, count]) => [{ cluster, state }, count] as const);
  }),
);

gauge("latchkey_cluster_copies", "Copies in a cluster, by the state of their pull secret.", ["cluster", "state"], () =>
  [...shown.clusters()].flatMap(({ metadata: { name: cluster }, status }) => {
    const byState = new Map<string, number>();
    for (const { state, copies } of status?.imagePullSecrets ?? [])
      byState.set(state, (byState.get(state) ?? 0) + copies);
    return [...byState].map(([state, count]) => [{ cluster, state }, count] as const);
  }),
);

gauge(
  "latchkey_injection_mode",
  "1 for the way by which Pods of a cluster get their pull secrets.",
  ["cluster", "mode"],
  () =>
    [...shown.clusters()].flatMap(({ metadata: { name: cluster }, status }) => {
      const mode = status?.injection?.mode;
      return mode === undefined ? [] : [[{ cluster, mode }, 1] as const];
    }),
);

gauge(
  "latchkey_cluster_last_event_age_seconds",
  "Time since a watch last heard from a cluster; told by the leader.",
  ["cluster", "kind"],
  () =>
    [...shown.links()].flatMap((link) =>
      link.heard().map(([kind, atMs]) => {
        const cluster = link.order.record.metadata.name;
        return [{ cluster, kind }, Math.max(0, Date.now() - atMs) / 1000] as const;
      }),
    ),
);

gauge("latchkey_default_valid", "1 while the default of all clusters can be used, 0 while it cannot.", [], () => {
  const counting = shown.counting();
  const condition = counting?.status?.conditions?.find(({ type }) => type === "DefaultValid");
  return condition ? [[{}, condition.status === "True" ? 1 : 0]] : [];
});
