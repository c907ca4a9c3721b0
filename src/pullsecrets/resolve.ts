import { type KubeObject, keyOf, type NamespacedRef, secrets } from "../api/objects.ts";
import type { Call, Kube } from "../kube/client.ts";
import { unlessAborted, withDeadline } from "../kube/deadline.ts";
import { isTransient } from "../kube/errors.ts";
import type { Log } from "../kube/log.ts";
import { span } from "../kube/trace.ts";
import type { Copying } from "../replication/replication.ts";
import type { SourceContent, SourceRecord } from "../replication/source.ts";
import { fillerOf } from "./fill.ts";
import { findSource } from "./find.ts";
import { copyingFor, type Ground } from "./ground.ts";
import { candidatesOf, namesToTry } from "./names.ts";
import { isCopyOf, isStaying } from "./ours.ts";
import { isTrouble, placeOf, tryNames } from "./places.ts";
import { collided, knownResolution, type Resolution, resolutionOf } from "./resolution.ts";

export interface ResolveOptions {
  /** Nothing is written, and the answer is the same. */
  readonly dryRun: boolean;
  /** Names that the asker has given to other sources already. */
  isReserved(name: string): boolean;
  /** How long this asker waits; the work goes on for others. */
  readonly signal: AbortSignal;
}

interface ResolverOptions {
  readonly kube: Kube;
  readonly log: Log;
  /** The worker, if it runs here, has something to look at. */
  wake(source: string): void;
}

interface Request {
  readonly source: NamespacedRef;
  readonly namespace: string;
  readonly dryRun: boolean;
  /** Candidates that are not to be had. */
  readonly reserved: readonly string[];
}

const deadlineMs = 10_000;

/** What a name stands for when no copy was made. */
const kinds = { usable: "copy", missing: "missing", unreadable: "refused" } as const;

/** Tells by which name a Pod gets a copy, and makes the copy if there is none; on every replica. */
export class Resolver implements AsyncDisposable {
  readonly #ground: Ground;
  readonly #kube: Kube;
  readonly #log: Log;
  readonly #wake: (source: string) => void;
  readonly #underWay = new Map<string, Promise<Resolution>>();
  readonly #stopping = new AbortController();

  constructor(ground: Ground, { kube, log, wake }: ResolverOptions) {
    this.#ground = ground;
    this.#kube = kube;
    this.#log = log;
    this.#wake = wake;
  }

  /** However many ask for one copy at once, there is one piece of work. */
  async resolve(source: NamespacedRef, namespace: string, options: ResolveOptions): Promise<Resolution> {
    const known = knownResolution(source, namespace, this.#ground);
    if (known) return known;
    const { dryRun, isReserved, signal } = options;
    const reserved = candidatesOf(source).filter(isReserved);
    const request = { source, namespace, dryRun, reserved };
    const key = [keyOf(source), namespace, dryRun, ...reserved].join(" ");
    const work = this.#underWay.get(key) ?? this.#begin(key, request);
    return unlessAborted(work, signal).catch((): Resolution => ({ kind: "unknown" }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#underWay.values());
  }

  #begin(key: string, request: Request): Promise<Resolution> {
    const work = this.#work(request).finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, work);
    return work;
  }

  async #work(request: Request): Promise<Resolution> {
    const source = keyOf(request.source);
    try {
      return await withDeadline(deadlineMs, this.#stopping.signal, (signal) =>
        span("copy", { source, namespace: request.namespace }, () => this.#find(request, { signal })),
      );
    } catch (error) {
      const fields = { source, namespace: request.namespace, error };
      if (isTransient(error) || this.#stopping.signal.aborted) this.#log.debug("a copy could not be made", fields);
      else this.#log.warn("a copy could not be made", fields);
      return { kind: "unknown" };
    }
  }

  async #find(request: Request, call: Call): Promise<Resolution> {
    const { source, namespace, dryRun, reserved } = request;
    const { replication, askers, home = this.#kube } = this.#ground;
    const { state, record } = await findSource(source, replication, home, call);
    if (state.kind !== "usable" && state.kind !== "missing" && state.kind !== "unreadable") {
      return { kind: "left-out", why: state };
    }
    const carried = askers.wanted(keyOf(source)).get(namespace) ?? [];
    const isReserved = (name: string) =>
      reserved.includes(name) || askers.isReserved({ namespace, name }, keyOf(source));
    const names = namesToTry({ source, carried, isReserved });
    if (state.kind === "usable" && record && !dryRun) return this.#make(request, names, record, call);

    const name = await this.#firstFree(request, names, call);
    if (name === undefined) return collided;
    return { kind: kinds[state.kind], name };
  }

  async #make(
    { source, namespace }: Request,
    names: readonly string[],
    known: SourceRecord | SourceContent,
    { signal }: Call,
  ): Promise<Resolution> {
    const { installation, troubles, home = this.#kube } = this.#ground;
    const key = keyOf(source);
    // A turn of its own: a Pod does not wait for a fan-out of the same source.
    const writing = copyingFor(this.#ground, { kube: this.#kube, source: key, turn: `review ${key}`, signal });
    const copying = { ...writing, namespaces: believing(writing.namespaces) };
    const looksFirst = () => troubles.get(key, namespace) !== undefined;
    const fill = fillerOf({ source, known, installation, copying, home, looksFirst });

    const result = (await tryNames([{ namespace, names }], fill)).get(namespace);
    // Our own writes are no events: without this nobody would collect a copy whose Pod never came.
    this.#wake(key);
    const place = placeOf(source, result);
    if (isTrouble(place)) troubles.note(key, namespace, { verb: "write", place, name: result?.target.name ?? "" });
    else troubles.clear(key, namespace);
    return resolutionOf(source, result);
  }

  async #firstFree({ source, namespace }: Request, names: readonly string[], call: Call): Promise<string | undefined> {
    const { replication, installation } = this.#ground;
    for (const name of names) {
      const place = { namespace, name };
      const holder = replication.copies.get(keyOf(place)) ?? (await this.#kube.getMetadata(secrets, place, call));
      if (!holder || (isStaying(holder) && isCopyOf(holder, source, installation))) return name;
    }
    return undefined;
  }
}

/** A namespace that the cache has not seen yet is there all the same, or nobody could create a Pod in it. */
function believing(namespaces: Copying["namespaces"]): Copying["namespaces"] {
  const unseen: KubeObject = { metadata: { name: "", uid: "", resourceVersion: "", creationTimestamp: "" } };
  return { get: (name) => namespaces.get(name) ?? unseen };
}
