import type { KubeObject, Resource } from "./objects.ts";

export const pods: Resource = { group: "", version: "v1", plural: "pods", kind: "Pod", namespaced: true };
export const serviceAccounts: Resource = {
  group: "",
  version: "v1",
  plural: "serviceaccounts",
  kind: "ServiceAccount",
  namespaced: true,
};

interface SecretSelector {
  readonly name?: string;
  readonly optional?: boolean;
}

export interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly secretKeyRef?: SecretSelector; readonly [source: string]: unknown };
}

/** As far as we look into it; the rest is carried along. */
export interface Container {
  readonly name: string;
  readonly image?: string;
  readonly env?: readonly EnvVar[];
  readonly envFrom?: readonly { readonly secretRef?: SecretSelector; readonly [source: string]: unknown }[];
  readonly volumeMounts?: readonly { readonly name: string; readonly [field: string]: unknown }[];
  readonly volumeDevices?: readonly { readonly name: string; readonly [field: string]: unknown }[];
  readonly restartPolicy?: string;
  readonly [field: string]: unknown;
}

export interface Volume {
  readonly name: string;
  readonly secret?: { readonly secretName?: string; readonly [field: string]: unknown };
  readonly [source: string]: unknown;
}

export interface LocalReference {
  readonly name?: string;
}

export interface PodSpec {
  readonly containers?: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly Volume[];
  readonly imagePullSecrets?: readonly LocalReference[];
  readonly serviceAccountName?: string;
  readonly [field: string]: unknown;
}

export interface Pod extends KubeObject {
  readonly spec?: PodSpec;
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

export interface ServiceAccount extends KubeObject {
  readonly secrets?: readonly LocalReference[];
  readonly imagePullSecrets?: readonly LocalReference[];
}

/** Its containers run, or may still come to run. */
export const isUnfinished = ({ status }: Pick<Pod, "status">): boolean =>
  status?.phase !== "Succeeded" && status?.phase !== "Failed";

export const enforceAnnotation = "kubernetes.io/enforce-mountable-secrets";
/** As the API server reads it. */
const trueWords = ["1", "t", "T", "TRUE", "true", "True"];

/** Whether the API server refuses Pods of this account that name a Secret which the account does not list. */
export function isEnforcing({ metadata }: Pick<ServiceAccount, "metadata">): boolean {
  return trueWords.includes(metadata.annotations?.[enforceAnnotation] ?? "");
}
