import { setTimeout as sleep } from "node:timers/promises";
import { crdNameOf, crds } from "./api/objects.ts";
import { type Choice, chooseModes, isOutdated } from "./choose-modes.ts";
import { modeOption } from "./config.ts";
import { type Base, type Generation, runGeneration } from "./generation.ts";
import { backoffMs } from "./kube/backoff.ts";
import { NameWatches } from "./kube/name-watches.ts";
import { Alarm } from "./runtime/alarm.ts";
import { showMode } from "./runtime/metrics.ts";
import { type Run, whenReachable } from "./start-up.ts";

/** A generation that lived this long says nothing against the next one. */
const calmMs = 60_000;
const restlessBackoff = { baseMs: 500, maxMs: 15_000 };
/** The watches tell of every change; this is for what could not be read then. */
const lookAgainMs = 300_000;

/** Goes along with every generation; ends with the signal. */
type Accompany = (generation: Generation, signal: AbortSignal) => Promise<void>;

/**
 * Runs one generation after the other until the signal: a new one whenever whose CRDs are there asks for other modes.
 * The first must open; of a later one that does not, the process outlives the failure.
 */
export async function runGenerations(base: Base, run: Run, accompany: Accompany): Promise<void> {
  const { signal, log } = run;
  const alarm = new Alarm();
  await using _watches = followCrds(base, run, alarm);
  let hasLived = false;
  for (let restless = 0; !signal.aborted; ) {
    const begunAtMs = performance.now();
    try {
      const choices = await choose(base, run);
      showChoices(choices, run);
      await runGeneration(choices, base, run, async (generation) => {
        hasLived = true;
        await live(generation, { choices, base, run, alarm, accompany });
      });
    } catch (error) {
      if (!hasLived || signal.aborted) throw error;
      log.error("the features cannot be opened, trying again", { error });
    }
    restless = performance.now() - begunAtMs < calmMs ? restless + 1 : 0;
    if (restless > 0) await sleep(backoffMs(restless - 1, restlessBackoff), undefined, { signal }).catch(() => {});
  }
}

function followCrds({ kube, config, entries }: Base, { log }: Run, alarm: Alarm): AsyncDisposable {
  const watches = new NameWatches({ kube, resource: crds, log });
  const kinds = entries
    .filter((entry) => config.settings.get(modeOption(entry)) !== "off")
    .flatMap(({ kinds }) => kinds);
  for (const kind of kinds) watches.follow({ name: crdNameOf(kind) }, () => alarm.ring());
  return watches;
}

function choose({ kube, config, entries }: Base, run: Run): Promise<readonly Choice[]> {
  return whenReachable(() => chooseModes(kube, config, entries, run), run);
}

function showChoices(choices: readonly Choice[], run: Run): void {
  for (const { entry, mode, refusals, missing } of choices) {
    showMode(entry.name, mode);
    const log = run.log.with({ feature: entry.name });
    log.info("feature", { mode });
    for (const refusal of refusals) log.error("refused: off until the CRD changes", { refusal });
    for (const crd of missing) log.warn("off until there is a CRD: see `latchkey crds`", { crd });
  }
}

interface Life {
  readonly choices: readonly Choice[];
  readonly base: Base;
  readonly run: Run;
  readonly alarm: Alarm;
  readonly accompany: Accompany;
}

async function live(generation: Generation, life: Life): Promise<void> {
  const { signal, log } = life.run;
  const over = new AbortController();
  const accompanied = life.accompany(generation, AbortSignal.any([signal, over.signal]));
  await untilOutdated(life);
  if (!signal.aborted) log.info("CRDs have changed, opening the features anew");
  over.abort();
  await accompanied;
}

async function untilOutdated({ choices, base, run, alarm }: Life): Promise<void> {
  const { signal, log } = run;
  for (;;) {
    await alarm.wait(lookAgainMs, { signal });
    if (signal.aborted) return;
    const now = await choose(base, run).catch((error: unknown) => {
      if (!signal.aborted) log.error("the CRDs cannot be read, the features go on as they are", { error });
      return choices;
    });
    if (choices.some((choice, index) => isOutdated(choice, now[index] ?? choice))) return;
  }
}
