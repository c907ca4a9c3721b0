import { clusters as clusterKind, kubermaticConfigurations } from "../../api/kinds.ts";
import type { FeatureEntry } from "../feature.ts";
import { allowInsecureClusters, clusterApiNamespaces, clusterOptions } from "./options.ts";

export const clusters: FeatureEntry = {
  name: "clusters",
  about: "Cluster: pull secrets in every namespace of other clusters, and in their Pods",
  kinds: [clusterKind, kubermaticConfigurations],
  hasOriginal: true,
  options: clusterOptions,
  uninstallOptions: [clusterApiNamespaces, allowInsecureClusters],
  crds: async () => {
    const { clusterCrd, kubermaticConfigurationCrd } = await import("../../api/crds.ts");
    return [clusterCrd, kubermaticConfigurationCrd];
  },
  load: async () => (await import("./feature.ts")).clustersModule,
};
