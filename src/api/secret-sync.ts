import type { Condition, KubeObject } from "./objects.ts";
import { conditions, listMap, rules, type Static, secretRef, structural, Type, words } from "./schema.ts";

const interval = Type.String({
  description:
    "How long to wait after a pass, e.g. 15m or 1h30m: integers with h, m, s and ms, from 10s to 24h. Jittered by up to 5 %.",
  minLength: 2,
  maxLength: 64,
  pattern: "^([0-9]+(h|m|s|ms))+$",
  ...rules(
    { rule: "duration(self) >= duration('10s')", message: "must be at least 10s" },
    { rule: "duration(self) <= duration('24h')", message: "must be at most 24h" },
  ),
});

const strategy = Type.Object(
  {
    watch: Type.Optional(
      Type.Object(
        {},
        {
          description: "Follow the source: it gets the label latchkey.dev/source, and every change is copied at once.",
        },
      ),
    ),
    poll: Type.Optional(
      Type.Object({ interval }, { description: "Read the source every interval; it is neither labelled nor watched." }),
    ),
  },
  {
    description: "How changes of the source are noticed. Immutable.",
    default: { watch: {} },
    ...rules(
      { rule: "has(self.watch) != has(self.poll)", message: "exactly one of watch and poll must be given" },
      { rule: "self == oldSelf", message: "strategy is immutable: delete the SecretSync and create it anew" },
    ),
  },
);

const spec = Type.Object(
  {
    paused: Type.Boolean({ description: "While true nothing is written but the status.", default: false }),
    strategy,
    src: secretRef("The Secret to copy. May be changed later."),
    dest: Type.Array(secretRef("One place to keep a copy in."), {
      description: "Where copies must be: at most 32 places, none of them the source itself.",
      minItems: 1,
      maxItems: 32,
      ...listMap("namespace", "name"),
    }),
  },
  {
    description: "Which Secret is copied, and where to.",
    ...rules({
      rule: "self.dest.all(d, d.__namespace__ != self.src.__namespace__ || d.name != self.src.name)",
      message: "a destination must not be the source itself",
    }),
  },
);

export const targetStates = [
  "Synced",
  "Pending",
  "Conflict",
  "NamespaceNotFound",
  "NamespaceTerminating",
  "Refused",
] as const;
export type TargetState = (typeof targetStates)[number];

const status = Type.Object(
  {
    observedGeneration: Type.Optional(
      Type.Integer({ description: "The generation the last pass looked at.", minimum: 0 }),
    ),
    phase: Type.Optional(
      words(["Pending", "Synced", "Degraded", "Paused"], { description: "The conditions in one word." }),
    ),
    hasSynced: Type.Optional(
      Type.Boolean({ description: "There has been a complete sync: what fails now is degraded." }),
    ),
    source: Type.Optional(Type.String({ description: "The source as namespace/name." })),
    strategy: Type.Optional(Type.String({ description: "watch or poll." })),
    copies: Type.Optional(Type.String({ description: "Copies that are up to date, of all." })),
    conditions: Type.Optional(conditions),
    targets: Type.Optional(
      Type.Array(
        Type.Object({
          namespace: Type.String({ description: "Namespace of the copy." }),
          name: Type.String({ description: "Name of the copy." }),
          state: words(targetStates, { description: "How this copy stands." }),
          message: Type.Optional(Type.String({ description: "Why it is not up to date." })),
        }),
        { description: "Every destination, in the order of the spec.", maxItems: 32 },
      ),
    ),
  },
  { description: "What came of it." },
);

type SecretSyncSpec = Static<typeof spec>;
export type SecretSyncStatus = Omit<Static<typeof status>, "conditions"> & { conditions?: readonly Condition[] };

export interface SecretSync extends KubeObject {
  readonly spec: SecretSyncSpec;
  readonly status?: SecretSyncStatus;
}

export const collisionAnnotation = "package-operator.run/collision-protection";
export const collisionPolicies = ["Prevent", "IfNoController", "None"] as const;
export type CollisionPolicy = (typeof collisionPolicies)[number];

/** The whole object's schema, as it stands in the CRD. */
export const secretSyncSchema = structural(
  Type.Object(
    {
      apiVersion: Type.Optional(Type.String({ description: "Always package-operator.run/v1alpha1." })),
      kind: Type.Optional(Type.String({ description: "Always SecretSync." })),
      metadata: Type.Optional(Type.Object({})),
      spec,
      status: Type.Optional(status),
    },
    { description: "SecretSync keeps copies of one Secret equal to it in up to 32 other places." },
  ),
);
