import { clusters, kubermaticConfigurations } from "../../api/kinds.ts";
import { keyOf, namespaces, secrets } from "../../api/objects.ts";
import type { WatchCache } from "../../kube/cache.ts";
import { NameWatches } from "../../kube/name-watches.ts";
import type { Reference } from "../../pullsecrets/references.ts";
import { BesideWriter } from "../../runtime/beside-writer.ts";
import { runController } from "../../runtime/run-controller.ts";
import type { Deps, Feature, FeatureModule } from "../feature.ts";
import { BesidePasses } from "./beside-pass.ts";
import { isInjecting } from "./clean-up.ts";
import { configurationController } from "./configuration-controller.ts";
import type { ConfigurationRecord } from "./configuration-record.ts";
import { clusterController } from "./controller.ts";
import { credentialsOf } from "./credentials.ts";
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
import type { ClusterRecord } from "./record.ts";
import { clusterReferenceHook } from "./reference-check.ts";
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
  const objects = Promise.withResolvers<WatchCache<ClusterRecord>>();
  const reported = new Set<(source: string) => void>();
  let records: WatchCache<ClusterRecord> | undefined;
  let configurations: WatchCache<ConfigurationRecord> | undefined;
  const staying = () => records?.list().filter(({ metadata }) => !metadata.deletionTimestamp) ?? [];
  const credentials = (record: ClusterRecord) => credentialsOf(record.wish, defaults.credentials);

  const asker = new HomeAsker({
    references: function* (): Iterable<Reference> {
      for (const record of staying()) yield* credentials(record).references;
      yield* defaults.credentials.references;
    },
    isHomeExpected: () => staying().some(({ wish, status }) => wish.isHome || status?.clusterID === homeId),
    isInjecting: (call) => isInjecting({ kube, installation, ...call }),
    isKnown: (source) => pullSecrets.reportOf(source) !== undefined,
    ready: Promise.all([objects.promise.then((cache) => cache.synced()), defaults.synced()]),
    onReport(source) {
      fleet.wakeSource(source);
      for (const listener of reported) listener(source);
    },
  });
  pullSecrets.addAsker(asker);
  const kubeconfigs = new NameWatches({ kube, resource: secrets, log });
  const search = {
    clusterApiNamespaces: settings.get(clusterApiNamespaces),
    allowInsecure: settings.get(allowInsecureClusters),
  };
  const home = { kube, replication, pullSecrets, asker, installation, election, log };
  const fleet = new Fleet({ home, homeId, kubeconfigs, ...search, log });
  const timeoutMs = settings.get(clusterCleanupTimeout);
  const clusterWriter = new BesideWriter({ resource: clusters, objects: () => records! });
  const wakeSources = (references: readonly Reference[]) => {
    for (const reference of references) pullSecrets.wake(keyOf(reference));
  };

  const controller = clusterController({
    ...{ mode, fleet, defaults, credentialsOf: credentials },
    leaving: new Leaving({ fleet, home, timeoutMs, log }),
    beside: new BesidePasses(clusterWriter),
    onClusters(cache) {
      records = cache;
      cache.subscribe(({ before, after }) => {
        for (const record of [before, after]) if (record) wakeSources(credentials(record).references);
      });
      objects.resolve(cache);
    },
  });
  const configuration = configurationController({
    ...{ mode: configurationMode, defaults, replication, pullSecrets },
    writer: new BesideWriter({ resource: kubermaticConfigurations, objects: () => configurations! }),
    onReport(listener) {
      reported.add(listener);
      return () => reported.delete(listener);
    },
    onConfigurations(cache) {
      configurations = cache;
      defaults.attach(cache);
    },
  });
  defaults.onChange((before) => wakeSources([...before.references, ...defaults.credentials.references]));
  showClusters({ clusters: () => records?.list() ?? [], links: () => fleet.links, counting: () => defaults.counting });

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
