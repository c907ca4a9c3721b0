import type { Draft, KubeObject, Ref, Resource } from "../api/objects.ts";
import { accept } from "./accept.ts";
import type {
  ApplyOptions,
  Call,
  DeleteOptions,
  GetOptions,
  KubeOptions,
  Page,
  PageOptions,
  Patch,
  RawOptions,
  WriteOptions,
} from "./client-options.ts";
import type { Connection } from "./connection.ts";
import { withDeadline } from "./deadline.ts";
import { ApiError, FencedError, isReason } from "./errors.ts";
import { isRecord } from "./json.ts";
import { FairLimiter, maxFanOutWrites } from "./limiter.ts";
import { collectionPath, groupPath, type Selection } from "./paths.ts";
import { Patience } from "./patience.ts";
import {
  applyRequest,
  createRequest,
  deleteRequest,
  getRequest,
  pageRequest,
  patchRequest,
  type Request,
  rawRequest,
  replaceRequest,
} from "./requests.ts";
import { type Method, type Stream, Transport } from "./transport.ts";
import { Turns } from "./turns.ts";

export type * from "./client-options.ts";
export type { Selection } from "./paths.ts";
export type { RequestSeen, Stream } from "./transport.ts";

const listAttempts = 3;
const answerWithinMs = 5_000;
/** Whoever has answered within this time needs not be asked. */
const justNowMs = 15_000;

/** What a client and its fenced views have in common. */
class Line {
  readonly connection: Connection;
  readonly transport: Transport;
  readonly limiter: FairLimiter;
  readonly turns = new Turns();
  readonly patience = new Patience();

  constructor(connection: Connection, options: KubeOptions) {
    this.connection = connection;
    this.limiter = new FairLimiter({ limit: options.maxFanOut ?? maxFanOutWrites });
    this.transport = new Transport(connection, options);
  }
}

/**
 * One API server. An absent object is `undefined`; a refusal throws `ApiError` (so does a kind that is not served: its
 * 404 has no reason), no answer throws `UnreachableError`.
 */
export class Kube implements AsyncDisposable {
  /** Host and port, for messages. */
  readonly server: string;
  readonly #line: Line;
  readonly #isView: boolean;
  readonly #mayWrite: (() => boolean) | undefined;

  constructor(to: Connection | Line, options: KubeOptions & { readonly mayWrite?: () => boolean } = {}) {
    this.#isView = to instanceof Line;
    this.#line = to instanceof Line ? to : new Line(to, options);
    this.#mayWrite = options.mayWrite;
    this.server = this.#line.transport.host;
  }

  /** The same server, as whoever that connection is for; wherever it leads, nothing is sent there. */
  as(other: Connection, options: KubeOptions = {}): Kube {
    const { server, tls, proxyUrl } = this.#line.connection;
    const { ca, serverName, insecure } = tls;
    return new Kube({ ...other, server, proxyUrl, tls: { ...other.tls, ca, serverName, insecure } }, options);
  }

