import { keyOf, type NamespacedRef } from "../../api/objects.ts";
import type { TargetState } from "../../api/secret-sync.ts";
import { type ApiError, missingVerbOf } from "../../kube/errors.ts";
import type { CopyResult } from "../../replication/ensure.ts";
import { cut } from "../../runtime/cut.ts";

/** Reasons of `Sync=False`, the gravest first. */
export const gravity = [
  "UnsupportedType",
  "SourceForbidden",
  "SourceNotFound",
  "Conflict",
  "DestinationRefused",
  "NamespaceTerminating",
  "NamespaceNotFound",
  "Progressing",
] as const;
export type Reason = (typeof gravity)[number];

export interface Problem {
  readonly reason: Reason;
  readonly message: string;
}

export interface Target extends NamespacedRef {
  readonly state: TargetState;
  readonly message?: string;
}

export const unsupportedType = "kubernetes.io/service-account-token";

export const sourceMissing = (source: NamespacedRef): Problem => ({
  reason: "SourceNotFound",
  message: `Secret ${keyOf(source)} does not exist`,
});

export const sourceUnsupported = (source: NamespacedRef): Problem => ({
  reason: "UnsupportedType",
  message: `Secret ${keyOf(source)} is of type ${unsupportedType}: Kubernetes would wipe its copies`,
});

export function sourceForbidden(source: NamespacedRef, verb: "get" | "patch", error: unknown): Problem {
  const missing = missingVerbOf(error);
  const words = cut(error instanceof Error ? error.message : String(error), 512);
  const lack = missing ? `the operator lacks the verb ${missing.verb} on ${missing.resource}` : words;
  return { reason: "SourceForbidden", message: `cannot ${verb} Secret ${keyOf(source)}: ${lack}` };
}

export const passFailed = (error: unknown): Problem => ({
  reason: "Progressing",
  message: cut(error instanceof Error ? error.message : String(error), 512),
});

/** A copy that should go and cannot. */
export const notReleased = (error: ApiError): Problem => ({
  reason: "DestinationRefused",
  message: `a copy that is no longer wanted cannot be removed: ${cut(error.message, 512)}`,
});

/** A source that is no longer ours and keeps our label. */
export const notWithdrawn = (error: ApiError): Problem => ({
  reason: "SourceForbidden",
  message: `the label cannot be taken off a former source: ${cut(error.message, 512)}`,
});

export function targetOf({ target, ...result }: CopyResult): Target {
  const { namespace, name } = target;
  switch (result.kind) {
    case "current":
      return { namespace, name, state: "Synced" };
    case "collision":
      return { namespace, name, state: "Conflict", message: `held by ${result.holder}` };
    case "namespace-missing":
      return { namespace, name, state: "NamespaceNotFound", message: `namespaces "${namespace}" not found` };
    case "namespace-terminating":
      return { namespace, name, state: "NamespaceTerminating", message: `namespace ${namespace} is being terminated` };
    case "refused":
      return { namespace, name, state: "Refused", message: cut(result.message, 512) };
    case "leaving":
      return { namespace, name, state: "Pending", message: "the Secret there is being deleted" };
    case "unfinished":
      return { namespace, name, state: "Pending", message: cut(result.message, 512) };
  }
}

/** Others may be verbose; thirty-two of them must fit into one condition. */
const reasonOf: Record<Exclude<TargetState, "Synced">, Reason> = {
  Conflict: "Conflict",
  Refused: "DestinationRefused",
  NamespaceTerminating: "NamespaceTerminating",
  NamespaceNotFound: "NamespaceNotFound",
  Pending: "Progressing",
};

export function problemsOf(targets: readonly Target[]): readonly Problem[] {
  return targets.flatMap(({ state, message, ...ref }): Problem[] => {
    if (state === "Synced") return [];
    if (state === "Conflict") return [{ reason: reasonOf[state], message: `${keyOf(ref)} is ${message}` }];
    return [{ reason: reasonOf[state], message: `${keyOf(ref)}: ${message ?? "not written yet"}` }];
  });
}

export function byGravity(problems: readonly Problem[]): readonly Problem[] {
  return problems.toSorted((a, b) => gravity.indexOf(a.reason) - gravity.indexOf(b.reason));
}
