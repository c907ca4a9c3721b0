import { secretSyncs } from "../../api/kinds.ts";
import { keyOf, type NamespacedRef } from "../../api/objects.ts";
import type { SecretSync } from "../../api/secret-sync.ts";
import { type AccessAttributes, missingRights } from "../../kube/access-review.ts";
import type { Kube } from "../../kube/client.ts";
import type { Review, ValidatingHook, Verdict } from "../../runtime/admission.ts";

/** Whoever writes a SecretSync could read any Secret by having it copied: he must have the rights himself. */
export function secretSyncHook(kube: Kube): ValidatingHook {
  return {
    name: "secretsyncs.latchkey.dev",
    path: "/validate/secretsyncs",
    configuration: "latchkey-secretsync",
    resource: secretSyncs,
    operations: ["CREATE", "UPDATE"],
    failurePolicy: "Fail",
    // The API server itself lets writes pass that add nothing: finalizers can be removed while nobody answers here.
    matchConditions: [
      {
        name: "adds-something",
        expression:
          "request.operation == 'CREATE' || object.spec.src != oldObject.spec.src || " +
          "object.spec.dest.exists(d, !oldObject.spec.dest.exists(o, o['namespace'] == d['namespace']))",
      },
    ],
    review: (review, call) => reviewSecretSync(kube, review, call.signal),
  };
}

async function reviewSecretSync(kube: Kube, review: Review, signal: AbortSignal | undefined): Promise<Verdict> {
  const wanted = rightsFor(review.object as SecretSync, review.oldObject as SecretSync | undefined);
  const missing = await missingRights(kube, review.user, wanted, { signal });
  if (missing.length === 0) return { allowed: true };
  return { allowed: false, code: 403, message: describeMissing(review.user.username, missing) };
}

/** Only what this write adds is asked for. */
export function rightsFor(sync: SecretSync, before: SecretSync | undefined): readonly AccessAttributes[] {
  const { src, dest } = sync.spec;
  const known = new Set((before?.spec.dest ?? []).map(({ namespace }) => namespace));
  const added = [...new Set(dest.map(({ namespace }) => namespace))].filter((namespace) => !known.has(namespace));
  return [
    ...(before && isSame(before.spec.src, src) ? [] : [right("get", src)]),
    ...added.flatMap((namespace) => [right("create", { namespace }), right("update", { namespace })]),
  ];
}

export function describeMissing(username: string, missing: readonly AccessAttributes[]): string {
  const rights = missing.map(({ verb, namespace = "", name }) =>
    name ? `${verb} Secret ${keyOf({ namespace, name })}` : `${verb} Secrets in namespace ${namespace}`,
  );
  return `user ${JSON.stringify(username)} may not ${rights.join(", ")}: who writes a SecretSync needs these rights himself`;
}

const right = (verb: string, { namespace, name }: { namespace: string; name?: string }): AccessAttributes => ({
  verb,
  group: "",
  resource: "secrets",
  namespace,
  ...(name !== undefined && { name }),
});

const isSame = (a: NamespacedRef, b: NamespacedRef) => a.namespace === b.namespace && a.name === b.name;
