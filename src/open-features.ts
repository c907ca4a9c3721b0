import { crdNameOf, type Resource } from "./api/objects.ts";
import type { Choice } from "./choose-modes.ts";
import type { Config } from "./config.ts";
import type { Deps, Feature } from "./features/feature.ts";
import { installCrds } from "./kube/install-crds.ts";
import { type Run, whenReachable } from "./start-up.ts";

/** What all features are given alike. */
export type SharedDeps = Pick<Deps, "kube" | "replication" | "installation" | "pullSecrets" | "recorder" | "election">;

interface OpenFeatures extends AsyncDisposable {
  readonly list: readonly Feature[];
}

/** Opens what is not off, in order. Where one cannot be opened, those before it are closed again. */
export async function openFeatures(
  choices: readonly Choice[],
  shared: SharedDeps,
  config: Config,
  run: Run,
): Promise<OpenFeatures> {
  const list: Feature[] = [];
  const over = new AbortController();
  const close = async () => {
    over.abort();
    for (const feature of list.toReversed()) await feature[Symbol.asyncDispose]?.();
  };
  const during = { ...run, signal: AbortSignal.any([run.signal, over.signal]) };
  try {
    for (const choice of choices) {
      const feature = await openFeature(choice, shared, config, during);
      if (feature) list.push(feature);
    }
  } catch (error) {
    await close();
    throw error;
  }
  for (const cache of list.flatMap((feature) => feature.caches)) cache.start();
  return { list, [Symbol.asyncDispose]: close };
}

async function openFeature(
  { entry, mode, kinds, modes }: Choice,
  shared: SharedDeps,
  config: Config,
  run: Run,
): Promise<Feature | undefined> {
  if (mode === "off") return undefined;
  const { kube } = shared;
  const { settings, namespace, referenceCheck } = config;
  const besides = kinds.filter((_, at) => modes[at] === "beside").map(({ name }) => name);
  if (config.installCrds) {
    // The others are the original project's own.
    const drafts = (await entry.crds()).filter(({ metadata }) => !besides.includes(metadata.name ?? ""));
    await whenReachable(() => installCrds(kube, drafts, run), run);
  }
  const { open } = await entry.load();
  const deps = {
    ...shared,
    ...{ settings, namespace, mode, signal: run.signal },
    modeOf: (kind: Resource) => (besides.includes(crdNameOf(kind)) ? "beside" : "instead") as Deps["mode"],
    log: run.log.with({ feature: entry.name }),
    checksReferences: referenceCheck,
  };
  return await whenReachable(() => open(deps), run);
}