  get<T extends KubeObject>(resource: Resource, ref: Ref, options: GetOptions = {}): Promise<T | undefined> {
    return orAbsent(this.#read<T>(getRequest(resource, ref, accept.json, options), options));
  }

  getMetadata(resource: Resource, ref: Ref, call: Call = {}): Promise<KubeObject | undefined> {
    return orAbsent(this.#read<KubeObject>(getRequest(resource, ref, accept.metadata), call));
  }

  /** Everything selected, read page by page; starts over when the pages went stale in between. */
  list<T extends KubeObject>(resource: Resource, selection: Selection = {}, call: Call = {}): Promise<T[]> {
    return this.#listAll<T>(resource, selection, call);
  }

  listMetadata(resource: Resource, selection: Selection = {}, call: Call = {}): Promise<KubeObject[]> {
    return this.#listAll<KubeObject>(resource, { ...selection, metadataOnly: true }, call);
  }

  /** Throws `Expired` when the pages went stale in between: the caller starts over. */
  async page<T extends KubeObject>(resource: Resource, options: PageOptions = {}, call: Call = {}): Promise<Page<T>> {
    return pageOf<T>(await this.#read(pageRequest(resource, options), call));
  }

  create<T extends KubeObject>(resource: Resource, object: Draft<T>, options: WriteOptions = {}): Promise<T> {
    return this.#write<T>(createRequest(resource, object, options), options);
  }

  /** Whole object, guarded by the `resourceVersion` it carries. */
  replace<T extends KubeObject>(resource: Resource, object: T, options: WriteOptions = {}): Promise<T> {
    return this.#write<T>(replaceRequest(resource, object, options), options);
  }

  /** Server-side apply. Creates what is missing, unless the object carries the `metadata.uid` of the one it is for. */
  apply<T extends KubeObject>(resource: Resource, object: Draft<T>, options: ApplyOptions = {}): Promise<T> {
    const { namespace, name } = object.metadata;
    const write = () => this.#write<T>(applyRequest(resource, object, options), options);
    // Applies to one object conflict inside the API server, which then retries them for seconds.
    return this.#line.turns.take(`${collectionPath(resource, namespace)}/${name}`, write, options);
  }

  patch<T extends KubeObject>(resource: Resource, ref: Ref, patch: Patch, options: WriteOptions = {}): Promise<T> {
    return this.#write<T>(patchRequest(resource, ref, patch, options), options);
  }

  /** False when it was gone already. */
  async delete(resource: Resource, ref: Ref, options: DeleteOptions = {}): Promise<boolean> {
    const deleted = await orAbsent(this.#write<KubeObject>(deleteRequest(resource, ref, options), options));
    return deleted !== undefined;
  }

  /** Anything else: reviews, discovery, `/version`. Answers the parsed JSON, or the text where it is none. */
  async request(method: Method, path: string, { body, storesNothing, signal }: RawOptions = {}): Promise<unknown> {
    if (method !== "GET" && !storesNothing) this.#checkFence();
    return await this.#read(rawRequest(method, path, body), { signal });
  }

  /** An answer without end, on a connection of its own; for watches. */
  stream(path: string, options: Call & { readonly accept?: string | undefined } = {}): Promise<Stream> {
    return this.#line.transport.stream(path, { accept: options.accept ?? accept.json, signal: options.signal });
  }

  /** Whether the API server serves this kind now. */
  async serves(resource: Resource, call: Call = {}): Promise<boolean> {
    const found = await this.request("GET", groupPath(resource), call).catch((error: unknown) => {
      // Not a `NotFound` like any other: an unknown group is answered with a plain page.
      if (error instanceof ApiError && error.status === 404) return undefined;
      throw error;
    });
    if (!isRecord(found) || !Array.isArray(found.resources)) return false;
    return found.resources.some((served) => isRecord(served) && served.name === resource.plural);
  }

  /** A view of this client that shares everything and writes only while `mayWrite` says so. */
  fencedBy(mayWrite: () => boolean): Kube {
    return new Kube(this.#line, { mayWrite });
  }

  /** Asked where a watch has gone silent: is it the server that says nothing any more? */
  async isAnswering({ signal }: Call = {}): Promise<boolean> {
    if (this.#line.transport.silentMs < justNowMs) return true;
    try {
      await withDeadline(answerWithinMs, signal, (deadline) => this.request("GET", "/version", { signal: deadline }));
      return true;
    } catch (error) {
      return error instanceof ApiError;
    }
  }

  /** Throws all connections away: after a silent death every pooled socket is as dead as the one that was noticed. */
  resetConnections(): void {
    this.#line.transport.reset();
  }

  /** A fenced view closes nothing: the connections belong to the client it was made from. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isView) await this.#line.transport[Symbol.asyncDispose]();
  }

  async #listAll<T extends KubeObject>(resource: Resource, options: PageOptions, call: Call): Promise<T[]> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#listOnce<T>(resource, options, call);
      } catch (error) {
        if (attempt === listAttempts || !isReason(error, "Expired", "Gone")) throw error;
      }
    }
  }

  async #listOnce<T extends KubeObject>(resource: Resource, options: PageOptions, call: Call): Promise<T[]> {
    const all: T[] = [];
    let continueToken: string | undefined;
    do {
      const page: Page<T> = await this.page<T>(resource, { ...options, continueToken }, call);
      for (const item of page.items) all.push(item);
      continueToken = page.continueToken;
    } while (continueToken);
    return all;
  }

  #read<T>(request: Request, { signal }: Call): Promise<T> {
    return this.#line.transport.send({ ...request, signal }) as Promise<T>;
  }

  async #write<T>(request: Request, { owner, signal, dryRun }: WriteOptions): Promise<T> {
    signal?.throwIfAborted();
    const { transport, limiter, patience } = this.#line;
    const send = () =>
      transport.send({
        ...request,
        signal,
        // Asked again before each attempt: the lease may be lost while a write queues or waits for its retry.
        gate: (attempt) => {
          const fenced = async () => {
            if (!dryRun) this.#checkFence();
            return await attempt();
          };
          return owner === undefined ? fenced() : limiter.run(owner, fenced, { signal });
        },
      });
    const answer = owner === undefined ? send() : patience.run(`${request.method} ${request.path}`, send, { signal });
    return (await answer) as T;
  }

  #checkFence(): void {
    if (this.#mayWrite?.() === false) throw new FencedError();
  }
}

async function orAbsent<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isReason(error, "NotFound")) return undefined;
    throw error;
  }
}

function pageOf<T>(answer: unknown): Page<T> {
  const list = isRecord(answer) ? answer : {};
  const metadata = isRecord(list.metadata) ? list.metadata : {};
  return {
    // An empty list of metadata has `items: null`.
    items: Array.isArray(list.items) ? list.items : [],
    resourceVersion: String(metadata.resourceVersion ?? ""),
    continueToken: typeof metadata.continue === "string" && metadata.continue ? metadata.continue : undefined,
  };
}
