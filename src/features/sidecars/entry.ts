import { sidecarSets } from "../../api/kinds.ts";
import type { FeatureEntry } from "../feature.ts";
import { defaultNamespace, failurePolicy, idleCopies } from "./options.ts";

export const sidecars: FeatureEntry = {
  name: "sidecars",
  about: "SidecarSet: containers put into Pods, and the pull secrets these need",
  kinds: [sidecarSets],
  hasOriginal: true,
  options: [failurePolicy, defaultNamespace, idleCopies],
  crds: async () => [(await import("../../api/crds.ts")).sidecarSetCrd],
  load: async () => (await import("./feature.ts")).sidecarsModule,
};
