import {
  apiVersionOf,
  type Condition,
  type Draft,
  type KubeObject,
  type Metadata,
  type NamespacedRef,
  type Resource,
  type Secret,
} from "../api/objects.ts";

/** Written out again, not imported: a test that asks for what users ask for notices when the address changes. */
export const secretSyncs: Resource = {
  group: "package-operator.run",
  version: "v1alpha1",
  plural: "secretsyncs",
  kind: "SecretSync",
  namespaced: false,
};
export const configMaps: Resource = {
  group: "",
  version: "v1",
  plural: "configmaps",
  kind: "ConfigMap",
  namespaced: true,
};

export interface Strategy {
  readonly watch?: object;
  readonly poll?: { readonly interval: string };
}

export interface SecretSync extends KubeObject {
  readonly spec: {
    readonly paused?: boolean;
    readonly strategy?: Strategy;
    readonly src: NamespacedRef;
    readonly dest: readonly NamespacedRef[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly Condition[];
    readonly targets?: readonly (NamespacedRef & { readonly state: string; readonly message?: string })[];
  };
}

export type Meta = Partial<Pick<Metadata, "labels" | "annotations" | "finalizers" | "ownerReferences">>;

/** `namespace/name` in two parts. */
export function at(key: string): NamespacedRef {
  const [namespace, name] = key.split("/");
  if (!namespace || !name) throw new Error(`not a namespace/name: ${key}`);
  return { namespace, name };
}

export function base64(value: string | Uint8Array): string {
  return Buffer.from(value).toString("base64");
}

export function encoded(values: Readonly<Record<string, string | Uint8Array>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, base64(value)]));
}

/** A Secret with plain values; `type` and `immutable` as given. */
export function secret(
  key: string,
  values: Readonly<Record<string, string | Uint8Array>> = { password: "s3cret" },
  { type, immutable, ...meta }: { readonly type?: string; readonly immutable?: boolean } & Meta = {},
): Draft<Secret> {
  return {
    metadata: { ...at(key), ...meta },
    data: encoded(values),
    ...(type !== undefined && { type }),
    ...(immutable !== undefined && { immutable }),
  };
}

export interface SyncOptions {
  readonly to: readonly string[];
  readonly name?: string;
  readonly strategy?: Strategy;
  readonly paused?: boolean;
  readonly collision?: string;
}

export const collisionAnnotation = "package-operator.run/collision-protection";

export function secretSync(
  name: string,
  source: string,
  { to, strategy, paused, collision }: SyncOptions,
): Draft<SecretSync> {
  return {
    apiVersion: apiVersionOf(secretSyncs),
    kind: secretSyncs.kind,
    metadata: { name, ...(collision !== undefined && { annotations: { [collisionAnnotation]: collision } }) },
    spec: {
      src: at(source),
      dest: to.map(at),
      ...(strategy && { strategy }),
      ...(paused !== undefined && { paused }),
    },
  };
}

export const watchStrategy: Strategy = { watch: {} };
/** So long that no test ever sees a second pass by it: whatever happens has another trigger. */
export const rarePoll: Strategy = { poll: { interval: "24h" } };
/** The shortest allowed. */
export const frequentPoll: Strategy = { poll: { interval: "10s" } };

/** For rules that hold under both strategies. */
export const bothStrategies = [
  { named: "watch", strategy: watchStrategy },
  { named: "poll", strategy: rarePoll },
] as const;
