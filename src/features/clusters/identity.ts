import { namespaces } from "../../api/objects.ts";
import type { Kube } from "../../kube/client.ts";
import type { ClusterRecord } from "./record.ts";

/** Which cluster answers. */
export interface Identity {
  /** UID of its Namespace kube-system. */
  readonly id: string;
  readonly version: string;
}

/** Gives each question its time. */
type Within = <T>(ask: (signal: AbortSignal) => Promise<T>) => Promise<T>;

export async function identify(kube: Kube, within: Within): Promise<Identity> {
  const system = await within((signal) => kube.getMetadata(namespaces, { name: "kube-system" }, { signal }));
  const version = (await within((signal) => kube.request("GET", "/version", { signal }))) as { gitVersion?: unknown };
  if (!system) throw new Error("the cluster has no Namespace kube-system");
  return { id: system.metadata.uid, version: String(version?.gitVersion ?? "") };
}

/**
 * After a restart it is known which of two Clusters is the older one before both have answered. Only a real status is
 * believed: an annotation, which anyone may have written, has no version.
 */
export function toldIdentityOf({ status }: ClusterRecord): Identity | undefined {
  const { clusterID: id, serverVersion: version } = status ?? {};
  return id === undefined || version === undefined ? undefined : { id, version };
}
