import { isDeepStrictEqual } from "node:util";
import {
  type Condition,
  type KubeObject,
  keyOf,
  type Ref,
  type Resource,
  type Secret,
  secrets,
} from "../api/objects.ts";
import type { Kube } from "../kube/client.ts";
import { endsInitialEvents, watchEvents } from "../kube/watch.ts";
import { at, encoded, type SecretSync, secretSyncs } from "./objects.ts";

/** Longer than anything takes, on a machine that is busy with other tests as well. */
const patienceMs = 120_000;

/**
 * Resolves with the first state of the object that is accepted (`undefined`: it does not exist); watches, so that no
 * state in between is missed. The error shows what was seen last.
 */
export async function until<T extends KubeObject>(
  kube: Kube,
  resource: Resource,
  ref: Ref,
  what: string,
  accept: (object: T | undefined) => boolean,
): Promise<T | undefined> {
  const signal = AbortSignal.timeout(patienceMs);
  let last: T | undefined;
  let lastError: unknown;
  while (!signal.aborted) {
    try {
      for await (const state of states<T>(kube, resource, ref, signal)) {
        last = state;
        if (accept(state)) return state;
      }
    } catch (error) {
      lastError = error;
    }
    // A watch that ended is opened again; a server that refuses it is not asked in a tight loop.
    if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, 200));
  }
  const name = `${resource.kind} ${keyOf(ref)}`;
  throw new Error(`waited ${patienceMs / 1000} s in vain: ${name} ${what}; last seen: ${describe(last)}`, {
    cause: lastError,
  });
}

/** The object as it is now, then after each change. */
async function* states<T extends KubeObject>(
  kube: Kube,
  resource: Resource,
  { namespace, name }: Ref,
  signal: AbortSignal,
): AsyncGenerator<T | undefined> {
  const selection = {
    ...(namespace && { namespace }),
    fieldSelector: `metadata.name=${name}`,
    sendInitialEvents: true,
  };
  let current: T | undefined;
  let isComplete = false;
  for await (const event of watchEvents(kube, resource, selection, { signal })) {
    if (event.type !== "BOOKMARK") current = event.type === "DELETED" ? undefined : (event.object as T);
    if (endsInitialEvents(event)) isComplete = true;
    if (isComplete) yield current;
  }
}

function describe(object: KubeObject | undefined): string {
  if (!object) return "absent";
  const { metadata, ...rest } = object as KubeObject & { data?: Record<string, string> };
  const { managedFields: _, ...shown } = metadata;
  return JSON.stringify({ ...rest, metadata: shown }, undefined, 1);
}

export async function untilGone(kube: Kube, resource: Resource, ref: Ref): Promise<void> {
  await until(kube, resource, ref, "is gone", (object) => object === undefined);
}

/** Resolves with the Secret once it holds exactly these plain values (and is of this type, if given). */
export async function untilSecret(
  kube: Kube,
  key: string,
  values: Readonly<Record<string, string | Uint8Array>>,
  { type }: { readonly type?: string } = {},
): Promise<Secret> {
  const data = encoded(values);
  const found = await until<Secret>(
    kube,
    secrets,
    at(key),
    `holds ${Object.keys(values).join(", ") || "nothing"} as expected`,
    (secret) =>
      secret !== undefined &&
      isDeepStrictEqual(secret.data ?? {}, data) &&
      (type === undefined || secret.type === type),
  );
  return found as Secret;
}

export async function untilMetadata(
  kube: Kube,
  key: string,
  what: string,
  accept: (secret: Secret) => boolean,
): Promise<Secret> {
  const found = await until<Secret>(kube, secrets, at(key), what, (secret) => secret !== undefined && accept(secret));
  return found as Secret;
}

export interface Wanted {
  readonly status?: Condition["status"];
  readonly reason?: string | RegExp;
  readonly message?: string | RegExp;
  /** At least this; by default the generation the object has when it is seen. */
  readonly generation?: number;
  readonly phase?: string;
}

/** Any kind that tells by conditions how it stands. */
export type Reporting = KubeObject & {
  readonly status?: { readonly phase?: string; readonly conditions?: readonly Condition[] };
};

/** Resolves with the object once its condition is as wanted, for its present generation. */
export async function untilConditionOf<T extends Reporting>(
  kube: Kube,
  resource: Resource,
  object: { readonly metadata: Ref & { readonly generation?: number } },
  type: string,
  wanted: Wanted,
): Promise<T> {
  const { namespace, name } = object.metadata;
  const ref = { name, ...(namespace && { namespace }) };
  const what = `has ${type} ${JSON.stringify(wanted, (_, value) => (value instanceof RegExp ? String(value) : value))}`;
  const found = await until<T>(kube, resource, ref, what, (seen) => {
    const condition = seen && conditionIn(seen, type);
    if (!condition) return false;
    const generation = Math.max(wanted.generation ?? 0, object.metadata.generation ?? 0, seen.metadata.generation ?? 0);
    return (
      (condition.observedGeneration ?? -1) >= generation &&
      (wanted.status === undefined || condition.status === wanted.status) &&
      matches(condition.reason, wanted.reason) &&
      (wanted.phase === undefined || seen.status?.phase === wanted.phase) &&
      matches(condition.message, wanted.message)
    );
  });
  return found as T;
}

export function untilCondition(
  kube: Kube,
  sync: { readonly metadata: { readonly name: string; readonly generation?: number } },
  type: "Sync" | "Paused",
  wanted: Wanted,
): Promise<SecretSync> {
  return untilConditionOf<SecretSync>(kube, secretSyncs, sync, type, wanted);
}

function matches(text: string, wanted: string | RegExp | undefined): boolean {
  if (wanted === undefined) return true;
  return typeof wanted === "string" ? text === wanted : wanted.test(text);
}

export function conditionIn(object: Reporting, type: string): Condition | undefined {
  return object.status?.conditions?.find((condition) => condition.type === type);
}

export function untilSynced(kube: Kube, sync: { readonly metadata: SecretSync["metadata"] }): Promise<SecretSync> {
  return untilCondition(kube, sync, "Sync", { status: "True", reason: "Synced" });
}
