import { sidecarSets } from "../../api/kinds.ts";
import { pods as podKind } from "../../api/pods.ts";
import { WatchCache } from "../../kube/cache.ts";
import { NameWatches } from "../../kube/name-watches.ts";
import { runController } from "../../runtime/run-controller.ts";
import type { Deps, Feature, FeatureModule } from "../feature.ts";
import { Verdicts } from "./accepted.ts";
import { openAccounts } from "./accounts.ts";
import { checkHook } from "./checks.ts";
import { sidecarSetController } from "./controller.ts";
import { Judged } from "./judged.ts";
import { showCopies, showPods } from "./metrics.ts";
import { defaultNamespace, failurePolicy, idleCopies } from "./options.ts";
import { podHook } from "./pod-hook.ts";
import { injectedPods, type PodRecord, podIndexes, podRecordOf } from "./pod-record.ts";
import type { SidecarSetRecord } from "./record.ts";
import { referenceHook } from "./reference-check.ts";
import { findServedKind } from "./served-kind.ts";
import { summarise } from "./summary.ts";
import { uninstall } from "./uninstall.ts";
import { Wants } from "./wants.ts";

async function open(deps: Deps): Promise<Feature> {
  const { kube, log, mode, namespace, replication, pullSecrets, recorder, settings } = deps;
  const { namespaces, copies, sources } = replication;
  // Our own CRD may be about to come.
  const resource = (mode === "beside" && (await findServedKind(kube, deps))) || sidecarSets;
  const pods = new WatchCache<PodRecord>({
    ...{ kube, log, resource: podKind, selection: injectedPods, transform: podRecordOf, indexes: podIndexes },
  });
  const accounts = openAccounts(kube, log);
  const podWatches = new NameWatches({ kube, resource: podKind, log });
  const verdicts = new Verdicts();
  const idleMs = settings.get(idleCopies);
  const wants = new Wants({
    ...{ mode, pods, namespaces, pullSecrets, kube, idleMs, ownNamespace: namespace, verdicts, podWatches },
  });
  pullSecrets.addAsker(wants);

  const sets = Promise.withResolvers<WatchCache<SidecarSetRecord>>();
  const about = { kube, mode, resource, defaultNamespace: settings.get(defaultNamespace) };
  const controller = sidecarSetController({
    ...about,
    ...{ namespace, pods, namespaces, pullSecrets, wants, verdicts, onSets: sets.resolve },
  });
  const shared = { ...about, ownNamespace: namespace, sets: sets.promise, judged: new Judged() };
  const injecting = { ...shared, namespaces, accounts, caches: [copies, sources], pullSecrets, recorder, log };
  return {
    controllers: [(context) => runController(controller, context)],
    admission: [
      podHook({ ...injecting, failurePolicy: settings.get(failurePolicy) }),
      ...(deps.checksReferences ? [referenceHook(about)] : []),
      checkHook(shared),
    ],
    caches: [pods, accounts],
    async [Symbol.asyncDispose]() {
      showPods(() => []);
      showCopies(() => []);
      wants[Symbol.dispose]();
      await Promise.all([pods, accounts, podWatches].map((part) => part[Symbol.asyncDispose]()));
    },
  };
}

export const sidecarsModule: FeatureModule = { open, uninstall, summarise };
