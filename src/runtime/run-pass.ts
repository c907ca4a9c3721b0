import { type KubeObject, keyOf } from "../api/objects.ts";
import type { WatchCache } from "../kube/cache.ts";
import type { Call, Kube } from "../kube/client.ts";
import { isGoneOrReplaced, isReason } from "../kube/errors.ts";
import type { Log } from "../kube/log.ts";
import type { Controller, Pass } from "./controller.ts";
import { finalizersPatch, heldFinalizers, missingFinalizers } from "./finalizers.ts";
import type { Finalized, Outcome } from "./outcome.ts";
import type { Recorder } from "./recorder.ts";
import { isForAnotherObject, statusOf, statusPatch, statusToWrite, timestampOf } from "./status.ts";
import { type Ending, endingOf, timedPass } from "./timed-pass.ts";

export interface PassContext<T extends KubeObject> {
  readonly controller: Controller<T>;
  readonly objects: WatchCache<T>;
  readonly kube: Kube;
  readonly mayWrite: () => boolean;
  readonly recorder: Recorder;
  readonly log: Log;
}

/** States that we took our finalizers off: what became of them the stream is yet to tell. */
const letGo = new WeakSet<KubeObject>();

/** One run over one object as the cache has it. Never throws. */
export async function runPass<T extends KubeObject>(object: T, context: PassContext<T>, call: Call): Promise<Ending> {
  return await timedPass((signal) => act(object, context, signal), {
    timeoutMs: context.controller.passTimeoutMs,
    signal: call.signal,
    log: context.log.with({ object: keyOf(object.metadata) }),
    onFailure: (error) => showFailure(object, error, context, call),
  });
}

async function act<T extends KubeObject>(object: T, context: PassContext<T>, signal: AbortSignal): Promise<Ending> {
  const kube = context.kube.fencedBy(() => context.mayWrite() && !signal.aborted);
  let reporting: Promise<unknown> = Promise.resolve();
  const pass: Pass = {
    signal,
    kube,
    log: context.log.with({ object: keyOf(object.metadata) }),
    report: async (status) => {
      reporting = reporting.then(() => writeStatus(object, status, inPass, { signal }));
      await reporting;
    },
  };
  // What a pass reported in between must have arrived before its last word, or it would stand there for ever.
  const inPass: InPass<T> = { ...context, kube, reported: () => reporting.catch(() => undefined) };
  const step = object.metadata.deletionTimestamp ? finalize : reconcile;
  try {
    return await step(object, inPass, pass);
  } finally {
    await inPass.reported();
  }
}

interface InPass<T extends KubeObject> extends PassContext<T> {
  reported(): Promise<unknown>;
}

async function reconcile<T extends KubeObject>(object: T, context: InPass<T>, pass: Pass): Promise<Ending> {
  const missing = missingFinalizers(object, context.controller.finalizers ?? []);
  if (missing.length > 0) {
    const written = await addFinalizers(object, missing, context, pass);
    if (written !== "written") return written === "gone" ? { kind: "done" } : { kind: "conflict" };
  }
  const current = missing.length > 0 ? context.objects.get(keyOf(object.metadata)) : object;
  if (current?.metadata.uid !== object.metadata.uid) return { kind: "done" };

  const outcome = await context.controller.reconcile(current, pass);
  await context.reported();
  await conclude(current, outcome, context, pass);
  return endingOf(outcome);
}

async function finalize<T extends KubeObject>(object: T, context: InPass<T>, pass: Pass): Promise<Ending> {
  const { controller, objects, kube } = context;
  const held = heldFinalizers(object, controller.finalizers ?? []);
  if (held.length === 0 || letGo.has(object)) return { kind: "done" };

  const outcome: Finalized = (await controller.finalize?.(object, pass)) ?? { remove: held };
  await context.reported();
  await conclude(object, outcome, context, pass);
  const going = held.filter((name) => outcome.remove?.includes(name));
  // The status written just now has moved the resourceVersion on.
  const current = objects.get(keyOf(object.metadata));
  if (going.length === 0 || current?.metadata.uid !== object.metadata.uid) return endingOf(outcome);

  const staying = (current.metadata.finalizers ?? []).filter((name) => !going.includes(name));
  // Not by `objects.writing`: the answer and the event of the object's end are one version, and the end must be heard.
  const written = await guarded(() =>
    kube.patch(controller.resource, current.metadata, finalizersPatch(current, staying), { signal: pass.signal }),
  );
  if (written === "stale") return { kind: "conflict" };
  letGo.add(current);
  return endingOf(outcome);
}

function addFinalizers<T extends KubeObject>(
  object: T,
  missing: readonly string[],
  { controller, objects, kube }: PassContext<T>,
  { signal }: Pass,
): Promise<Written> {
  const patch = finalizersPatch(object, [...(object.metadata.finalizers ?? []), ...missing]);
  return guarded(() =>
    objects.writing(keyOf(object.metadata), () => kube.patch(controller.resource, object.metadata, patch, { signal })),
  );
}

type Written = "written" | "gone" | "stale";

async function guarded(write: () => Promise<unknown>): Promise<Written> {
  try {
    await write();
    return "written";
  } catch (error) {
    if (isGoneOrReplaced(error)) return "gone";
    if (isReason(error, "Conflict")) return "stale";
    throw error;
  }
}

async function conclude<T extends KubeObject>(
  object: T,
  { status, events = [] }: Outcome,
  context: PassContext<T>,
  call: Call,
): Promise<void> {
  if (status && (await writeStatus(object, status, context, call)) === "gone") return;
  context.recorder.announce(context.controller.resource, object, events);
}

/** Writes the status if the newest one known differs. Not guarded by resourceVersion: the status is ours alone. */
async function writeStatus<T extends KubeObject>(
  object: T,
  status: object,
  { controller, objects, kube }: PassContext<T>,
  { signal }: Call,
): Promise<"written" | "gone"> {
  const key = keyOf(object.metadata);
  const current = objects.get(key);
  if (current?.metadata.uid !== object.metadata.uid) return "gone";

  const wanted = statusToWrite(statusOf(current), status, timestampOf(new Date()));
  if (!wanted) return "written";
  const options = { subresource: "status", signal } as const;
  try {
    await objects.writing(key, () =>
      kube.patch(controller.resource, object.metadata, statusPatch(object, wanted), options),
    );
    return "written";
  } catch (error) {
    if (isForAnotherObject(error)) return "gone";
    throw error;
  }
}

async function showFailure<T extends KubeObject>(
  object: T,
  error: unknown,
  context: PassContext<T>,
  call: Call,
): Promise<void> {
  try {
    const outcome = context.controller.onError?.(object, error);
    if (outcome) await conclude(object, outcome, { ...context, kube: context.kube.fencedBy(context.mayWrite) }, call);
  } catch (failure) {
    const log = context.log.with({ object: keyOf(object.metadata) });
    log.debug("the failure could not be reported", { error: failure });
  }
}
