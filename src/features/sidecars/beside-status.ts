import { statusAnnotation } from "../../api/marks.ts";
import type { KubeObject } from "../../api/objects.ts";
import type { SidecarSetStatus } from "../../api/sidecar-set.ts";
import { isRecord, parseJsonOrUndefined } from "../../kube/json.ts";

/** What was said before. Anyone may have written it. */
export function parseStatus({ metadata }: KubeObject): SidecarSetStatus | undefined {
  const parsed = parseJsonOrUndefined(metadata.annotations?.[statusAnnotation] ?? "");
  if (!isRecord(parsed)) return undefined;
  const listOf = (value: unknown) => (Array.isArray(value) ? value.filter(isRecord) : []);
  const { imagePullSecrets, conditions } = parsed;
  return { imagePullSecrets: listOf(imagePullSecrets), conditions: listOf(conditions) } as unknown as SidecarSetStatus;
}
