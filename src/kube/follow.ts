import { setTimeout as sleep } from "node:timers/promises";
import { type KubeObject, keyOf, type Resource } from "../api/objects.ts";
import { backoffMs } from "./backoff.ts";
import type { Kube, Selection } from "./client.ts";
import { ApiError } from "./errors.ts";
import type { News } from "./mirror.ts";
import { DeafError, endsInitialEvents, type WatchEvent, watchEvents } from "./watch.ts";

/** What there is to follow, and whom to tell how it goes. */
export interface Source<T> {
  readonly kube: Kube;
  readonly resource: Resource;
  readonly selection: Selection;
  readonly metadataOnly: boolean;
  readonly idleMs: number;
  /** What is kept of an object; undefined for one that is not worth keeping. */
  keep(object: KubeObject): T | undefined;
  /** A sign of life. */
  heard(): void;
  /** It is tried again by itself. */
  failed(error: Error): void;
}

export type Told<T> =
  | { readonly kind: "list"; readonly resourceVersion: string; readonly objects: ReadonlyMap<string, T> }
  | { readonly kind: "news"; readonly resourceVersion: string; readonly news: News<T> }
  | { readonly kind: "bookmark"; readonly resourceVersion: string };

/** Nobody answers: asking again is cheap, and whoever comes back should be noticed soon. */
const whileAway = { baseMs: 100, maxMs: 5_000 };
/** The server says no, which it may say for days. */
const whileRefused = { baseMs: 100, maxMs: 30_000 };
/** A connection that lasted this long was a good one. */
const goodAfterMs = 1_000;

/**
 * Tells a complete list first and then every change, until aborted. Faults are waited out: it goes on where it was
 * when the server still knows that place, and with another complete list when not.
 */
export async function* follow<T>(source: Source<T>, signal: AbortSignal): AsyncGenerator<Told<T>, void, undefined> {
  let position: string | undefined;
  let hasStreamingList = true;
  let failures = 0;
  while (!signal.aborted) {
    const start = { position, hasStreamingList };
    let openedAt: number | undefined;
    let failure: Error | undefined;
    const heard = () => {
      openedAt ??= performance.now();
      source.heard();
    };
    try {
      for await (const told of connect({ ...source, heard }, start, signal)) {
        position = told.resourceVersion;
        yield told;
      }
    } catch (thrown) {
      if (signal.aborted) return;
      failure = thrown instanceof Error ? thrown : new Error(`watch ${source.resource.plural}`, { cause: thrown });
    }
    if (openedAt !== undefined && performance.now() - openedAt > goodAfterMs) failures = 0;
    if (failure && needsList(failure)) {
      position = undefined;
      // Nothing is wrong yet: the server forgets places after some minutes, and all of them when it starts.
      if (start.position) continue;
      if (hasStreamingList && isUnsupported(failure)) {
        hasStreamingList = false;
        continue;
      }
    }
    if (failure instanceof DeafError) {
      // Where nothing ever happens there are no bookmarks either: then it is opened again, and nothing was wrong.
      if (await source.kube.isAnswering({ signal })) failure = undefined;
      else source.kube.resetConnections();
    }
    if (failure) source.failed(failure);
    await sleep(waitMsAfter(failure, failures), undefined, { signal }).catch(() => {});
    failures += 1;
  }
}

function waitMsAfter(failure: Error | undefined, failures: number): number {
  if (!(failure instanceof ApiError)) return backoffMs(failures, whileAway);
  const askedMs = Math.min(failure.retryAfterMs ?? 0, whileRefused.maxMs);
  return Math.max(askedMs, backoffMs(failures, whileRefused));
}

interface Start {
  readonly position: string | undefined;
  readonly hasStreamingList: boolean;
}

/** One connection's worth of it. */
async function* connect<T>(
  source: Source<T>,
  start: Start,
  signal: AbortSignal,
): AsyncGenerator<Told<T>, void, undefined> {
  const { kube, resource, selection, metadataOnly, idleMs } = source;
  let resourceVersion = start.position;
  if (!resourceVersion && !start.hasStreamingList) {
    const list = await listPages(source, signal);
    yield list;
    resourceVersion = list.resourceVersion;
  }
  const options = { ...selection, metadataOnly, resourceVersion, sendInitialEvents: !resourceVersion };
  let listing: Map<string, T> | undefined = resourceVersion ? undefined : new Map();
  for await (const event of watchEvents(kube, resource, options, { signal, idleMs, onHeard: () => source.heard() })) {
    if (!listing) {
      yield toldOf(event, source);
    } else if (endsInitialEvents(event)) {
      yield { kind: "list", objects: listing, resourceVersion: event.object.metadata.resourceVersion };
      listing = undefined;
    } else {
      // What changes while the list is being sent comes in between as events of every type.
      const told = toldOf(event, source);
      if (told.kind === "news") setOrDelete(listing, told.news.key, told.news.object);
    }
  }
}

async function listPages<T>(source: Source<T>, signal: AbortSignal): Promise<Told<T> & { readonly kind: "list" }> {
  const { kube, resource, selection, metadataOnly } = source;
  const objects = new Map<string, T>();
  let continueToken: string | undefined;
  for (;;) {
    const page = await kube.page<KubeObject>(resource, { ...selection, metadataOnly, continueToken }, { signal });
    source.heard();
    for (const object of page.items) setOrDelete(objects, keyOf(object.metadata), source.keep(object));
    if (!page.continueToken) return { kind: "list", objects, resourceVersion: page.resourceVersion };
    continueToken = page.continueToken;
  }
}

function toldOf<T>({ type, object }: WatchEvent, source: Source<T>): Told<T> {
  const { uid, resourceVersion } = object.metadata;
  if (type === "BOOKMARK") return { kind: "bookmark", resourceVersion };
  const kept = type === "DELETED" ? undefined : source.keep(object);
  return { kind: "news", resourceVersion, news: { key: keyOf(object.metadata), uid, resourceVersion, object: kept } };
}

function setOrDelete<T>(objects: Map<string, T>, key: string, object: T | undefined): void {
  if (object === undefined) objects.delete(key);
  else objects.set(key, object);
}

/** Servers before the streaming list call its parameters invalid. */
function isUnsupported(error: Error): boolean {
  return error instanceof ApiError && (error.status === 400 || error.status === 422);
}

/** The place we were at is of no use any more: forgotten by the server, of another life of the kind, or ahead of it. */
function needsList(error: Error): boolean {
  if (!(error instanceof ApiError)) return false;
  if ([400, 404, 410, 422].includes(error.status)) return true;
  return error.causes.some((cause) => cause.reason === "ResourceVersionTooLarge");
}
