import type { Metadata } from "../api/objects.ts";
import type { Pod } from "../api/pods.ts";
import { type PodRecord, podRecordOf } from "../features/sidecars/pod-record.ts";
import { metadataOf } from "./sidecar-records.ts";
import { injectedLabel, injectedListAnnotation, pullSecretsAnnotation } from "./sidecars.ts";

export interface PodParts {
  /** SidecarSets it lists. */
  readonly sets?: readonly string[];
  /** `<source>=<copy name>`, as its annotation says. */
  readonly given?: readonly string[];
  /** What its `spec.imagePullSecrets` really names; what it was given unless told. */
  readonly names?: readonly string[];
  readonly hashes?: Readonly<Record<string, string>>;
  readonly containers?: readonly string[];
  readonly initContainers?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly phase?: string;
  readonly isReady?: boolean;
  readonly metadata?: Partial<Metadata>;
}

/** A Pod labelled `app: x`, as the cache of injected Pods would keep it; its key is `namespace/name`. */
export const podRecord = (key: string, parts: PodParts = {}): PodRecord => podRecordOf(injectedPod(key, parts));

export function injectedPod(key: string, parts: PodParts = {}): Pod {
  const { sets = ["logs"], given = [], hashes = {}, labels = { app: "x" }, phase = "Running", isReady = true } = parts;
  const [namespace = "", name = ""] = key.split("/");
  const { names = given.map((entry) => entry.split("=")[1] ?? ""), containers = ["app"], initContainers = [] } = parts;
  const annotations = {
    [injectedListAnnotation]: sets.join(","),
    [pullSecretsAnnotation]: given.join(","),
    "kruise.io/sidecarset-hash": JSON.stringify(mapped(hashes, (hash) => ({ hash }))),
    ...parts.annotations,
  };
  const all = { ...labels, [injectedLabel]: "true" };
  return {
    metadata: metadataOf(name, { namespace, uid: `uid-${key}`, labels: all, annotations, ...parts.metadata }),
    spec: {
      containers: containers.map((each) => ({ name: each })),
      initContainers: initContainers.map((each) => ({ name: each })),
      imagePullSecrets: names.map((each) => ({ name: each })),
    },
    status: { phase, conditions: [{ type: "Ready", status: isReady ? "True" : "False" }] },
  };
}

const mapped = <A, B>(values: Readonly<Record<string, A>>, change: (value: A) => B): Record<string, B> =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, change(value)]));
