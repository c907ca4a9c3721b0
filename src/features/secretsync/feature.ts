import { secrets } from "../../api/objects.ts";
import { NameWatches } from "../../kube/name-watches.ts";
import { openReplication } from "../../replication/replication.ts";
import { runController } from "../../runtime/run-controller.ts";
import type { Deps, Feature, FeatureModule } from "../feature.ts";
import { secretSyncHook } from "./admission.ts";
import { secretSyncController } from "./controller.ts";
import { Follows } from "./follows.ts";
import { summarise } from "./summary.ts";
import { uninstall } from "./uninstall.ts";

async function open({ kube, namespace, log, checksReferences, signal }: Deps): Promise<Feature> {
  const replication = await openReplication({ kube, namespace, log, signal });
  const watches = new NameWatches({ kube, resource: secrets, log });
  const caches = [replication.copies, replication.sources, replication.namespaces];
  const controller = secretSyncController(replication, new Follows(watches));
  return {
    controllers: [(context) => runController(controller, context)],
    admission: checksReferences ? [secretSyncHook(kube)] : [],
    caches,
    async [Symbol.asyncDispose]() {
      await Promise.all([...caches, watches].map((part) => part[Symbol.asyncDispose]()));
    },
  };
}

export const secretSyncModule: FeatureModule = { open, uninstall, summarise };
