import type { Choice } from "./choose-modes.ts";
import type { Config } from "./config.ts";
import type { Feature, FeatureEntry } from "./features/feature.ts";
import { openFeatures, type SharedDeps } from "./open-features.ts";
import { PullSecrets } from "./pullsecrets/pull-secrets.ts";
import { webhookConfigurationOf } from "./runtime/admission.ts";
import type { Check } from "./runtime/health.ts";
import type { RunningController } from "./runtime/run-controller.ts";
import { runKeyed } from "./runtime/run-keyed.ts";
import { type Run, whenReachable } from "./start-up.ts";
import {
  cacheIsFilled,
  cacheIsNotDeaf,
  controllerIsFilled,
  controllerLives,
  controllerMoves,
} from "./surfaces/health/checks.ts";
import { serveWebhooks } from "./surfaces/webhooks/serve.ts";

/** What stays while generations come and go. */
export interface Base extends Omit<SharedDeps, "pullSecrets"> {
  readonly config: Config;
  readonly entries: readonly FeatureEntry[];
}

/** All features, each in its mode, at work. */
export interface Generation {
  readonly admissionUrl: string;
  readonly checks: { readonly live: readonly Check[]; readonly ready: readonly Check[] };
}

/** Opens a generation, has it live, and closes it in the reverse order of this function. */
export async function runGeneration(
  choices: readonly Choice[],
  base: Base,
  run: Run,
  live: (generation: Generation) => Promise<void>,
): Promise<void> {
  const { kube, config, entries, election, recorder, replication, installation } = base;
  const { log, signal } = run;
  await using pullSecrets = new PullSecrets({ kube, replication, installation, log });
  const shared = { kube, replication, installation, pullSecrets, recorder, election };
  await using features = await openFeatures(choices, shared, config, run);
  const hooks = features.list.flatMap((feature) => feature.admission);
  const known = entries.map(({ name }) => webhookConfigurationOf(name));
  const serving = { kube, config, known, election, log, signal };
  await using webhooks = await whenReachable(() => serveWebhooks(hooks, serving), run);
  await using controllers = startControllers(features.list, pullSecrets, base, run);

  const caches = features.list.flatMap((feature) => feature.caches);
  const watched = [...caches, ...controllers.list.flatMap(({ objects }) => objects ?? [])];
  await live({
    admissionUrl: webhooks.url,
    checks: {
      live: [...watched.map(cacheIsNotDeaf), ...controllers.checks],
      ready: [...caches.map(cacheIsFilled), ...controllers.list.map(controllerIsFilled), webhooks.check],
    },
  });
}

function startControllers(
  features: readonly Feature[],
  pullSecrets: PullSecrets,
  { kube, election, recorder }: Base,
  run: Run,
) {
  const { log } = run;
  const over = new AbortController();
  const signal = AbortSignal.any([run.signal, over.signal]);
  const context = { kube, election, recorder, log, signal };
  const list: readonly RunningController[] = [
    ...features.flatMap((feature) => feature.controllers.map((start) => start(context))),
    ...(pullSecrets.hasAskers ? [runKeyed(pullSecrets.worker, context)] : []),
  ];
  const ended = list.map(({ name, closed }) =>
    // Never thrown: the other controllers go on, and liveness tells that this one does not.
    closed.catch((error: unknown) => log.error("a controller has ended", { controller: name, error })),
  );
  return {
    list,
    checks: list.flatMap((each): Check[] => [controllerLives(each, signal), controllerMoves(each)]),
    [Symbol.asyncDispose]: async () => {
      over.abort();
      await Promise.all(ended);
    },
  };
}
