import { Follows } from "../../replication/follows.ts";
import { runController } from "../../runtime/run-controller.ts";
import type { Deps, Feature, FeatureModule } from "../feature.ts";
import { secretSyncHook } from "./admission.ts";
import { secretSyncController } from "./controller.ts";
import { countTargets } from "./metrics.ts";
import { summarise } from "./summary.ts";
import { uninstall } from "./uninstall.ts";

async function open({ kube, replication, checksReferences }: Deps): Promise<Feature> {
  const controller = secretSyncController(replication, new Follows(replication.names));
  return {
    controllers: [(context) => runController(controller, context)],
    admission: checksReferences ? [secretSyncHook(kube)] : [],
    caches: [],
    async [Symbol.asyncDispose]() {
      countTargets(() => []);
    },
  };
}

export const secretSyncModule: FeatureModule = { open, uninstall, summarise };
