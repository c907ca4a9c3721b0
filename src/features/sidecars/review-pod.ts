import { injectedLabel } from "../../api/marks.ts";
import { keyOf, namespaces as namespaceKind, type Resource } from "../../api/objects.ts";
import type { Pod } from "../../api/pods.ts";
import type { WatchCache } from "../../kube/cache.ts";
import type { Kube } from "../../kube/client.ts";
import { unlessAborted } from "../../kube/deadline.ts";
import type { Log } from "../../kube/log.ts";
import { candidatesOf } from "../../pullsecrets/names.ts";
import type { PullSecrets } from "../../pullsecrets/pull-secrets.ts";
import type { Verdict } from "../../runtime/admission.ts";
import type { Recorder } from "../../runtime/recorder.ts";
import { isActive, isUnjudged } from "./accepted.ts";
import { type Accounts, findEnforcing } from "./accounts.ts";
import { carries, inject } from "./inject.ts";
import { countInjection } from "./injections.ts";
import type { Judged } from "./judged.ts";
import { injectedListOf } from "./marks-of-pod.ts";
import { isExempt, matchingSets, type NamespaceFacts } from "./matching.ts";
import { type Names, resolveNames } from "./names.ts";
import { patchOf } from "./patch.ts";
import type { SidecarSetRecord, SidecarsMode } from "./record.ts";
import { choose, type Skipped } from "./skip.ts";
import { untilJudged } from "./until-judged.ts";

/** What it takes to put something into Pods. */
export interface Injecting {
  readonly mode: SidecarsMode;
  /** Of the SidecarSets. */
  readonly resource: Resource;
  /** The operator's own. */
  readonly ownNamespace: string;
  readonly kube: Kube;
  /** There once the controller is. */
  readonly sets: Promise<WatchCache<SidecarSetRecord>>;
  readonly namespaces: WatchCache;
  readonly accounts: Accounts;
  /** What else is to be filled before a copy that is not in a cache counts as missing. */
  readonly caches: readonly Pick<WatchCache, "isSynced" | "synced">[];
  readonly pullSecrets: Pick<PullSecrets, "resolve">;
  readonly judged: Judged;
  readonly recorder: Pick<Recorder, "tell">;
  readonly log: Log;
}

interface Reviewing extends Injecting {
  readonly dryRun: boolean;
  /** Aborted when the budget is spent; what needs no API call is done all the same. */
  readonly signal: AbortSignal;
}

export async function reviewPod(pod: Pod, namespace: string, reviewing: Reviewing): Promise<Verdict> {
  const { mode, ownNamespace, dryRun, judged } = reviewing;
  const sets = await filled(reviewing);
  const facts = await factsOf(namespace, reviewing);
  if (isExempt(pod, facts, ownNamespace)) return { allowed: true };
  const matching = await matchesOf(pod, facts, sets, reviewing);
  if (matching.length === 0) return { allowed: true };

  const active = activeOf(matching, pod, reviewing);
  const account = active.length > 0 ? await accountOf(pod, namespace, reviewing) : undefined;
  const { chosen, skipped } = mode === "instead" ? choose(pod, active, { namespace, account }) : untouched(active);
  const found = await resolveNames(chosen, { account, resolve: resolving(namespace, reviewing) });
  // Another replica may have put it in a moment ago, and knew better.
  const kept = matching.filter((set) => mode === "instead" && isUnjudged(set, judged) && carries(pod, set));
  const { names, recorded } = found;
  const patch = patchOf(pod, inject(pod, { mode, sets: chosen, kept, names, recorded }));
  if (!dryRun) {
    tell("InjectionSkipped", [...skipped, ...found.skipped], reviewing);
    // Beside the original, the controller never sees a Pod that was given nothing.
    if (mode === "beside") tell("Collision", wordsOf(found.collisions, namespace), reviewing);
  }
  if (!dryRun && !isAskedAgain(pod)) {
    for (const { set } of skipped) countInjection("skipped", set.metadata.name);
    for (const set of chosen) countChosen(set, found.unsettled);
  }
  return { allowed: true, patch };
}

