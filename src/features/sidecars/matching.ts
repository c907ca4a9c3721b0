import { injectLabel } from "../../api/marks.ts";
import type { Pod } from "../../api/pods.ts";
import type { SidecarSetRecord } from "./record.ts";
import type { Labels } from "./selector.ts";

export const mirrorAnnotation = "kubernetes.io/config.mirror";

/** The namespace of a request: the Pod itself may not name it yet. */
export interface NamespaceFacts {
  readonly name: string;
  readonly labels?: Labels | undefined;
}

/** Pods that are never touched: mirrors of static Pods, our own, and those of namespaces that opted out. */
export function isExempt(
  { metadata }: Pick<Pod, "metadata">,
  namespace: NamespaceFacts,
  ownNamespace: string,
): boolean {
  return (
    metadata.annotations?.[mirrorAnnotation] !== undefined ||
    namespace.name === ownNamespace ||
    namespace.labels?.[injectLabel] === "false"
  );
}

export function selectsPod(
  record: Pick<SidecarSetRecord, "selectsLabels" | "selectsNamespace">,
  labels: Labels | undefined,
  namespace: NamespaceFacts,
): boolean {
  return record.selectsLabels(labels) && record.selectsNamespace(namespace.name, namespace.labels);
}

/** In order of their names: so they apply. */
export function matchingSets(
  records: Iterable<SidecarSetRecord>,
  labels: Labels | undefined,
  namespace: NamespaceFacts,
): readonly SidecarSetRecord[] {
  const matching = [];
  for (const record of records) if (selectsPod(record, labels, namespace)) matching.push(record);
  return matching.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}
