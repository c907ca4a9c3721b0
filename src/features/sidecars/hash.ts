import { createHash } from "node:crypto";
import type { SidecarContainer, SidecarSetSpec } from "../../api/sidecar-set.ts";
import { isRecord } from "../../kube/json.ts";

/** The same text for the same content, in whatever order the keys came. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    isRecord(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner,
  );
}

export function digestOf(value: unknown): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex");
}

/** Containers and native sidecars: what runs as long as the Pod does. */
export function longRunningOf({ containers = [], initContainers = [] }: SidecarSetSpec): readonly SidecarContainer[] {
  return [...containers, ...initContainers.filter(({ restartPolicy }) => restartPolicy === "Always")];
}

interface SidecarHashes {
  readonly hash: string;
  readonly hashWithoutImage: string;
}

/** Every injected Pod carries both, so they are kept short: they tell versions apart and prove nothing. */
const hashLength = 32;

export function sidecarHashesOf(spec: SidecarSetSpec): SidecarHashes {
  const sidecars = longRunningOf(spec);
  return {
    hash: digestOf(sidecars).slice(0, hashLength),
    hashWithoutImage: digestOf(sidecars.map((sidecar) => ({ ...sidecar, image: "" }))).slice(0, hashLength),
  };
}
