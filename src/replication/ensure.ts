import { type KubeObject, keyOf, type NamespacedRef, type Secret, secrets } from "../api/objects.ts";
import { forAll } from "../kube/all-of.ts";
import {
  ApiError,
  isDenied,
  isNamespaceTerminating,
  isReason,
  isRefusal,
  isTransient,
  type MissingVerb,
  missingVerbOf,
} from "../kube/errors.ts";
import { marksOf } from "../ownership/marks.ts";
import { type CopyRecord, copyRecordOf, isUntouched } from "./copy.ts";
import { type Desired, planCopy, type Step } from "./plan.ts";
import type { Copying } from "./replication.ts";
import type { SourceContent } from "./source.ts";

/** What came of one target. */
export type CopyResult = { readonly target: NamespacedRef } & (
  | { readonly kind: "current"; readonly isWritten: boolean }
  | { readonly kind: "collision"; readonly holder: string }
  | { readonly kind: "namespace-missing" }
  | { readonly kind: "namespace-terminating" }
  /** Somebody said no, and will go on saying so. */
  | { readonly kind: "refused"; readonly message: string; readonly missing?: MissingVerb }
  /** What is there is going away: the place is free soon. */
  | { readonly kind: "leaving" }
  /**
   * Worth another try soon. A failure is the server's; otherwise somebody else was quicker. One that lasts needs
   * somebody's care, such as a webhook that does not answer.
   */
  | {
      readonly kind: "unfinished";
      readonly message: string;
      readonly isFailure?: boolean;
      readonly isLasting?: boolean;
    }
);

export type Result = CopyResult extends infer R ? (R extends CopyResult ? Omit<R, "target"> : never) : never;

export interface Ensuring extends Copying {
  readonly desired: Desired;
  readonly source: SourceContent;
  /**
   * Asked before marks are put on a Secret that is there. Copies that are to outlive their owner lose their reference
   * before it goes: putting that back would be their end.
   */
  readonly isOwnerStaying: () => Promise<boolean>;
  /** Ask the API server before writing to this target: last time something else was there. */
  readonly looksFirst?: (target: NamespacedRef) => boolean;
}

const attempts = 4;

/** Keeps every target equal to the source. One bad target never stops the others: each has a result of its own. */
export function ensureCopies(targets: readonly NamespacedRef[], ensuring: Ensuring): Promise<CopyResult[]> {
  return forAll(targets, async (target) => ({ target, ...(await ensureCopy(target, ensuring)) }) as CopyResult);
}

async function ensureCopy(target: NamespacedRef, ensuring: Ensuring): Promise<Result> {
  const namespace = ensuring.namespaces.get(target.namespace);
  if (!namespace) return { kind: "namespace-missing" };
  if (namespace.metadata.deletionTimestamp) return { kind: "namespace-terminating" };
  try {
    return await settle(target, ensuring);
  } catch (error) {
    return resultOf(error);
  }
}

/** Plans and writes until the plan has nothing left to do: somebody may change the Secret in between. */
async function settle(target: NamespacedRef, ensuring: Ensuring): Promise<Result> {
  let actual = await firstSight(target, ensuring);
  let isWritten = false;

  for (let attempt = 0; attempt < attempts; attempt++) {
    const step = planCopy(actual, ensuring.desired);
    if (step.kind === "keep") return { kind: "current", isWritten };
    if (step.kind === "collision") return { kind: "collision", holder: step.holder };
    if (step.kind === "wait") return { kind: "leaving" };
    if (step.kind === "take" && !(await ensuring.isOwnerStaying())) {
      return { kind: "unfinished", message: "its owner is being deleted" };
    }
    try {
      actual = await carryOut(step, target, ensuring);
      isWritten ||= actual !== undefined;
    } catch (error) {
      if (isDenied(error) || isNamespaceMissing(error)) throw error;
      if (!isReason(error, "AlreadyExists", "Conflict", "NotFound")) throw error;
      actual = await look(target, ensuring);
    }
  }
  return { kind: "unfinished", message: "the Secret there keeps changing" };
}

async function firstSight(target: NamespacedRef, ensuring: Ensuring): Promise<CopyRecord | undefined> {
  const key = keyOf(target);
  if (ensuring.suspects.has(key)) return inspect(target, ensuring);
  // Not from the cache: the event that the place is free may have come before the cache has let its holder go.
  return ensuring.looksFirst?.(target) ? look(target, ensuring) : ensuring.copies.get(key);
}

/** Returns what is there afterwards. */
async function carryOut(
  step: Extract<Step, { kind: "create" | "update" | "take" }>,
  target: NamespacedRef,
  { kube, writer, desired, source, suspects, signal }: Ensuring,
): Promise<CopyRecord | undefined> {
  const marks = marksOf(desired.claim.owner, target, desired.source, source.fingerprint);
  if (step.kind === "create") return writer.create(target, source, marks);

  const actual: KubeObject | undefined =
    step.kind === "update" ? step.actual : await kube.getMetadata(secrets, target, { signal });
  if (actual?.metadata.uid !== step.actual.metadata.uid) return actual && copyRecordOf(actual);
  try {
    const written = await suspects.clearBy(keyOf(target), () =>
      step.kind === "update" ? writer.update(step.actual, source, marks) : writer.take(actual, source, marks),
    );
    return isUntouched(written, source.keys) ? written : await writer.own(written, source);
  } catch (error) {
    if (!isImmutable(error)) throw error;
    await writer.remove(actual);
    return undefined;
  }
}

async function look(target: NamespacedRef, { kube, signal }: Ensuring): Promise<CopyRecord | undefined> {
  const found = await kube.getMetadata(secrets, target, { signal });
  return found && copyRecordOf(found);
}

/** Reads a copy whole: one whose content is not what its marks say was edited, whoever the API server says wrote it. */
async function inspect(target: NamespacedRef, ensuring: Ensuring): Promise<CopyRecord | undefined> {
  const { kube, fingerprint, suspects, source, signal } = ensuring;
  const key = keyOf(target);
  const found = await suspects.clearBy(key, () => kube.get<Secret>(secrets, target, { signal }));
  if (!found) return undefined;
  const record = copyRecordOf(found);
  if (fingerprint(found.type ?? "Opaque", found.data ?? {}) === source.fingerprint) return record;
  suspects.add(key);
  return { ...record, ownKeys: [], hasOtherKeys: true };
}

/** What a failed request comes to. */
export function resultOf(error: unknown): Result {
  if (isNamespaceMissing(error)) return { kind: "namespace-missing" };
  if (isNamespaceTerminating(error)) return { kind: "namespace-terminating" };
  if (!(error instanceof ApiError) && !(error instanceof Error && isTransient(error))) throw error;
  const { message } = error;
  if (isRefusal(error)) return refusalOf(error);
  const isFailure = !isReason(error, "Conflict");
  return { kind: "unfinished", message, isFailure, isLasting: isFailure && !isTransient(error) };
}

function refusalOf(error: ApiError): Result {
  const missing = missingVerbOf(error);
  return { kind: "refused", message: error.message, ...(missing && { missing }) };
}

/** Creating in a namespace that does not exist is answered NotFound for the namespace. */
const isNamespaceMissing = (error: unknown): boolean =>
  isReason(error, "NotFound") && error.details.kind === "namespaces";

/** A new type, or new data where `immutable` is set, needs a new Secret. A policy that says so is obeyed instead. */
const isImmutable = (error: unknown): boolean =>
  !isDenied(error) &&
  isReason(error, "Invalid") &&
  error.causes.some(
    ({ field = "", message = "" }) => /^(type|data|immutable)$/.test(field) && /immutable/.test(message),
  );
