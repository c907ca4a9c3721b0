import { isDeepStrictEqual } from "node:util";
import { referencesAnnotation } from "../../api/marks.ts";
import type { KubeObject, Resource } from "../../api/objects.ts";
import type { SidecarSet } from "../../api/sidecar-set.ts";
import type { WatchCache } from "../../kube/cache.ts";
import type { Kube } from "../../kube/client.ts";
import { unlessAborted, withDeadline } from "../../kube/deadline.ts";
import { type Hook, type Review, type Verdict, webhookConfigurationOf } from "../../runtime/admission.ts";
import { isToldRejected } from "./accepted.ts";
import { judge, nameConflictOf } from "./judge.ts";
import type { Judged } from "./judged.ts";
import { saysSomethingNew } from "./match-conditions.ts";
import { conflictOf } from "./overlap.ts";
import { recordOf, type SidecarSetRecord, type SidecarsMode } from "./record.ts";

interface CheckHookOptions {
  readonly kube: Kube;
  readonly mode: SidecarsMode;
  readonly resource: Resource;
  readonly defaultNamespace: string;
  /** Where Pods may be tried: the operator's own. */
  readonly ownNamespace: string;
  /** There once the controller is. */
  readonly sets: Promise<WatchCache<SidecarSetRecord>>;
  readonly judged: Judged;
}

/** Of the 3 s that the API server waits. */
const deadlineMs = 2000;

/** Refuses SidecarSets that could not be put into Pods. What gets in while nobody answers is judged by the controller. */
export function checkHook(options: CheckHookOptions): Hook {
  const { mode, resource } = options;
  return {
    kind: "validating",
    name: "check.sidecarsets.latchkey.dev",
    path: "/validate/sidecarsets",
    configuration: webhookConfigurationOf("sidecars"),
    resource,
    operations: ["CREATE", "UPDATE"],
    failurePolicy: "Ignore",
    sideEffects: "None",
    matchConditions: saysSomethingNew(mode),
    review: async (review, { signal }) => {
      const record = recordOf(review.object as KubeObject, options);
      if (mode === "beside") return checkReferences(record);
      return withDeadline(deadlineMs, signal, (deadline) =>
        checkSpec(record, review, { ...options, signal: deadline }),
      );
    },
  };
}

function checkReferences({ objection, note }: SidecarSetRecord): Verdict {
  if (objection !== undefined) return refused(objection);
  return { allowed: true, warnings: note === undefined ? [] : [note] };
}

interface Checking extends CheckHookOptions {
  readonly signal: AbortSignal;
}

async function checkSpec(
  record: SidecarSetRecord,
  { oldObject, dryRun }: Review,
  checking: Checking,
): Promise<Verdict> {
  const { kube, ownNamespace: namespace, sets, judged, signal } = checking;
  const warnings = warningsFor(record);
  const cache = await unlessAborted(sets, signal);
  await cache.synced({ signal });
  const others = cache.list().filter((other) => !isToldRejected(other));
  const rivals = newRivalsIn(others, oldObject as KubeObject | undefined, checking);
  const verdict = await judge(record, { sets: rivals, kube, namespace, signal });
  if (verdict.accepted) {
    const loses = nameConflictOf(record, others.filter(isBefore(record)));
    if (!dryRun && !loses) judged.accept(record.metadata.uid, record.digest);
    return { allowed: true, warnings: loses ? [...warnings, loses.message] : warnings };
  }
  // What got in is not made worse by this write, perhaps it is paused: the status tells what is wrong.
  const isKnown = oldObject !== undefined && hasSameContents(record.spec, (oldObject as SidecarSet).spec);
  return isKnown
    ? { allowed: true, warnings: [...warnings, verdict.message] }
    : { ...refused(verdict.message), warnings };
}

/** A conflict that got in is for the controller: it must not keep either from being mended. */
function newRivalsIn(
  others: readonly SidecarSetRecord[],
  oldObject: KubeObject | undefined,
  options: CheckHookOptions,
): readonly SidecarSetRecord[] {
  if (!oldObject) return others;
  const before = recordOf(oldObject, options);
  return others.filter((other) => conflictOf(before, other) === undefined);
}

/** The first by name keeps what both have. */
const isBefore =
  ({ metadata }: SidecarSetRecord) =>
  (other: SidecarSetRecord): boolean =>
    other.metadata.name < metadata.name;

const judgedFields = ["selector", "namespace", "namespaceSelector", "containers", "initContainers", "volumes"] as const;

const hasSameContents = (after: SidecarSet["spec"], before: SidecarSet["spec"]): boolean =>
  judgedFields.every((field) => isDeepStrictEqual(after[field], before[field]));

function warningsFor({ metadata }: SidecarSetRecord): readonly string[] {
  if (metadata.annotations?.[referencesAnnotation] === undefined) return [];
  return [`the annotation ${referencesAnnotation} is ignored: use spec.imagePullSecrets`];
}

const refused = (message: string): Verdict & { readonly allowed: false } => ({ allowed: false, code: 422, message });
