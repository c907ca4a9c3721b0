import { label } from "./dns-names.ts";
import { labelSelector } from "./label-selector.ts";
import type { Condition, KubeObject } from "./objects.ts";
import { conditions, dnsLabel, dnsSubdomain, listMap, rules, type Static, structural, Type, words } from "./schema.ts";
import { sidecarContainers, sidecarVolumes } from "./sidecar-container.ts";

export type { LabelSelector } from "./label-selector.ts";
export type { SidecarContainer } from "./sidecar-container.ts";

const numberOrPercent = (description: string, fallback: number) =>
  Type.Unsafe<number | string>({
    description: `${description} An integer, or a percentage from 0% to 100%.`,
    default: fallback,
    minimum: 0,
    pattern: "^(100|[1-9]?[0-9])%$",
    "x-kubernetes-int-or-string": true,
  });

const updateStrategy = Type.Object(
  {
    type: words(["RollingUpdate", "NotUpdate"], {
      description: "Whether containers of running Pods follow a changed image.",
      default: "RollingUpdate",
    }),
    paused: Type.Boolean({ description: "While true running Pods are left as they are.", default: false }),
    selector: Type.Optional(labelSelector("Only these of the selected Pods are updated.")),
    partition: numberOrPercent("How many Pods keep the former version.", 0),
    maxUnavailable: numberOrPercent("How many Pods may be unavailable during an update.", 1),
  },
  {
    description: "How running Pods follow a change. Absent: RollingUpdate.",
    ...rules({
      rule: "self.type != 'RollingUpdate' || !has(self.selector) || self.partition == 0 || self.partition == '0%'",
      message: "selector and a partition other than 0 exclude each other",
    }),
  },
);

const reference = Type.Object(
  {
    name: dnsSubdomain("Name of the Secret."),
    namespace: Type.String({
      description: "Namespace of the Secret; empty or omitted: the default one.",
      default: "",
      maxLength: 63,
      pattern: `^(${label})?$`,
    }),
  },
  { description: "A Secret that the images are pulled with." },
);

const namesOf = (set: string, list: string) => `(has(${set}.${list}) ? ${set}.${list}.map(c, c.name) : [])`;
const sizeOf = (list: string) => `(has(self.${list}) ? size(self.${list}) : 0)`;
const allNamesOf = (set: string) => `${namesOf(set, "containers")} + ${namesOf(set, "initContainers")}`;

const spec = Type.Object(
  {
    selector: labelSelector("The Pods that get the containers, by their labels."),
    namespace: Type.Optional(dnsLabel("The only namespace with such Pods; wins over namespaceSelector.")),
    namespaceSelector: Type.Optional(labelSelector("The namespaces with such Pods, by their labels. Absent: all.")),
    containers: Type.Optional(sidecarContainers("BeforeAppContainer", "Containers that are put into Pods.")),
    initContainers: Type.Optional(
      sidecarContainers("AfterAppContainer", "Init containers and native sidecars that are put into Pods."),
    ),
    volumes: Type.Optional(sidecarVolumes),
    imagePullSecrets: Type.Optional(
      Type.Array(reference, {
        description:
          "Secrets to pull the images with: every namespace with such a Pod gets a copy, and the Pod names it.",
        maxItems: 16,
        ...listMap("namespace", "name"),
      }),
    ),
    injectionStrategy: Type.Optional(
      Type.Object(
        { paused: Type.Boolean({ description: "While true no Pod gets anything.", default: false }) },
        { description: "How new Pods are treated." },
      ),
    ),
    updateStrategy: Type.Optional(updateStrategy),
  },
  {
    description: "Which Pods get which containers, and what their images are pulled with.",
    ...rules(
      {
        rule: `${sizeOf("containers")} + ${sizeOf("initContainers")} > 0`,
        message: "at least one of containers and initContainers must be given",
      },
      {
        rule: `${sizeOf("containers")} + ${sizeOf("initContainers")} <= 32`,
        message: "containers and initContainers together may be at most 32",
      },
      {
        rule: "!has(self.containers) || !has(self.initContainers) || self.containers.all(c, self.initContainers.all(i, i.name != c.name))",
        message: "a name must not be both in containers and in initContainers",
      },
      {
        rule: "!has(self.initContainers) || self.initContainers.all(c, !has(c.restartPolicy) || c.restartPolicy != 'Always') || (has(self.updateStrategy) && self.updateStrategy.type == 'NotUpdate')",
        message: "an initContainer with restartPolicy Always needs updateStrategy.type NotUpdate",
      },
      {
        rule: `(${allNamesOf("self")}).all(name, name in (${allNamesOf("oldSelf")}))`,
        message: "an update may remove containers but not add one: use another SidecarSet for it",
      },
    ),
  },
);

/** How a reference stands: in order, or the reason why it is not. */
export const sidecarSetStates = [
  "Copied",
  "Unused",
  "Local",
  "SourceMissing",
  "SourceTypeRejected",
  "SourceIsACopy",
  "SourceVetoed",
  "Collision",
  "CopyRefused",
] as const;
export type SidecarSetState = (typeof sidecarSetStates)[number];

const count = (description: string) => Type.Optional(Type.Integer({ description, minimum: 0 }));

const referenceStatus = Type.Object({
  namespace: Type.String({ description: "Namespace of the source, as written in the spec." }),
  name: Type.String({ description: "Name of the source." }),
  copyName: Type.String({ description: "Name of its copies, where that name was free." }),
  state: words(sidecarSetStates, { description: "How this reference stands." }),
  copies: Type.Integer({ description: "Namespaces that have a copy.", minimum: 0 }),
  suffixed: Type.Integer({ description: "Namespaces whose copy has the other name.", minimum: 0 }),
});

const status = Type.Object(
  {
    observedGeneration: count("The generation the last pass looked at."),
    specChangedAt: Type.Optional(
      Type.String({ description: "When the spec of that generation came to be.", format: "date-time" }),
    ),
    matchedPods: count("Pods that have the containers."),
    updatedPods: count("Of these, Pods with the containers of the present spec."),
    readyPods: count("Of the matched Pods, those that are ready."),
    updatedReadyPods: count("Of the updated Pods, those that are ready."),
    pullSecrets: Type.Optional(Type.String({ description: "References in order, of all." })),
    imagePullSecrets: Type.Optional(
      Type.Array(referenceStatus, { description: "Every reference, in the order of the spec.", maxItems: 16 }),
    ),
    conditions: Type.Optional(conditions),
  },
  { description: "What came of it." },
);

export type SidecarSetSpec = Static<typeof spec>;
export type SidecarSetStatus = Omit<Static<typeof status>, "conditions"> & { conditions?: readonly Condition[] };

export interface SidecarSet extends KubeObject {
  readonly spec: SidecarSetSpec;
  readonly status?: SidecarSetStatus;
}

/** The whole object's schema, as it stands in the CRD. */
export const sidecarSetSchema = structural(
  Type.Object(
    {
      apiVersion: Type.Optional(Type.String({ description: "Always apps.kruise.io/v1alpha1." })),
      kind: Type.Optional(Type.String({ description: "Always SidecarSet." })),
      metadata: Type.Optional(Type.Object({ name: Type.Optional(dnsLabel("At most 63 characters, without dots.")) })),
      spec,
      status: Type.Optional(status),
    },
    { description: "SidecarSet puts containers into Pods, and the pull secrets of their images beside them." },
  ),
);
