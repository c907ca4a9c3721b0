import type { Condition, KubeObject } from "./objects.ts";
import { conditions, rules, type Static, secretRef, structural, Type } from "./schema.ts";

const userCluster = Type.Object(
  {
    imagePullSecret: Type.Optional(
      Type.String({
        description: "The text of a .dockerconfigjson. Whoever may read this object reads the credentials.",
        maxLength: 65_536,
      }),
    ),
    imagePullSecretRef: Type.Optional(secretRef("The Secret that holds it; keeps the credentials out of this object.")),
  },
  {
    description: "What user clusters get.",
    ...rules({
      rule: "!(has(self.imagePullSecret) && has(self.imagePullSecretRef))",
      message: "imagePullSecret and imagePullSecretRef exclude each other",
    }),
  },
);

const spec = Type.Object(
  { userCluster: Type.Optional(userCluster) },
  { description: "The default for all Clusters that name no pull secrets of their own.", default: {} },
);

const status = Type.Object(
  {
    observedGeneration: Type.Optional(
      Type.Integer({ description: "The generation the last pass looked at.", minimum: 0 }),
    ),
    conditions: Type.Optional(conditions),
  },
  { description: "What came of it." },
);

type KubermaticConfigurationSpec = Static<typeof spec>;
export type KubermaticConfigurationStatus = Omit<Static<typeof status>, "conditions"> & {
  conditions?: readonly Condition[];
};

export interface KubermaticConfiguration extends KubeObject {
  readonly spec?: Partial<KubermaticConfigurationSpec>;
  readonly status?: KubermaticConfigurationStatus;
}

/** The whole object's schema, as it stands in the CRD. */
export const kubermaticConfigurationSchema = structural(
  Type.Object(
    {
      apiVersion: Type.Optional(Type.String({ description: "Always kubermatic.k8c.io/v1." })),
      kind: Type.Optional(Type.String({ description: "Always KubermaticConfiguration." })),
      metadata: Type.Optional(Type.Object({})),
      spec,
      status: Type.Optional(status),
    },
    { description: "KubermaticConfiguration sets the pull secret for all Clusters that name none." },
  ),
);
