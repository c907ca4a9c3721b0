import type { Metadata } from "../api/objects.ts";
import type { Pod, PodSpec } from "../api/pods.ts";
import type { SidecarSetSpec, SidecarSetStatus } from "../api/sidecar-set.ts";
import { recordOf, type SidecarSetRecord, type SidecarsMode } from "../features/sidecars/record.ts";

export interface RecordParts {
  readonly mode?: SidecarsMode;
  readonly metadata?: Partial<Metadata>;
  readonly status?: SidecarSetStatus;
}

export const metadataOf = (name: string, more: Partial<Metadata> = {}): Metadata => ({
  name,
  uid: `uid-${name}`,
  resourceVersion: "1",
  generation: 1,
  creationTimestamp: "2026-01-01T00:00:00Z",
  ...more,
});

/** A SidecarSet for Pods labelled `app: x`, as a cache would keep it. */
export function sidecarRecord(
  name: string,
  spec: Partial<SidecarSetSpec> = {},
  { mode = "instead", metadata, status }: RecordParts = {},
): SidecarSetRecord {
  const object = {
    apiVersion: "apps.kruise.io/v1alpha1",
    kind: "SidecarSet",
    metadata: metadataOf(name, metadata),
    spec: { selector: { matchLabels: { app: "x" } }, ...spec },
    ...(status && { status }),
  };
  return recordOf(object, { mode, defaultNamespace: "default" });
}

/** A Pod as a review shows it. */
export const reviewedPod = (spec: PodSpec = {}, metadata: Partial<Metadata> = {}): Pod => ({
  metadata: metadataOf("web", metadata),
  spec: { containers: [{ name: "app", image: "app:1" }], ...spec },
});
