import { secretSyncs } from "../../api/kinds.ts";
import type { NamespacedRef } from "../../api/objects.ts";
import type { SecretSync } from "../../api/secret-sync.ts";
import type { AccessAttributes } from "../../kube/access-review.ts";
import type { Kube } from "../../kube/client.ts";
import { type Hook, type Review, type Verdict, webhookConfigurationOf } from "../../runtime/admission.ts";
import { reviewRights, secretRight } from "../../runtime/writer-rights.ts";

/** Whoever writes a SecretSync could read any Secret by having it copied: he must have the rights himself. */
export function secretSyncHook(kube: Kube): Hook {
  return {
    kind: "validating",
    name: "secretsyncs.latchkey.dev",
    path: "/validate/secretsyncs",
    configuration: webhookConfigurationOf("secretsync"),
    resource: secretSyncs,
    operations: ["CREATE", "UPDATE"],
    failurePolicy: "Fail",
    sideEffects: "None",
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

function reviewSecretSync(kube: Kube, review: Review, signal: AbortSignal | undefined): Promise<Verdict> {
  const wanted = rightsFor(review.object as SecretSync, review.oldObject as SecretSync | undefined);
  return reviewRights(kube, review.user, wanted, { kind: secretSyncs.kind, signal });
}

/** Only what this write adds is asked for. */
export function rightsFor(sync: SecretSync, before: SecretSync | undefined): readonly AccessAttributes[] {
  const { src, dest } = sync.spec;
  const known = new Set((before?.spec.dest ?? []).map(({ namespace }) => namespace));
  const added = [...new Set(dest.map(({ namespace }) => namespace))].filter((namespace) => !known.has(namespace));
  return [
    ...(before && isSame(before.spec.src, src) ? [] : [secretRight("get", src)]),
    ...added.flatMap((namespace) => [secretRight("create", { namespace }), secretRight("update", { namespace })]),
  ];
}

const isSame = (a: NamespacedRef, b: NamespacedRef) => a.namespace === b.namespace && a.name === b.name;
