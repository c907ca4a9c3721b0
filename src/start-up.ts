import { setTimeout as sleep } from "node:timers/promises";
import { crdNameOf, namespaces } from "./api/objects.ts";
import { type Config, modeOption } from "./config.ts";
import type { Feature, FeatureEntry } from "./features/feature.ts";
import { backoffMs } from "./kube/backoff.ts";
import type { Call, Kube } from "./kube/client.ts";
import { getCrdState } from "./kube/crd-state.ts";
import { isReason, isTransient } from "./kube/errors.ts";
import { installCrds } from "./kube/install-crds.ts";
import type { Log } from "./kube/log.ts";
import { showMode } from "./runtime/metrics.ts";
import { decideFeatureMode, type Mode } from "./runtime/modes.ts";

/** What every step of the start is given. */
export interface Run {
  readonly signal: AbortSignal;
  readonly log: Log;
}

/** A feature that is on, and how. */
interface ChosenFeature {
  readonly entry: FeatureEntry;
  readonly mode: Exclude<Mode, "off">;
}

/** Repeats a step of the start for as long as the API server is away; any other failure is thrown. */
export async function whenReachable<T>(task: () => Promise<T>, { log, signal }: Run): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await task();
    } catch (error) {
      if (signal.aborted || !isTransient(error)) throw error;
      if (attempt === 0) log.warn("waiting for the API server", { error });
      await sleep(backoffMs(attempt, { baseMs: 250, maxMs: 5000 }), undefined, { signal });
    }
  }
}

/** Namespace, modes and CRDs: what must be there before a feature opens. */
export async function prepare(
  kube: Kube,
  config: Config,
  entries: readonly FeatureEntry[],
  run: Run,
): Promise<readonly ChosenFeature[]> {
  await ensureNamespace(kube, config, run);
  const chosen = await chooseFeatures(kube, config, entries, run);
  if (config.installCrds) await installChosenCrds(kube, chosen, run);
  return chosen;
}

/** In a cluster the namespace is there, since we run in it. */
async function ensureNamespace(kube: Kube, { isInCluster, namespace }: Config, call: Call): Promise<void> {
  if (isInCluster || (await kube.getMetadata(namespaces, { name: namespace }, call))) return;
  try {
    await kube.create(namespaces, { metadata: { name: namespace } }, call);
  } catch (error) {
    if (!isReason(error, "AlreadyExists")) throw error;
  }
}

/** Decides the mode of each feature by its flag and by whose CRDs are there; refuses by throwing. */
async function chooseFeatures(
  kube: Kube,
  config: Config,
  entries: readonly FeatureEntry[],
  { log, signal }: Run,
): Promise<readonly ChosenFeature[]> {
  const chosen: ChosenFeature[] = [];
  for (const entry of entries) {
    const mode = await chooseMode(kube, config, entry, { signal });
    showMode(entry.name, mode);
    log.info("feature", { feature: entry.name, mode });
    if (mode !== "off") chosen.push({ entry, mode });
  }
  return chosen;
}

async function chooseMode(kube: Kube, config: Config, entry: FeatureEntry, call: Call): Promise<Mode> {
  const flag = config.settings.get(modeOption(entry));
  if (flag === "off") return "off";
  const kinds = await Promise.all(
    entry.kinds.map(async (kind) => ({ name: crdNameOf(kind), crd: await getCrdState(kube, kind, call) })),
  );
  const decision = decideFeatureMode(flag, entry, kinds);
  if ("refusals" in decision) throw new Error(decision.refusals.join("\n"));
  return decision.mode;
}

/** Only for features that work instead of an original: beside it, the CRDs are the original's. */
async function installChosenCrds(kube: Kube, chosen: readonly ChosenFeature[], call: Call): Promise<void> {
  for (const { entry, mode } of chosen) {
    if (mode === "instead") await installCrds(kube, await entry.crds(), call);
  }
}

interface OpenFeatures extends AsyncDisposable {
  readonly list: readonly Feature[];
}

/** Opens them in order. Where one cannot be opened, those before it are closed again. */
export async function openFeatures(
  chosen: readonly ChosenFeature[],
  kube: Kube,
  config: Config,
  run: Run,
): Promise<OpenFeatures> {
  const list: Feature[] = [];
  const close = async () => {
    for (const feature of list.toReversed()) await feature[Symbol.asyncDispose]?.();
  };
  try {
    for (const each of chosen) list.push(await openFeature(each, kube, config, run));
  } catch (error) {
    await close();
    throw error;
  }
  for (const cache of list.flatMap((feature) => feature.caches)) cache.start();
  return { list, [Symbol.asyncDispose]: close };
}

async function openFeature(
  { entry, mode }: ChosenFeature,
  kube: Kube,
  { settings, namespace, referenceCheck }: Config,
  { log, signal }: Run,
): Promise<Feature> {
  const { open } = await entry.load();
  const deps = {
    ...{ kube, settings, namespace, mode, signal },
    log: log.with({ feature: entry.name }),
    checksReferences: referenceCheck,
  };
  return await whenReachable(() => open(deps), { log, signal });
}
