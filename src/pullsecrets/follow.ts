import { pullSecretsManager } from "../api/marks.ts";
import { ApiError, isDenied, isGoneOrReplaced, isReason } from "../kube/errors.ts";
import { isSealed } from "../replication/seal.ts";
import { labelSource, type SourceRecord, unlabelSource } from "../replication/source.ts";
import type { Found } from "./find.ts";
import { copiesOf } from "./ours.ts";
import type { SourcePass } from "./source-pass.ts";
import { labelling } from "./troubles.ts";

/** By our label where it may be put; what is missing, or not to be labelled, by its name. */
export async function followSource({ state, record, isFailure }: Found, at: SourcePass): Promise<void> {
  const { kube, follows, key, source } = at;
  const isWorthIt = isOurBusiness(at);
  if (!isWorthIt) await unlabel(at);
  const isLabelled =
    isWorthIt && record && (await tryLabelling(at, () => labelSource(kube, record, pullSecretsManager, at)));
  // Whoever may not read it may not watch it either.
  const isInvisible = state.kind === "unreadable" && !isFailure;
  follows.set(key, isLabelled || isInvisible ? [] : [source]);
}

/** Anybody can forge a copy of any Secret: that is no reason to write on it. */
const isOurBusiness = (at: SourcePass): boolean =>
  at.askers.lists(at.key) ||
  copiesOf(at.source, at).some((copy) => isSealed(copy, at.source, at.replication.fingerprint));

/** The last reference and the last copy are gone. */
export async function unfollowSource(at: SourcePass): Promise<void> {
  at.follows.set(at.key, []);
  await unlabel(at);
}

async function unlabel(at: SourcePass): Promise<void> {
  const { kube, replication, key, source } = at;
  const isOurs = isLabelledByUs(replication.sources.get(key));
  await tryLabelling(at, async () => isOurs && unlabelSource(kube, source, pullSecretsManager, at));
}

/** Whether the label is as it should be now. A refusal stops nothing else and is asked about again, ever more rarely. */
async function tryLabelling({ troubles, key, log }: SourcePass, write: () => Promise<unknown>): Promise<boolean> {
  if (!troubles.isDue(key, labelling, "write")) return false;
  try {
    await write();
    troubles.clear(key, labelling);
    return true;
  } catch (error) {
    if (isGoneOrReplaced(error)) return false;
    if (!(error instanceof ApiError) || !(isReason(error, "Forbidden") || isDenied(error))) throw error;
    if (!troubles.get(key, labelling)) log.warn("the label of a source could not be written", { source: key, error });
    troubles.note(key, labelling, { verb: "write", place: { kind: "refused", message: error.message }, name: "" });
    return false;
  }
}

export const isLabelledByUs = (source: SourceRecord | undefined): boolean =>
  source?.labelManagers.includes(pullSecretsManager) ?? false;
