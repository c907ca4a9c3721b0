import type { Cluster, ClusterStatus } from "../../api/cluster.ts";
import { clusters, kubermaticConfigurations } from "../../api/kinds.ts";
import type { KubermaticConfiguration } from "../../api/kubermatic-configuration.ts";
import { statusAnnotation } from "../../api/marks.ts";
import { type Condition, type KubeObject, keyOf, type Resource } from "../../api/objects.ts";
import type { Call, Kube } from "../../kube/client.ts";
import { getCrdState } from "../../kube/crd-state.ts";
import type { Problem, Summary } from "../feature.ts";
import { parseToldStatus } from "./record.ts";

export async function summarise(kube: Kube, call: Call): Promise<Summary> {
  const isOurs = async (kind: Resource) => (await getCrdState(kube, kind, call)) === "stand-in";
  const isStandIn = await isOurs(clusters);
  const isOwn = await isOurs(kubermaticConfigurations);
  const all = await kube.list<Cluster>(clusters, {}, call);
  const configurations = await kube.list<KubermaticConfiguration>(kubermaticConfigurations, {}, call);
  const statuses = all.map((cluster) => (isStandIn ? cluster.status : parseToldStatus(cluster)));
  const isReady = (conditions: readonly Condition[] = []) =>
    conditions.some(({ type, status }) => type === "Ready" && status === "True");
  return {
    counts: [
      { what: "Clusters", count: all.length },
      { what: "Clusters served", count: statuses.filter((status) => isReady(status?.conditions)).length },
      {
        what: "namespaces served",
        count: statuses.reduce((sum, status) => sum + (status?.namespaces?.served ?? 0), 0),
      },
    ],
    table: {
      columns: ["CLUSTER", "READY", "NAMESPACES", "FROM", "MODE", "REACHABLE", "VERSION"],
      rows: all.map((cluster, at) => rowOf(cluster, statuses[at])),
    },
    problems: [
      ...all.flatMap((cluster, at) => problemWith(clusters, cluster, "Ready", statuses[at]?.conditions, isStandIn)),
      ...configurations.flatMap((each) =>
        problemWith(kubermaticConfigurations, each, "DefaultValid", conditionsOf(each, isOwn), isOwn),
      ),
    ],
  };
}

function rowOf({ metadata }: Cluster, status: ClusterStatus | undefined): readonly string[] {
  const statusOf = (wanted: string) => status?.conditions?.find(({ type }) => type === wanted)?.status ?? "Unknown";
  const { namespaces, credentialsFrom = "", injection, serverVersion = "" } = status ?? {};
  const standing = [statusOf("Ready"), namespaces?.summary ?? "", credentialsFrom, injection?.mode ?? ""];
  return [metadata.name, ...standing, statusOf("Reachable"), serverVersion];
}

const conditionsOf = (object: KubermaticConfiguration, isStandIn: boolean) =>
  isStandIn ? object.status?.conditions : parseToldStatus(object)?.conditions;

function problemWith(
  { kind }: Resource,
  { metadata }: KubeObject,
  type: string,
  conditions: readonly Condition[] | undefined,
  isStandIn: boolean,
): readonly Problem[] {
  const condition = conditions?.find((each) => each.type === type);
  const object = `${kind}/${keyOf(metadata)}`;
  if (condition?.status === "True") return [];
  if (condition) return [{ object, reason: condition.reason, message: condition.message }];
  // Beside the original, an object that we never spoke about is no business of ours.
  if (!isStandIn && metadata.annotations?.[statusAnnotation] === undefined) return [];
  return [{ object, reason: "Unseen", message: "no operator has looked at it yet" }];
}
