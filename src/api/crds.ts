import { clusterSchema } from "./cluster.ts";
import { clusters, kubermaticConfigurations, secretSyncs, sidecarSets } from "./kinds.ts";
import { kubermaticConfigurationSchema } from "./kubermatic-configuration.ts";
import { managedByLabel, managedByValue, standInLabel } from "./marks.ts";
import {
  apiVersionOf,
  type Condition,
  crdNameOf,
  crds,
  type Draft,
  type KubeObject,
  type Resource,
} from "./objects.ts";
import { secretSyncSchema } from "./secret-sync.ts";
import { sidecarSetSchema } from "./sidecar-set.ts";

interface Column {
  readonly name: string;
  readonly type: "string" | "integer" | "date";
  readonly jsonPath: string;
  readonly description?: string;
  /** 1 hides the column unless `-o wide`. */
  readonly priority?: 1;
}

export interface Crd extends KubeObject {
  readonly spec: {
    readonly group: string;
    readonly scope: "Cluster" | "Namespaced";
    readonly names: {
      readonly plural: string;
      readonly singular: string;
      readonly kind: string;
      readonly listKind: string;
      readonly shortNames?: readonly string[];
    };
    readonly versions: readonly {
      readonly name: string;
      readonly served: boolean;
      readonly storage: boolean;
      readonly additionalPrinterColumns: readonly Column[];
      readonly schema: { readonly openAPIV3Schema: object };
      readonly subresources: { readonly status: object };
    }[];
  };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

export type CrdDraft = Draft<Crd>;

function crd(
  resource: Resource,
  schema: object,
  options: { shortNames?: string[]; columns: readonly Column[] },
): CrdDraft {
  return {
    apiVersion: apiVersionOf(crds),
    kind: crds.kind,
    metadata: {
      name: crdNameOf(resource),
      labels: { [managedByLabel]: managedByValue, [standInLabel]: "true" },
    },
    spec: {
      group: resource.group,
      scope: resource.namespaced ? "Namespaced" : "Cluster",
      names: {
        plural: resource.plural,
        singular: resource.kind.toLowerCase(),
        kind: resource.kind,
        listKind: `${resource.kind}List`,
        ...(options.shortNames ? { shortNames: options.shortNames } : {}),
      },
      versions: [
        {
          name: resource.version,
          served: true,
          storage: true,
          additionalPrinterColumns: options.columns,
          schema: { openAPIV3Schema: schema },
          subresources: { status: {} },
        },
      ],
    },
  };
}

const conditionPath = (type: string, field: string) => `.status.conditions[?(@.type=="${type}")].${field}`;
const age: Column = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" };

export const secretSyncCrd: CrdDraft = crd(secretSyncs, secretSyncSchema, {
  shortNames: ["ssync"],
  columns: [
    { name: "Source", type: "string", jsonPath: ".status.source", description: "The Secret that is copied." },
    {
      name: "Sync",
      type: "string",
      jsonPath: conditionPath("Sync", "status"),
      description: "Whether every copy equals the source.",
    },
    { name: "Copies", type: "string", jsonPath: ".status.copies", description: "Copies up to date, of all." },
    { name: "Phase", type: "string", jsonPath: ".status.phase", description: "The conditions in one word." },
    age,
    { name: "Reason", type: "string", jsonPath: conditionPath("Sync", "reason"), priority: 1 },
    { name: "Strategy", type: "string", jsonPath: ".status.strategy", priority: 1 },
  ],
});

export const sidecarSetCrd: CrdDraft = crd(sidecarSets, sidecarSetSchema, {
  columns: [
    { name: "Matched", type: "integer", jsonPath: ".status.matchedPods", description: "Pods with the containers." },
    { name: "Updated", type: "integer", jsonPath: ".status.updatedPods", description: "Pods with the present spec." },
    { name: "Ready", type: "integer", jsonPath: ".status.readyPods", description: "Matched Pods that are ready." },
    {
      name: "PullSecrets",
      type: "string",
      jsonPath: ".status.pullSecrets",
      description: "References in order, of all.",
    },
    age,
    { name: "Accepted", type: "string", jsonPath: conditionPath("Accepted", "status"), priority: 1 },
    { name: "Reason", type: "string", jsonPath: conditionPath("Ready", "reason"), priority: 1 },
  ],
});

export const clusterCrd: CrdDraft = crd(clusters, clusterSchema, {
  columns: [
    { name: "Ready", type: "string", jsonPath: conditionPath("Ready", "status"), description: "Whether all is well." },
    {
      name: "Namespaces",
      type: "string",
      jsonPath: ".status.namespaces.summary",
      description: "Complete namespaces, of those served.",
    },
    {
      name: "From",
      type: "string",
      jsonPath: ".status.credentialsFrom",
      description: "Who named the pull secrets.",
    },
    { name: "Mode", type: "string", jsonPath: ".status.injection.mode", description: "How Pods get them." },
    {
      name: "Reachable",
      type: "string",
      jsonPath: conditionPath("Reachable", "status"),
      description: "Whether its API server answers.",
    },
    age,
    { name: "Version", type: "string", jsonPath: ".status.serverVersion", priority: 1 },
    { name: "Reason", type: "string", jsonPath: conditionPath("Ready", "reason"), priority: 1 },
    { name: "Uninjected", type: "integer", jsonPath: ".status.injection.uninjectedPods", priority: 1 },
  ],
});

export const kubermaticConfigurationCrd: CrdDraft = crd(kubermaticConfigurations, kubermaticConfigurationSchema, {
  columns: [
    {
      name: "Default",
      type: "string",
      jsonPath: conditionPath("DefaultValid", "status"),
      description: "Whether the default can be used.",
    },
    age,
  ],
});

/** Everything `deploy/crds` holds. */
export const allCrds: readonly CrdDraft[] = [secretSyncCrd, sidecarSetCrd, clusterCrd, kubermaticConfigurationCrd];
