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
