import { injectedLabel } from "../../api/marks.ts";
import { type KubeObject, keyOf, type Metadata, namespaceOf } from "../../api/objects.ts";
import { isUnfinished, type Pod } from "../../api/pods.ts";
import type { Selection } from "../../kube/client.ts";
import { sharing } from "../../kube/sharing.ts";
import type { Indexes } from "../../kube/store.ts";
import { identityOf } from "../../replication/copy.ts";
import { hashesOf, injectedListOf, pullSecretsOf } from "./marks-of-pod.ts";
import { mirrorAnnotation } from "./matching.ts";

/** What is remembered of a Pod that something was put into. Anyone may have written its marks. */
export interface PodRecord extends KubeObject {
  /** Names of the SidecarSets it lists. */
  readonly injected: readonly string[];
  /** Hash of what each of them put in. */
  readonly hashes: ReadonlyMap<string, string>;
  /** Name of the copy it was given, by source. */
  readonly pullSecrets: ReadonlyMap<string, string>;
  /** Everything in its `spec.imagePullSecrets`. */
  readonly names: ReadonlySet<string>;
  readonly containers: readonly string[];
  readonly initContainers: readonly string[];
  readonly isFinished: boolean;
  /** Running, and ready by its own condition. */
  readonly isReady: boolean;
}

/** Which Pods the cache of them holds. */
export const injectedPods: Selection = { labelSelector: `${injectedLabel}=true` };

export function podRecordOf(object: KubeObject): PodRecord {
  const pod = object as Pod;
  const { containers = [], initContainers = [], imagePullSecrets = [] } = pod.spec ?? {};
  return {
    metadata: metadataOf(pod),
    injected: injectedListOf(pod),
    hashes: hashesOf(pod),
    pullSecrets: pullSecretsOf(pod),
    names: sharedSet(JSON.stringify(imagePullSecrets.flatMap(({ name }) => name || []))),
    containers: sharedList(JSON.stringify(containers.map(({ name }) => name))),
    initContainers: sharedList(JSON.stringify(initContainers.map(({ name }) => name))),
    isFinished: !isUnfinished(pod),
    isReady: isReady(pod),
  };
}

const sharedList = sharing((text): readonly string[] => JSON.parse(text));
const sharedSet = sharing((text): ReadonlySet<string> => new Set(JSON.parse(text)));
const sharedLabels = sharing((text): NonNullable<Metadata["labels"]> => JSON.parse(text));

/** Of its annotations only the one that tells a mirror Pod is asked for again. */
function metadataOf(pod: Pod): Metadata {
  const { labels = {}, annotations = {} } = pod.metadata;
  const mirror = annotations[mirrorAnnotation];
  return {
    ...identityOf(pod),
    labels: sharedLabels(JSON.stringify(labels)),
    ...(mirror !== undefined && { annotations: { [mirrorAnnotation]: mirror } }),
  };
}

const isReady = ({ status }: Pod): boolean =>
  status?.phase === "Running" &&
  (status.conditions ?? []).some((condition) => condition.type === "Ready" && condition.status === "True");

/** A source in a namespace. */
export const placeOf = (namespace: string, source: string): string => `${namespace} ${source}`;

/** `set` and `source`: what it lists; `claim`: the key of a copy it was given. */
export const podIndexes: Indexes<PodRecord> = {
  set: ({ injected }) => injected,
  source: ({ pullSecrets }) => [...pullSecrets.keys()],
  claim: (pod) => [...pod.pullSecrets.values()].map((name) => keyOf({ namespace: namespaceOf(pod), name })),
  namespace: (pod) => [namespaceOf(pod)],
};
