import { setTimeout as sleep } from "node:timers/promises";
import { fingerprintAnnotation } from "../api/marks.ts";
import { keyOf, type Secret, secrets } from "../api/objects.ts";
import type { Call, Kube, Page } from "../kube/client.ts";
import { isReason } from "../kube/errors.ts";
import type { Log } from "../kube/log.ts";
import { copiesSelector, type Replication } from "./replication.ts";
import { printOf } from "./seal.ts";

type Inspected = Pick<Replication, "copies" | "fingerprint" | "suspects">;

const attempts = 3;
const maxPageSize = 500;
const maxPageBytes = 8 * 1024 * 1024;

/**
 * Reads every copy once, page by page, and keeps nothing. One whose content is not what its marks say was edited under
 * our own name while nobody watched, and becomes a suspect. Tells how many.
 */
export async function inspectCopies(replication: Inspected, kube: Kube, call: Call): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await inspectOnce(replication, kube, call);
    } catch (error) {
      // The pages went stale in between.
      if (attempt === attempts || !isReason(error, "Expired", "Gone")) throw error;
    }
  }
}

async function inspectOnce(replication: Inspected, kube: Kube, call: Call): Promise<number> {
  let found = 0;
  let limit = 10;
  let continueToken: string | undefined;
  do {
    const selection = { labelSelector: copiesSelector, limit, continueToken };
    const page: Page<Secret> = await kube.page<Secret>(secrets, selection, call);
    for (const copy of page.items.filter((copy) => isEdited(copy, replication))) {
      replication.suspects.found(keyOf(copy.metadata));
      found += 1;
    }
    limit = nextPageSize(limit, page.items);
    continueToken = page.continueToken;
  } while (continueToken);
  return found;
}

function isEdited({ metadata, type = "Opaque", data = {} }: Secret, { copies, fingerprint }: Inspected): boolean {
  // What the cache has not seen yet, or knows more of, is told by its event.
  if (copies.get(keyOf(metadata))?.metadata.resourceVersion !== metadata.resourceVersion) return false;
  const claimed = metadata.annotations?.[fingerprintAnnotation];
  return claimed !== undefined && printOf(claimed) !== fingerprint(type, data);
}

/** Grows from page to page for as long as copies are small: hundreds of large ones at once would not fit into memory. */
export function nextPageSize(size: number, page: readonly Secret[]): number {
  const lengths = page.flatMap(({ data = {} }) => Object.values(data).map((value) => value.length));
  const bytes = lengths.reduce((sum, length) => sum + length, 1);
  const fitting = Math.floor((maxPageBytes * page.length) / bytes);
  return Math.max(1, Math.min(maxPageSize, 4 * size, fitting));
}

/** The part of the election that matters here. */
interface Leadership {
  isLeader(): boolean;
  onChange(listener: (isLeader: boolean) => void): () => void;
}

interface InspectionOptions {
  readonly kube: Kube;
  readonly election: Leadership;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** How an inspection ended: with an error, or well. */
  readonly onEnded?: ((error: unknown) => void) | undefined;
}

const everyMs = 6 * 3_600_000;
const retryMs = 300_000;

/** Inspects all copies when this replica comes to lead, and again every six hours. */
export function startInspection(replication: Replication, options: InspectionOptions): AsyncDisposable {
  const { election } = options;
  let term: AbortController | undefined;
  let running = Promise.resolve();
  const turn = (isLeader: boolean) => {
    if (!isLeader) term?.abort();
    if (!isLeader || (term && !term.signal.aborted)) return;
    term = new AbortController();
    const signal = AbortSignal.any([term.signal, options.signal]);
    running = running.then(() => inspectAgainAndAgain(replication, { ...options, signal }));
  };
  const stop = election.onChange(turn);
  turn(election.isLeader());
  return {
    async [Symbol.asyncDispose]() {
      stop();
      term?.abort();
      await running;
    },
  };
}

async function inspectAgainAndAgain(replication: Replication, options: InspectionOptions): Promise<void> {
  const { kube, log, signal, onEnded } = options;
  while (!signal.aborted) {
    let waitMs = everyMs * (0.9 + 0.2 * Math.random());
    try {
      await replication.copies.synced({ signal });
      log.debug("copies inspected", { edited: await inspectCopies(replication, kube, { signal }) });
      onEnded?.(undefined);
    } catch (error) {
      if (signal.aborted) return;
      log.warn("copies could not be inspected, trying again", { error });
      onEnded?.(error);
      waitMs = retryMs;
    }
    // Ends early by the abort, which the loop then sees.
    await sleep(waitMs, undefined, { signal }).catch(() => undefined);
  }
}
