import { secretSyncs } from "../../api/kinds.ts";
import type { FeatureEntry } from "../feature.ts";

export const secretSync: FeatureEntry = {
  name: "secretsync",
  about: "SecretSync: one Secret kept equal in up to 32 other places",
  kinds: [secretSyncs],
  hasOriginal: false,
  crds: async () => [(await import("../../api/crds.ts")).secretSyncCrd],
  load: async () => (await import("./feature.ts")).secretSyncModule,
};
