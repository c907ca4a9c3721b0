import type { KubeObject } from "../api/objects.ts";

const decimal = /^\d+$/;

/** Which of two resourceVersions of one kind is later, as for a sort; undefined where the server's are not numbers. */
export function compareVersions(a: string, b: string): number | undefined {
  if (a === b) return 0;
  if (!decimal.test(a) || !decimal.test(b)) return undefined;
  const difference = BigInt(a) - BigInt(b);
  return difference === 0n ? 0 : difference > 0n ? 1 : -1;
}

/** Surely later: false where the two cannot be compared. */
export function isLater(a: string, b: string | undefined): boolean {
  return b === undefined || (compareVersions(a, b) ?? 0) > 0;
}

/** Whether both are one state of one object, or both absent. */
export function isSameState(a: KubeObject | undefined, b: KubeObject | undefined): boolean {
  return a?.metadata.uid === b?.metadata.uid && a?.metadata.resourceVersion === b?.metadata.resourceVersion;
}
