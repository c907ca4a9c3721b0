import { secretSyncs } from "../../api/kinds.ts";
import { copiesFinalizer, ownerUidLabel, sourceLabelFinalizer, sourceManagerOf } from "../../api/marks.ts";
import { type KubeObject, keyOf } from "../../api/objects.ts";
import type { SecretSync } from "../../api/secret-sync.ts";
import { allOf } from "../../kube/all-of.ts";
import type { Change, WatchCache } from "../../kube/cache.ts";
import { ApiError, isTransient } from "../../kube/errors.ts";
import { span } from "../../kube/trace.ts";
import type { CopyResult } from "../../replication/ensure.ts";
import type { Follows } from "../../replication/follows.ts";
import { Propagation } from "../../replication/propagation.ts";
import { releaseAll, releaseUnwanted } from "../../replication/release.ts";
import type { Copying, Replication } from "../../replication/replication.ts";
import { isSameContent, type SourceRecord } from "../../replication/source.ts";
import { CopyWriter } from "../../replication/writes.ts";
import type { Controller, Pass } from "../../runtime/controller.ts";
import type { Outcome } from "../../runtime/outcome.ts";
import type { Precedence } from "./circles.ts";
import { copyAll, targetsWithoutSource } from "./copies.ts";
import { FirstSeen } from "./first-seen.ts";
import { jittered, parseInterval } from "./interval.ts";
import { countTargets } from "./metrics.ts";
import { ownerOf } from "./owner.ts";
import { notReleased, notWithdrawn, type Problem, passFailed, sourceMissing, targetOf } from "./problems.ts";
import { findSource, isWatching, labelWatched, withdrawLabels } from "./source.ts";
import { Standstill } from "./standstill.ts";
import { announcementsOf, type Findings, pausedStatusOf, statusOf, targetsBefore } from "./status.ts";

const feature = "secretsync";
const slowRecheckMs = 300_000;
const standstillMs = 2_000;

