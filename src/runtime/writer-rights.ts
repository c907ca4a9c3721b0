import { keyOf } from "../api/objects.ts";
import { type AccessAttributes, missingRights, type User } from "../kube/access-review.ts";
import type { Call, Kube } from "../kube/client.ts";
import type { Verdict } from "./admission.ts";

/** A right on one Secret, or on all of a namespace. */
export const secretRight = (
  verb: "get" | "create" | "update",
  { namespace, name }: { readonly namespace: string; readonly name?: string },
): AccessAttributes => ({ verb, group: "", resource: "secrets", namespace, ...(name !== undefined && { name }) });

/** Whoever writes an object that makes us use rights on Secrets must have them himself. */
export async function reviewRights(
  kube: Kube,
  user: User,
  wanted: readonly AccessAttributes[],
  { kind, signal }: Call & { readonly kind: string },
): Promise<Verdict> {
  const missing = await missingRights(kube, user, wanted, { signal });
  if (missing.length === 0) return { allowed: true };
  return { allowed: false, code: 403, message: describeMissing(user.username, missing, kind) };
}

export function describeMissing(username: string, missing: readonly AccessAttributes[], kind: string): string {
  const rights = missing.map(({ verb, namespace = "", name }) =>
    name
      ? `${verb} Secret ${keyOf({ namespace, name })}`
      : `${verb} Secrets in ${namespace ? `namespace ${namespace}` : "all namespaces"}`,
  );
  return `user ${JSON.stringify(username)} may not ${rights.join(", ")}: who writes a ${kind} needs these rights himself`;
}
