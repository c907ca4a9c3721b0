import type { Condition, KubeObject } from "./objects.ts";
import {
  conditions,
  dnsLabel,
  dnsSubdomain,
  listMap,
  rules,
  type Static,
  secretRef,
  structural,
  Type,
  words,
} from "./schema.ts";

export const injectionModes = ["Auto", "Policy", "ServiceAccount", "None"] as const;
export type InjectionMode = (typeof injectionModes)[number];

export const deletionPolicies = ["Delete", "Retain"] as const;
export type DeletionPolicy = (typeof deletionPolicies)[number];

export const maxReferences = 16;
export const maxExcluded = 64;

const kubeconfigSecretRef = Type.Object(
  {
    namespace: dnsLabel("Namespace of the Secret, in the cluster that Latchkey runs in."),
    name: Type.Optional(dnsSubdomain("Name of the Secret; <name of the Cluster>-kubeconfig unless given.")),
    key: Type.Optional(
      Type.String({
        description: "Key of the kubeconfig in the Secret; the first there is of kubeconfig and value unless given.",
        minLength: 1,
        maxLength: 253,
        pattern: "^[-._a-zA-Z0-9]+$",
      }),
    ),
  },
  {
    description: "The kubeconfig of this cluster. Without it the Secrets of Kubermatic and Cluster API are looked for.",
  },
);

const injection = Type.Object(
  {
    mode: words(injectionModes, {
      description:
        "How Pods get the pull secrets. Policy: by a MutatingAdmissionPolicy, also while Latchkey is away. ServiceAccount: by way of their accounts. None: not at all. Auto: the first that is possible.",
      default: "Auto",
    }),
  },
  { description: "How Pods get the pull secrets.", default: {} },
);

const text = (description: string) => Type.Optional(Type.String({ description, maxLength: 1024 }));

const spec = Type.Object(
  {
    imagePullSecrets: Type.Optional(
      Type.Array(secretRef("A pull secret, in the cluster that Latchkey runs in."), {
        description: "Pull secrets for every Pod of this cluster. Without any, the global default counts.",
        maxItems: maxReferences,
        ...listMap("namespace", "name"),
      }),
    ),
    kubeconfigSecretRef: Type.Optional(kubeconfigSecretRef),
    home: Type.Boolean({ description: "This is the cluster that Latchkey runs in.", default: false }),
    pause: Type.Boolean({ description: "While true nothing is written to this cluster.", default: false }),
    pauseReason: text("Why it is paused, for people."),
    humanReadableName: text("A name for people."),
    disableDefaultImagePullSecrets: Type.Boolean({
      description: "This cluster gets no default.",
      default: false,
    }),
    excludedNamespaces: Type.Optional(
      Type.Array(dnsLabel("A namespace."), {
        description: "Namespaces that get neither copies nor injection.",
        maxItems: maxExcluded,
        "x-kubernetes-list-type": "set",
      }),
    ),
    onSourceDeleted: words(deletionPolicies, {
      description: "What becomes of the copies when a pull secret is deleted: they go with it, or they stay.",
      default: "Delete",
    }),
    injection,
  },
  {
    description: "Which cluster this is and which pull secrets its Pods get.",
    default: {},
    ...rules({
      rule: "!(self.home && has(self.kubeconfigSecretRef))",
      message: "home and kubeconfigSecretRef exclude each other",
    }),
  },
);

const count = (description: string) => Type.Optional(Type.Integer({ description, minimum: 0 }));
const word = (description: string) => Type.Optional(Type.String({ description }));

const status = Type.Object(
  {
    observedGeneration: count("The generation the last pass looked at."),
    conditions: Type.Optional(conditions),
    clusterID: word("UID of the cluster's Namespace kube-system."),
    serverVersion: word("Version of the cluster's API server."),
    credentialsFrom: Type.Optional(
      words(["Cluster", "Global", "None"], { description: "Who named the pull secrets that count." }),
    ),
    injection: Type.Optional(
      Type.Object({ mode: word("How Pods get the pull secrets now.") }, { description: "How Pods get them." }),
    ),
    namespaces: Type.Optional(
      Type.Object(
        {
          total: count("Namespaces there are, without those that are going."),
          served: count("Of these, those that get copies."),
          excluded: count("Of these, those that do not."),
          failed: count("Of those served, those that lack a copy."),
          summary: word("Complete namespaces, of those served."),
        },
        { description: "How the namespaces stand." },
      ),
    ),
    imagePullSecrets: Type.Optional(
      Type.Array(
        Type.Object({
          namespace: Type.String({ description: "Namespace of the pull secret." }),
          name: Type.String({ description: "Name of the pull secret." }),
          copyName: Type.String({ description: "What its copies are called, unless a namespace stands in the way." }),
          state: Type.String({ description: "Copied, or what is wrong." }),
          copies: Type.Integer({ description: "Namespaces that have a copy.", minimum: 0 }),
          suffixed: count("Of these, namespaces where it has another name."),
        }),
        { description: "Every pull secret that counts, in order.", maxItems: maxReferences },
      ),
    ),
    failures: Type.Optional(
      Type.Array(
        Type.Object({
          namespace: Type.String({ description: "Where." }),
          source: Type.String({ description: "The pull secret." }),
          reason: Type.String({ description: "Why, in one word." }),
          message: Type.String({ description: "Why, for people." }),
        }),
        { description: "The first of the namespaces that lack a copy.", maxItems: 10 },
      ),
    ),
  },
  { description: "What came of it." },
);

type ClusterSpec = Static<typeof spec>;
export type ClusterStatus = Omit<Static<typeof status>, "conditions"> & { conditions?: readonly Condition[] };

export interface Cluster extends KubeObject {
  readonly spec?: Partial<ClusterSpec>;
  readonly status?: ClusterStatus;
}

/** Objects are to be named after it, with a prefix. */
const maxNameLength = 46;

/** The whole object's schema, as it stands in the CRD. */
export const clusterSchema = structural(
  Type.Object(
    {
      apiVersion: Type.Optional(Type.String({ description: "Always kubermatic.k8c.io/v1." })),
      kind: Type.Optional(Type.String({ description: "Always Cluster." })),
      metadata: Type.Optional(
        Type.Object({
          name: Type.Optional(Type.String({ maxLength: maxNameLength, pattern: "^[a-z]([-a-z0-9]*[a-z0-9])?$" })),
        }),
      ),
      spec,
      status: Type.Optional(status),
    },
    { description: "Cluster keeps pull secrets in every namespace of a cluster and gives them to its Pods." },
  ),
);