/** Keeps copies of one Secret in every place a SecretSync names. */
export function secretSyncController(replication: Replication, follows: Follows): Controller<SecretSync> {
  const { copies, sources, namespaces, suspects } = replication;
  const propagation = new Propagation();
  const firstSeen = new FirstSeen();
  let syncs: WatchCache<SecretSync>;
  const precedence: Precedence = {
    writersTo: (place) => syncs.by("dest", place),
    holds: (sync, place) => copies.get(place)?.metadata.labels?.[ownerUidLabel] === sync.metadata.uid,
    seenAs: (sync) => firstSeen.get(sync.metadata.uid),
  };

  return {
    name: feature,
    resource: secretSyncs,
    concurrency: 64,
    indexes: {
      uid: (sync) => [sync.metadata.uid],
      reader: (sync) => [keyOf(sync.spec.src)],
      source: (sync) => (isWatching(sync) ? [keyOf(sync.spec.src)] : []),
      dest: (sync) => sync.spec.dest.map(keyOf),
      namespace: (sync) => [...new Set(sync.spec.dest.map((dest) => dest.namespace))],
    },
    finalizers: [
      { name: sourceLabelFinalizer, wanted: (sync) => !sync.spec.paused && isWatching(sync) },
      { name: copiesFinalizer, wanted: (sync) => !sync.spec.paused },
    ],
    watches: [
      { cache: sources, wakes: (change) => wokenBySource(change as Change<SourceRecord>) },
      { cache: copies, wakes: wokenByCopy },
      { cache: namespaces, wakes: ({ key }) => namesBy("namespace", key) },
    ],
    wakers: [(wake) => follows.onChange(wake), wakeTheRestOfACircle, wakeTheOwnersOfSuspects],

    onObjects(objects) {
      syncs = objects;
      objects.subscribe(({ before, after }) => firstSeen.note(before?.metadata.uid, after?.metadata.uid));
      countTargets(() => objects.list());
    },

    async reconcile(sync, pass) {
      if (sync.spec.paused) return endPaused(sync);

      using progress = new Standstill(standstillMs, () => void reportProgress(sync, pass));
      const copying = copyingFor(sync, pass, () => progress.moved());
      const wanted = new Set(sync.spec.dest.map(keyOf));
      const leftovers = [
        ...(await refusalsOf(() => releaseUnwanted(ownerOf(sync), wanted, copying), notReleased)),
        ...(await refusalsOf(() => withdrawLabels(replication, sync, pass), notWithdrawn)),
      ];

      const found = await findSource(replication, sync, pass);
      if ("problem" in found) return endWithoutSource(sync, [found.problem, ...leftovers]);

      const { source } = found;
      const results = await span("secretsync.copies", { sync: sync.metadata.name }, () =>
        copyAll(sync, source, { syncs, precedence, copying }),
      );
      if (!results) return endWithoutSource(sync, [sourceMissing(sync.spec.src), ...leftovers]);
      propagation.end(sync.metadata.name, feature, results);
      // After the copies: the label is for the next change, and many SecretSyncs may stand in line for one source.
      const problem = await labelWatched(sync, source, pass);
      if (problem?.reason === "SourceNotFound") return endWithoutSource(sync, [problem, ...leftovers]);
      return endWithResults(sync, results, problem ? [problem, ...leftovers] : leftovers);
    },

    async finalize(sync, pass) {
      follows.set(sync.metadata.name, []);
      const occasion = sync.metadata.finalizers?.includes("orphan") ? "owner-orphans" : "owner-leaves";
      // A source that cannot be written to does not keep the copies from being revoked, nor the other way round.
      const [label = [], release = []] = await allOf([
        refusalsOf(async () => isWatching(sync) && withdrawLabels(replication, sync, pass), notWithdrawn),
        refusalsOf(() => releaseAll(ownerOf(sync), occasion, copyingFor(sync, pass)), notReleased),
      ]);
      const problems = [...label, ...release];
      const remove = [
        ...(label.length === 0 ? [sourceLabelFinalizer] : []),
        ...(release.length === 0 ? [copiesFinalizer] : []),
      ];
      if (problems.length === 0) return { remove };
      return { ...outcomeOf(sync, { targets: targetsBefore(sync), problems }), remove, retry: true };
    },

    onError: failedOutcome,

    gone(key) {
      follows.set(key, []);
      propagation.end(key, feature, []);
    },
  };

  function namesBy(index: string, value: string): readonly string[] {
    return syncs.by(index, value).map((sync) => sync.metadata.name);
  }

  /** A label put on by one reader is nothing to the others; one taken off concerns whoever had put it there. */
  function wokenBySource({ key, before, after }: Change<SourceRecord>): readonly string[] {
    const readers = syncs.by("source", key);
    if (before && after && isSameContent(before, after)) {
      const lost = before.labelManagers.filter((manager) => !after.labelManagers.includes(manager));
      return readers.flatMap(({ metadata }) => (lost.includes(sourceManagerOf(metadata.uid)) ? [metadata.name] : []));
    }
    for (const { metadata } of readers) propagation.begin(metadata.name);
    return readers.map(({ metadata }) => metadata.name);
  }

  /** Whoever collided with the older one in a circle has its turn when that is gone. */
  function wakeTheRestOfACircle(wake: (name: string) => void): () => void {
    return syncs.subscribe(({ before, after }) => {
      if (!before || after) return;
      for (const dest of before.spec.dest) for (const name of namesBy("reader", keyOf(dest))) wake(name);
    });
  }

  /** Of an edit that no event has told of. */
  function wakeTheOwnersOfSuspects(wake: (name: string) => void): () => void {
    return suspects.onFound((key) => {
      for (const name of wokenByCopy({ key, before: undefined, after: copies.get(key) })) wake(name);
    });
  }

  function wokenByCopy({ key, before, after }: Change<KubeObject>): readonly string[] {
    const owners = [before, after].flatMap((copy) => copy?.metadata.labels?.[ownerUidLabel] ?? []);
    return [...namesBy("dest", key), ...owners.flatMap((uid) => namesBy("uid", uid))];
  }

  function copyingFor(sync: SecretSync, { kube, signal }: Pass, onWritten?: () => void): Copying {
    const writer = new CopyWriter({ kube, copies, feature, asker: sync.metadata.uid, signal, onWritten });
    return { ...replication, kube, signal, writer };
  }

  function endPaused(sync: SecretSync): Outcome {
    follows.set(sync.metadata.name, []);
    propagation.end(sync.metadata.name, feature, []);
    return { status: pausedStatusOf(sync) };
  }

  function endWithoutSource(sync: SecretSync, problems: readonly Problem[]): Outcome {
    const isForbidden = problems.some(({ reason }) => reason === "SourceForbidden");
    // Without our label it can only be followed by its name.
    follows.set(sync.metadata.name, isWatching(sync) && !isForbidden ? [sync.spec.src] : []);
    propagation.end(sync.metadata.name, feature, []);
    return {
      ...outcomeOf(sync, { targets: targetsWithoutSource(sync, replication), problems }),
      recheckAfterMs: recheckOf(sync, { isSlow: problems.length > 1 || isForbidden }),
    };
  }

  function endWithResults(sync: SecretSync, results: readonly CopyResult[], problems: readonly Problem[]): Outcome {
    const blocked = results.filter(({ kind }) => kind === "collision" || kind === "leaving");
    // A source that may not be labelled is followed by its name.
    const unlabelled = isWatching(sync) && problems.some(({ reason }) => reason === "SourceForbidden");
    follows.set(sync.metadata.name, [...blocked.map(({ target }) => target), ...(unlabelled ? [sync.spec.src] : [])]);
    const isSlow = problems.length > 0 || results.some(({ kind }) => kind === "refused");
    return {
      ...outcomeOf(sync, { targets: results.map(targetOf), problems }),
      recheckAfterMs: recheckOf(sync, { isSlow }),
      retry: results.some(({ kind }) => kind === "unfinished"),
    };
  }
}

/** What refused a clean-up is a problem to report, not a reason to leave the copies alone. */
async function refusalsOf(
  work: () => Promise<unknown>,
  problemOf: (error: ApiError) => Problem,
): Promise<readonly Problem[]> {
  try {
    await work();
    return [];
  } catch (error) {
    if (error instanceof ApiError && !isTransient(error)) return [problemOf(error)];
    throw error;
  }
}

function failedOutcome(sync: SecretSync, error: unknown): Outcome {
  return outcomeOf(sync, { targets: targetsBefore(sync), problems: [passFailed(error)] });
}

function outcomeOf(sync: SecretSync, findings: Findings): Outcome {
  const status = statusOf(sync, findings);
  return { status, events: announcementsOf(sync, status) };
}

async function reportProgress(sync: SecretSync, pass: Pass): Promise<void> {
  const message = `copies of ${keyOf(sync.spec.src)} are being written`;
  const problems: readonly Problem[] = [{ reason: "Progressing", message }];
  try {
    await pass.report(statusOf(sync, { targets: targetsBefore(sync), problems }));
  } catch (error) {
    pass.log.debug("progress was not reported", { error });
  }
}

/** Poll reads again after its interval; a refusal is asked about again now and then. */
function recheckOf(sync: SecretSync, { isSlow }: { readonly isSlow: boolean }): number | undefined {
  const { poll } = sync.spec.strategy;
  const pollMs = poll && jittered(parseInterval(poll.interval));
  return isSlow ? Math.min(pollMs ?? slowRecheckMs, slowRecheckMs) : pollMs;
}