/** The API server completes our containers by its own plugins, and then asks once more: one Pod is counted once. */
const isAskedAgain = ({ metadata }: Pod): boolean => metadata.labels?.[injectedLabel] === "true";

/** Without SidecarSets there is nothing to say; without the rest, what is not known is asked or left open. */
async function filled({ sets, namespaces, accounts, caches, signal }: Reviewing) {
  const objects = await unlessAborted(sets, signal);
  if (!objects.isSynced) await objects.synced({ signal });
  const missing = [namespaces, accounts, ...caches].filter(({ isSynced }) => !isSynced);
  if (missing.length > 0) await Promise.allSettled(missing.map((cache) => cache.synced({ signal })));
  return objects;
}

/** A namespace that is too new for the cache is read; its labels are unknown if that fails. */
async function factsOf(name: string, { namespaces, kube, signal }: Reviewing): Promise<NamespaceFacts> {
  const namespace =
    namespaces.get(name) ?? (await kube.getMetadata(namespaceKind, { name }, { signal }).catch(() => undefined));
  return { name, labels: namespace && (namespace.metadata.labels ?? {}) };
}

/** Those that are for this Pod, judged if that can be waited for. */
async function matchesOf(pod: Pod, facts: NamespaceFacts, sets: WatchCache<SidecarSetRecord>, reviewing: Reviewing) {
  const find = () => matchingSets(eligible(sets.list(), facts, reviewing.mode), pod.metadata.labels, facts);
  const matching = find();
  if (reviewing.mode === "beside") return matching;
  return (await untilJudged(matching, { ...reviewing, sets })) ? find() : matching;
}

/** By unknown labels nothing can be selected; beside the original, SidecarSets without references are not ours to apply. */
function eligible(
  sets: readonly SidecarSetRecord[],
  { labels }: NamespaceFacts,
  mode: SidecarsMode,
): readonly SidecarSetRecord[] {
  const ours = mode === "beside" ? sets.filter(({ references }) => references.length > 0) : sets;
  return labels ? ours : ours.filter(({ spec }) => spec.namespace || !spec.namespaceSelector);
}

/** Beside the original, those that it says it has put into the Pod. */
function activeOf(
  matching: readonly SidecarSetRecord[],
  pod: Pod,
  { mode, judged }: Reviewing,
): readonly SidecarSetRecord[] {
  if (mode === "instead") return matching.filter((set) => isActive(set, judged));
  const listed = injectedListOf(pod);
  return matching.filter(({ metadata }) => listed.includes(metadata.name));
}

const untouched = (sets: readonly SidecarSetRecord[]): ReturnType<typeof choose> => ({ chosen: sets, skipped: [] });

function accountOf({ spec }: Pod, namespace: string, { accounts, kube, signal }: Reviewing) {
  const name = spec?.serviceAccountName || "default";
  return findEnforcing(accounts, kube, { namespace, name }, { signal });
}

function resolving(namespace: string, { pullSecrets, dryRun, signal, log }: Reviewing) {
  const resolve: Parameters<typeof resolveNames>[1]["resolve"] = async (source, isReserved) => {
    try {
      return await pullSecrets.resolve(source, namespace, { dryRun, isReserved, signal });
    } catch (error) {
      log.warn("a copy could not be looked for", { namespace, source: keyOf(source), error });
      return { kind: "unknown" };
    }
  };
  return resolve;
}

function tell(reason: string, situations: readonly Skipped[], { recorder, resource }: Reviewing): void {
  for (const { set, why } of situations) {
    recorder.tell(resource, set, { type: "Warning", reason, message: why, situation: `${reason} ${why}` });
  }
}

const wordsOf = (collisions: Names["collisions"], namespace: string): readonly Skipped[] =>
  collisions.map(({ set, source }) => ({
    set,
    why: `${namespace}: no name is left for the copy of ${keyOf(source)}: Secrets that are not ours have ${candidatesOf(source).join(" and ")}`,
  }));

const countChosen = ({ metadata: { name } }: SidecarSetRecord, unsettled: ReadonlySet<string>): void =>
  countInjection(unsettled.has(name) ? "both_names" : "injected", name);
