import type { Resource } from "./objects.ts";

export const secretSyncs: Resource = {
  group: "package-operator.run",
  version: "v1alpha1",
  plural: "secretsyncs",
  kind: "SecretSync",
  namespaced: false,
};
