import { isDeepStrictEqual } from "node:util";
import type { Condition, KubeObject } from "../api/objects.ts";
import type { Patch } from "../kube/client.ts";
import { isReason } from "../kube/errors.ts";
import { isRecord } from "../kube/json.ts";

type Json = Readonly<Record<string, unknown>>;

/** The new conditions, each with the time since when its status has been what it is. */
function mergeConditions(before: readonly Condition[], after: readonly Condition[], now: string): readonly Condition[] {
  return after.map((condition) => {
    const old = before.find(({ type }) => type === condition.type);
    const since = old?.status === condition.status ? old.lastTransitionTime : undefined;
    return { ...condition, lastTransitionTime: since ?? now };
  });
}

/** The status to write, with the times of its conditions; undefined when that is what the object has. */
export function statusToWrite(before: unknown, after: object, now: string): Json | undefined {
  const old = isRecord(before) ? before : {};
  // The way over JSON drops what is undefined, as the request would.
  const given: Json = JSON.parse(JSON.stringify(after));
  const wanted = Array.isArray(given.conditions)
    ? { ...given, conditions: mergeConditions(conditionsOf(old), conditionsOf(given), now) }
    : given;
  return isDeepStrictEqual(old, wanted) ? undefined : wanted;
}

/**
 * Replaces the status of this very object. A JSON patch, for its `test` is the only guard against writing to another
 * object of the same name: the API server ignores a `metadata.uid` given along with a status.
 */
export function statusPatch({ metadata }: KubeObject, status: Json): Patch {
  const body = [
    { op: "test", path: "/metadata/uid", value: metadata.uid },
    { op: "add", path: "/status", value: status },
  ] as const;
  return { type: "json", body };
}

/** Why a `statusPatch` was refused: the object is gone, or its `test` failed, which the API server does not explain. */
export function isForAnotherObject(error: unknown): boolean {
  return isReason(error, "NotFound") || (isReason(error, "Invalid") && error.causes.length === 0);
}

export function statusOf(object: KubeObject): unknown {
  return "status" in object ? object.status : undefined;
}

/** RFC 3339 in whole seconds, as Kubernetes writes times. */
export function timestampOf(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}

function conditionsOf(status: Json): readonly Condition[] {
  return Array.isArray(status.conditions) ? status.conditions : [];
}
