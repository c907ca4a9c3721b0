import { standInLabel } from "../api/marks.ts";
import { crdNameOf, crds, type KubeObject, type Resource } from "../api/objects.ts";
import type { Call, Kube } from "./client.ts";

/** Whose CRD the cluster has: nobody's, the one Latchkey installed, or somebody else's. */
export type CrdState = "absent" | "stand-in" | "foreign";

export async function getCrdState(kube: Kube, kind: Resource, call: Call = {}): Promise<CrdState> {
  return crdStateOf(await kube.getMetadata(crds, { name: crdNameOf(kind) }, call));
}

export function crdStateOf(crd: KubeObject | undefined): CrdState {
  if (!crd) return "absent";
  return crd.metadata.labels?.[standInLabel] === "true" ? "stand-in" : "foreign";
}
