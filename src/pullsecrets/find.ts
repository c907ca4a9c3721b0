import { keyOf, type NamespacedRef } from "../api/objects.ts";
import type { Call, Kube } from "../kube/client.ts";
import { ApiError, isReason, isTransient } from "../kube/errors.ts";
import type { Replication } from "../replication/replication.ts";
import { readSource, type SourceContent, type SourceRecord } from "../replication/source.ts";
import { judge } from "./judge.ts";
import type { SourceState } from "./report.ts";

export interface Found {
  readonly state: SourceState;
  /** From the cache without its bytes, or just read. */
  readonly record: SourceRecord | SourceContent | undefined;
  /** Nobody refused to have it read: the next time may go well. */
  readonly isFailure?: boolean;
}

/** What the cache has is enough; what it has not is looked for live, for it may only lack our label. */
export async function findSource(
  source: NamespacedRef,
  { sources, fingerprint }: Pick<Replication, "sources" | "fingerprint">,
  kube: Kube,
  { signal }: Call,
): Promise<Found> {
  try {
    const record = sources.get(keyOf(source)) ?? (await readSource(kube, source, fingerprint, { signal }));
    return { state: judge(record), record };
  } catch (error) {
    if (!(error instanceof ApiError) || isTransient(error)) throw error;
    return { ...unreadable(error), isFailure: !isReason(error, "Forbidden") };
  }
}

export const unreadable = ({ message }: Error): Found => ({
  state: { kind: "unreadable", message },
  record: undefined,
});
