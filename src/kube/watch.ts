import type { KubeObject, Resource } from "../api/objects.ts";
import { accept } from "./accept.ts";
import type { Kube, Selection } from "./client.ts";
import { type ApiError, apiErrorOf } from "./errors.ts";
import { isRecord, parseJsonOrUndefined } from "./json.ts";
import { LineSplitter } from "./lines.ts";
import { collectionPath, selectionQuery, withQuery } from "./paths.ts";

/** The API server sends a bookmark about once a minute: after this long without a byte nobody is there any more. */
export const defaultIdleMs = 90_000;

export interface WatchEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK";
  /** Of a bookmark only `metadata.resourceVersion` and its annotations mean something. */
  readonly object: KubeObject;
}

interface WatchOptions extends Selection {
  readonly metadataOnly?: boolean | undefined;
  /** Where to go on from. */
  readonly resourceVersion?: string | undefined;
  /** Begin with every object there is, ended by a bookmark that `endsInitialEvents`. */
  readonly sendInitialEvents?: boolean | undefined;
}

interface WatchCall {
  readonly signal: AbortSignal;
  readonly idleMs?: number | undefined;
  /** Called with every sign of life: the answer's beginning, and be it half an event. */
  readonly onHeard?: (() => void) | undefined;
}

/** Nothing was heard for too long: the connection died in silence, and with it probably every other one. */
export class DeafError extends Error {
  override readonly name = "DeafError";

  constructor(host: string, plural: string, idleMs: number) {
    super(`${host} sent nothing for ${Math.round(idleMs / 1000)} s while watching ${plural}`);
  }
}

/**
 * Events until the server ends the stream (which it does every half hour or so). Throws `ApiError` for a refusal and
 * for an ERROR event, `DeafError` after `idleMs` of silence.
 */
export async function* watchEvents(
  kube: Kube,
  resource: Resource,
  options: WatchOptions,
  { signal, idleMs = defaultIdleMs, onHeard }: WatchCall,
): AsyncGenerator<WatchEvent, void, undefined> {
  const silence = new AbortController();
  const deaf = new DeafError(kube.server, resource.plural, idleMs);
  const timer = setTimeout(() => silence.abort(deaf), idleMs);
  const ended = AbortSignal.any([signal, silence.signal]);
  try {
    const { body } = await kube.stream(pathOf(resource, options), {
      signal: ended,
      accept: options.metadataOnly ? accept.metadata : accept.json,
    });
    onHeard?.();
    const lines = new LineSplitter();
    for await (const chunk of body) {
      timer.refresh();
      onHeard?.();
      for (const line of lines.push(chunk)) yield eventOf(line, resource);
    }
  } catch (error) {
    // However the transport words an abort, the reason is what counts.
    ended.throwIfAborted();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** The bookmark after the last of the initial events. */
export function endsInitialEvents({ type, object }: WatchEvent): boolean {
  return type === "BOOKMARK" && object.metadata.annotations?.["k8s.io/initial-events-end"] === "true";
}

function pathOf(resource: Resource, options: WatchOptions): string {
  return withQuery(collectionPath(resource, options.namespace), {
    ...selectionQuery(options),
    watch: true,
    allowWatchBookmarks: true,
    resourceVersion: options.resourceVersion,
    ...(options.sendInitialEvents && { sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" }),
  });
}

function eventOf(line: string, resource: Resource): WatchEvent {
  // Not the parser's own error: it quotes the text, and that may be a Secret.
  const event = parseJsonOrUndefined(line);
  if (!isRecord(event) || !isRecord(event.object)) {
    throw new Error(`the watch of ${resource.plural} sent a line that is no event`);
  }
  if (event.type === "ERROR") throw errorOf(event.object);
  return event as unknown as WatchEvent;
}

function errorOf(status: Readonly<Record<string, unknown>>): ApiError {
  return apiErrorOf(Number(status.code) || 500, JSON.stringify(status), {});
}
