import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "./config.ts";
import { connect } from "./connect.ts";
import type { Feature, FeatureEntry } from "./features/feature.ts";
import { countRequest, registry } from "./kube/metrics.ts";
import { startTracing } from "./kube/trace.ts";
import { webhookConfigurationOf } from "./runtime/admission.ts";
import { type Check, serveHealth } from "./runtime/health.ts";
import { Election } from "./runtime/lease.ts";
import { leaseName } from "./runtime/lease-move.ts";
import { Recorder } from "./runtime/recorder.ts";
import type { RunningController } from "./runtime/run-controller.ts";
import { openFeatures, prepare, type Run, whenReachable } from "./start-up.ts";
import {
  cacheIsFilled,
  cacheIsNotDeaf,
  controllerIsFilled,
  controllerLives,
  controllerMoves,
  Pulse,
} from "./surfaces/health/checks.ts";
import { serveWebhooks } from "./surfaces/webhooks/serve.ts";
import { version } from "./version.ts";

/** The whole operator, until the signal. What it holds is given back in the reverse order of this function. */
export async function runOperator(config: Config, entries: readonly FeatureEntry[], run: Run): Promise<void> {
  const { signal, log } = run;
  log.info("starting", { version, replica: config.replicaId, namespace: config.namespace });
  await using _tracing = closing(await startTracing());
  const pulse = new Pulse();
  await using kube = await connect(config, {
    onRequest: (request) => {
      countRequest(request);
      pulse.note(request);
    },
  });
  const starting: Check = { name: "start", failing: () => "still starting" };
  const checks = { live: [] as Check[], ready: [starting, pulse.check] };
  const health = await serveHealth({ address: config.metricsAddress, registry, checks });
  await using _health = closing(() => health.close());

  const chosen = await whenReachable(() => prepare(kube, config, entries, run), run);
  await using features = await openFeatures(chosen, kube, config, run);
  await using election = new Election({
    kube,
    namespace: config.namespace,
    name: leaseName,
    identity: config.replicaId,
    log,
    enabled: config.leaderElect,
  });
  const hooks = features.list.flatMap((feature) => feature.admission);
  const known = entries.map(({ name }) => webhookConfigurationOf(name));
  const serving = { kube, config, known, election, log, signal };
  await using webhooks = await whenReachable(() => serveWebhooks(hooks, serving), run);
  await using recorder = new Recorder({ kube, identity: config.replicaId, log });
  await using controllers = startControllers(features.list, { kube, election, recorder, log, signal });
  const caches = features.list.flatMap((feature) => feature.caches);
  checks.live.push(...[...caches, ...controllers.list.map(({ objects }) => objects)].map(cacheIsNotDeaf));
  for (const each of controllers.list) checks.live.push(controllerLives(each, signal), controllerMoves(each));
  checks.ready.push(...caches.map(cacheIsFilled), ...controllers.list.map(controllerIsFilled), webhooks.check);
  checks.ready.splice(checks.ready.indexOf(starting), 1);
  election.start();

  const beating = pulse.beat(kube, { signal });
  await untilAllPass(checks.ready, signal);
  if (!signal.aborted) log.info("ready", { metrics: health.url, admission: webhooks.url });
  await beating;
  log.info("stopping");
}

function startControllers(features: readonly Feature[], context: Parameters<Feature["controllers"][number]>[0]) {
  const list = features.flatMap((feature) => feature.controllers.map((start): RunningController => start(context)));
  const ended = list.map(({ name, closed }) =>
    // Never thrown: the other controllers go on, and liveness tells that this one does not.
    closed.catch((error: unknown) => context.log.error("a controller has ended", { controller: name, error })),
  );
  return {
    list,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(ended);
    },
  };
}

/** Readiness and the line `ready` go by the same checks. */
async function untilAllPass(checks: readonly Check[], signal: AbortSignal): Promise<void> {
  while (!signal.aborted && checks.some((check) => check.failing() !== undefined)) {
    await sleep(50, undefined, { signal }).catch(() => undefined);
  }
}

function closing(close: () => Promise<void>): AsyncDisposable {
  return { [Symbol.asyncDispose]: close };
}
