import { statusAnnotation } from "../../api/marks.ts";
import type { KubeObject } from "../../api/objects.ts";
import type { SidecarSetStatus } from "../../api/sidecar-set.ts";
import { isRecord, parseJsonOrUndefined } from "../../kube/json.ts";
import { cut } from "../../runtime/cut.ts";

const maxBytes = 4_096;
const messageLengths = [Number.POSITIVE_INFINITY, 1_024, 512, 256, 128, 64];

/** As JSON that fits into the annotation: first messages are shortened, then references left out from the end. */
export function encodeStatus(status: SidecarSetStatus): string {
  const shortened = messageLengths.map((length) => JSON.stringify(withMessages(status, length)));
  return shortened.find(fits) ?? fewerReferences(withMessages(status, 64));
}

const fits = (text: string): boolean => Buffer.byteLength(text) <= maxBytes;

function withMessages(status: SidecarSetStatus, length: number): SidecarSetStatus {
  const { conditions = [] } = status;
  return { ...status, conditions: conditions.map((each) => ({ ...each, message: cut(each.message, length) })) };
}

function fewerReferences(status: SidecarSetStatus): string {
  const { imagePullSecrets = [] } = status;
  const text = JSON.stringify(status);
  if (imagePullSecrets.length === 0 || fits(text)) return text;
  return fewerReferences({ ...status, imagePullSecrets: imagePullSecrets.slice(0, -1) });
}

/** What was said before. Anyone may have written it. */
export function parseStatus({ metadata }: KubeObject): SidecarSetStatus | undefined {
  const parsed = parseJsonOrUndefined(metadata.annotations?.[statusAnnotation] ?? "");
  if (!isRecord(parsed)) return undefined;
  const listOf = (value: unknown) => (Array.isArray(value) ? value.filter(isRecord) : []);
  const { imagePullSecrets, conditions } = parsed;
  return { imagePullSecrets: listOf(imagePullSecrets), conditions: listOf(conditions) } as unknown as SidecarSetStatus;
}
