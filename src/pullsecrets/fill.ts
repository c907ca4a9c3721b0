import { keyOf, type NamespacedRef } from "../api/objects.ts";
import { forAll } from "../kube/all-of.ts";
import type { Kube } from "../kube/client.ts";
import type { Owner } from "../ownership/holder.ts";
import { type CopyResult, ensureCopies, type Result, resultOf } from "../replication/ensure.ts";
import type { Desired } from "../replication/plan.ts";
import type { Copying } from "../replication/replication.ts";
import { sealedPrint } from "../replication/seal.ts";
import { isSettled } from "../replication/settled.ts";
import { readSource, type SourceContent, type SourceRecord } from "../replication/source.ts";
import { judge } from "./judge.ts";

/** Brings copies up to date: a result for each, in any order. */
export type Fill = (targets: readonly NamespacedRef[]) => Promise<readonly CopyResult[]>;

interface Filling {
  readonly source: NamespacedRef;
  /** From the cache without its bytes, or just read. */
  readonly known: SourceRecord | SourceContent;
  readonly installation: Owner;
  readonly copying: Copying;
  /** Where the source is. */
  readonly home: Kube;
  /** Something else was there last time: ask before writing. */
  looksFirst(target: NamespacedRef): boolean;
}

/** The source's bytes are read only if something has to be written, and then once. */
export function fillerOf(filling: Filling): Fill {
  const { known, copying } = filling;
  let reading: Promise<SourceContent | Result> | undefined;

  return async (targets) => {
    const isCurrent = (target: NamespacedRef) =>
      copying.copies.has(keyOf(target)) && isSettled(target, desiredAt(target, known, filling), copying);
    const settled = new Set(targets.filter(isCurrent));
    const results = [...settled].map((target): CopyResult => ({ target, kind: "current", isWritten: false }));
    const open = targets.filter((target) => !settled.has(target));
    if (open.length === 0) return results;

    reading ??= "data" in known ? Promise.resolve(known) : readSince(known, filling);
    const content = await reading;
    if (!("data" in content)) return [...results, ...open.map((target) => ({ target, ...content }) as CopyResult)];
    const written = await forAll(open, (target) => write(target, content, filling));
    return [...results, ...written.flat()];
  };
}

function write(target: NamespacedRef, content: SourceContent, filling: Filling): Promise<readonly CopyResult[]> {
  const { copying, looksFirst } = filling;
  return ensureCopies([target], {
    ...copying,
    fingerprint: (type, data) => sealAt(target, copying.fingerprint(type, data), filling),
    source: { ...content, fingerprint: sealAt(target, content.fingerprint, filling) },
    desired: desiredAt(target, content, filling),
    isOwnerStaying: async () => true,
    looksFirst,
  });
}

function desiredAt(target: NamespacedRef, content: SourceRecord, filling: Filling): Desired {
  return {
    source: filling.source,
    content: { keys: content.keys, fingerprint: sealAt(target, content.fingerprint, filling) },
    claim: { owner: filling.installation, onCollision: "refuse" },
    isAlive: () => true,
  };
}

const sealAt = (target: NamespacedRef, print: string, { source, copying }: Filling): string =>
  sealedPrint(print, target, source, copying.fingerprint);

/** At least as new as the event that told of it; or what comes of all copies without it. */
async function readSince(
  { metadata }: SourceRecord,
  { source, home, copying: { fingerprint, signal } }: Filling,
): Promise<SourceContent | Result> {
  try {
    const content = await readSource(home, source, fingerprint, { notOlderThan: metadata.resourceVersion, signal });
    if (content && judge(content).kind === "usable") return content;
    // Its own event tells what it is now.
    return { kind: "unfinished", message: "the source has just changed" };
  } catch (error) {
    return resultOf(error);
  }
}
