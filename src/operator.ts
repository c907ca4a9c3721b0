import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { chooseModes } from "./choose-modes.ts";
import type { Config } from "./config.ts";
import { connect } from "./connect.ts";
import type { FeatureEntry } from "./features/feature.ts";
import type { Kube } from "./kube/client.ts";
import { countRequest, registry } from "./kube/metrics.ts";
import { startTracing } from "./kube/trace.ts";
import { openInstallation } from "./pullsecrets/installation.ts";
import { startInspection } from "./replication/inspection.ts";
import { openReplication } from "./replication/replication.ts";
import { runGenerations } from "./run-generations.ts";
import { serveHealth } from "./runtime/health.ts";
import { Election } from "./runtime/lease.ts";
import { leaseName } from "./runtime/lease-move.ts";
import { givingMemoryBack } from "./runtime/memory.ts";
import { Recorder } from "./runtime/recorder.ts";
import { ensureNamespace, type Run, whenReachable } from "./start-up.ts";
import { cacheIsFilled, cacheIsNotDeaf, Pulse } from "./surfaces/health/checks.ts";
import { CurrentChecks } from "./surfaces/health/current-checks.ts";
import { countReviewCall } from "./surfaces/webhooks/api-calls.ts";
import { version } from "./version.ts";

/** The whole operator, until the signal. What it holds is given back in the reverse order of this function. */
export async function runOperator(config: Config, entries: readonly FeatureEntry[], run: Run): Promise<void> {
  const { signal, log } = run;
  const { namespace, replicaId: identity } = config;
  log.info("starting", { version, replica: identity, namespace });
  await using _tracing = closing(await startTracing());
  using _memory = givingMemoryBack();
  const pulse = new Pulse();
  await using kube = await connect(config, {
    onRequest: (request) => {
      countRequest(request);
      countReviewCall();
      pulse.note(request);
    },
  });
  const checks = new CurrentChecks();
  checks.add({ live: [], ready: [pulse.check] });
  const health = await serveHealth({ address: config.metricsAddress, registry, checks });
  await using _health = closing(() => health.close());

  await whenReachable(() => prepare(kube, config, entries, run), run);
  const installation = await whenReachable(() => openInstallation(kube, config.settings, run), run);
  await using replication = await whenReachable(() => openReplication({ kube, namespace, log, signal }), run);
  await using election = new Election({ kube, namespace, name: leaseName, identity, log, enabled: config.leaderElect });
  await using recorder = new Recorder({ kube, identity, log });
  await using _inspection = startInspection(replication, { kube, election, log, signal });
  for (const cache of replication.caches) cache.start();
  await using _beating = beating(pulse, kube);
  checks.add({ live: replication.caches.map(cacheIsNotDeaf), ready: replication.caches.map(cacheIsFilled) });

  const base = { kube, config, entries, election, recorder, replication, installation };
  await runGenerations(base, run, async (generation, during) => {
    election.start();
    using _shown = checks.show(generation.checks);
    await untilReady(checks, during);
    if (!during.aborted) log.info("ready", { metrics: health.url, admission: generation.admissionUrl });
    if (!during.aborted) await once(during, "abort");
  });
  log.info("stopping");
}

/** What must be there, and what must not, before anything is opened. */
async function prepare(kube: Kube, config: Config, entries: readonly FeatureEntry[], run: Run): Promise<void> {
  await ensureNamespace(kube, config, run);
  const choices = await chooseModes(kube, config, entries, run);
  const refusals = choices.flatMap((choice) => choice.refusals);
  if (refusals.length > 0) throw new Error(refusals.join("\n"));
}

/** Readiness and the line `ready` go by the same checks. */
async function untilReady(checks: CurrentChecks, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && checks.ready.some((check) => check.failing() !== undefined)) {
    await sleep(50, undefined, { signal }).catch(() => undefined);
  }
}

function beating(pulse: Pulse, kube: Kube): AsyncDisposable {
  const over = new AbortController();
  const beat = pulse.beat(kube, { signal: over.signal });
  return closing(async () => {
    over.abort();
    await beat;
  });
}

function closing(close: () => Promise<void>): AsyncDisposable {
  return { [Symbol.asyncDispose]: close };
}
