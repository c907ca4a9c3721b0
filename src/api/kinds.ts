import type { Resource } from "./objects.ts";

export const secretSyncs: Resource = {
  group: "package-operator.run",
  version: "v1alpha1",
  plural: "secretsyncs",
  kind: "SecretSync",
  namespaced: false,
};

export const sidecarSets: Resource = {
  group: "apps.kruise.io",
  version: "v1alpha1",
  plural: "sidecarsets",
  kind: "SidecarSet",
  namespaced: false,
};

const kubermatic = { group: "kubermatic.k8c.io", version: "v1" } as const;

export const clusters: Resource = { ...kubermatic, plural: "clusters", kind: "Cluster", namespaced: false };

export const kubermaticConfigurations: Resource = {
  ...kubermatic,
  plural: "kubermaticconfigurations",
  kind: "KubermaticConfiguration",
  namespaced: true,
};
