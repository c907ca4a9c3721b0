import { clusters, kubermaticConfigurations } from "../../api/kinds.ts";
import { keyOf, namespaces, secrets } from "../../api/objects.ts";
import { NameWatches } from "../../kube/name-watches.ts";
import { runController } from "../../runtime/run-controller.ts";
import type { Deps, Feature, FeatureModule } from "../feature.ts";
import { stillInjected } from "./clean-up.ts";
import { configurationController } from "./configuration-controller.ts";
import { clusterController } from "./controller.ts";
import { Defaults } from "./defaults.ts";
import { Fleet } from "./fleet.ts";
import { HomeAsker } from "./home-asker.ts";
import { clusterHook, configurationHook, configurationReferenceHook } from "./hooks.ts";
import { Leaving } from "./leaving.ts";
import { showClusters } from "./metrics.ts";
import {
  allowInsecureClusters,
  clusterApiNamespaces,
  clusterCleanupTimeout,
  defaultPullSecret,
  kubermaticNamespace,
} from "./options.ts";
import { clusterReferenceHook } from "./reference-check.ts";
import { Roster } from "./roster.ts";
import { summarise } from "./summary.ts";
import { uninstall } from "./uninstall.ts";

async function open(deps: Deps): Promise<Feature> {
  const { kube, log, replication, pullSecrets, installation, election, settings, signal } = deps;
  const homeId = (await kube.getMetadata(namespaces, { name: "kube-system" }, { signal }))?.metadata.uid ?? "";
  const mode = deps.modeOf(clusters);
  const configurationMode = deps.modeOf(kubermaticConfigurations);
  const defaults = new Defaults({
    namespace: settings.get(kubermaticNamespace),
    fallback: settings.get(defaultPullSecret),
    names: replication.names,
  });
  const roster = new Roster(defaults);
  const reported = new Set<(source: string) => void>();
  const asker = new HomeAsker({
    references: () => roster.references(),
    isHomeExpected: () => roster.hasHome(homeId),
    stillInjected: (call) => stillInjected({ kube, installation, ...call }),
    isKnown: (source) => pullSecrets.reportOf(source) !== undefined,
    ready: roster.synced(),
    onReport(source) {
      fleet.wakeSource(source);
      for (const listener of reported) listener(source);
    },
  });
  pullSecrets.addAsker(asker);
  roster.onChange((references) => {
    for (const reference of references) pullSecrets.wake(keyOf(reference));
  });
  const kubeconfigs = new NameWatches({ kube, resource: secrets, log });
  const search = {
    clusterApiNamespaces: settings.get(clusterApiNamespaces),
    allowInsecure: settings.get(allowInsecureClusters),
  };
  const home = { kube, replication, pullSecrets, asker, installation, election, log };
  const fleet = new Fleet({ home, homeId, kubeconfigs, ...search, log });
  const leaving = new Leaving({ fleet, home, timeoutMs: settings.get(clusterCleanupTimeout), log });
  const controller = clusterController({ mode, fleet, leaving, roster });
  const configuration = configurationController({
    ...{ mode: configurationMode, defaults, replication, pullSecrets },
    onReport(listener) {
      reported.add(listener);
      return () => reported.delete(listener);
    },
  });
  showClusters({ clusters: () => roster.records, links: () => fleet.links, counting: () => defaults.counting });

  return {
    controllers: [(context) => runController(configuration, context), (context) => runController(controller, context)],
    admission: [
      ...(deps.checksReferences
        ? [clusterReferenceHook({ kube, mode, ...search }), configurationReferenceHook(kube)]
        : []),
      clusterHook(mode),
      configurationHook(configurationMode),
    ],
    caches: [],
    async [Symbol.asyncDispose]() {
      showClusters(undefined);
      defaults[Symbol.dispose]();
      await fleet[Symbol.asyncDispose]();
      await kubeconfigs[Symbol.asyncDispose]();
    },
  };
}

export const clustersModule: FeatureModule = { open, uninstall, summarise };
