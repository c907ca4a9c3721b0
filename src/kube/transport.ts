import { setTimeout as sleep } from "node:timers/promises";
import type { Dispatcher } from "undici";
import type { Connection } from "./connection.ts";
import { unlessAborted, withDeadline } from "./deadline.ts";
import { ApiError, apiErrorOf, type Headers, UnreachableError, unreachable } from "./errors.ts";
import { identityHeaders } from "./headers.ts";
import { parseJsonOrUndefined } from "./json.ts";
import { openCalls, openPools, type Pools } from "./pool.ts";
import { retryWaitMs } from "./retry.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** One attempt, as metrics see it. */
export interface RequestSeen {
  readonly verb: string;
  readonly resource: string;
  readonly status: number | "unreachable";
  readonly ms: number;
}

export interface Outgoing {
  readonly verb: string;
  readonly resource: string;
  readonly method: Method;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  /** Each attempt runs through it; between attempts it is free for others. */
  readonly gate?: (attempt: () => Promise<unknown>) => Promise<unknown>;
}

export interface Stream {
  readonly body: AsyncIterable<Buffer>;
  abort(): void;
}

export interface TransportOptions {
  readonly userAgent?: string | undefined;
  readonly onRequest?: ((request: RequestSeen) => void) | undefined;
  /** For all attempts of a request together. */
  readonly timeoutMs?: number | undefined;
}

const defaultTimeoutMs = 30_000;

/** Sends requests to one API server: credentials, deadlines, retries, connections. */
export class Transport implements AsyncDisposable {
  readonly host: string;
  readonly #connection: Connection;
  readonly #origin: string;
  /** Some servers live below a path, as those behind Rancher do. */
  readonly #prefix: string;
  readonly #userAgent: string;
  readonly #onRequest: ((request: RequestSeen) => void) | undefined;
  readonly #timeoutMs: number;
  #pools: Pools;
  #isClosed = false;
  #answeredAtMs = Number.NEGATIVE_INFINITY;

  constructor(connection: Connection, { userAgent, onRequest, timeoutMs }: TransportOptions = {}) {
    const url = new URL(connection.server);
    this.host = url.host;
    this.#connection = connection;
    this.#origin = url.origin;
    this.#prefix = url.pathname.replace(/\/+$/, "");
    this.#userAgent = userAgent ?? "latchkey";
    this.#onRequest = onRequest;
    this.#timeoutMs = timeoutMs ?? defaultTimeoutMs;
    this.#pools = openPools(connection, undefined);
  }

  /** How long ago the server last answered anything. */
  get silentMs(): number {
    return performance.now() - this.#answeredAtMs;
  }

  /** The parsed answer; throws what the API server refuses. */
  async send(request: Outgoing): Promise<unknown> {
    const gate = request.gate ?? ((attempt) => attempt());
    // Time in the gate's queue does not count: the end of a long fan-out would time out before it is sent.
    let leftMs = this.#timeoutMs;
    const timed = async () => {
      const startedAt = performance.now();
      try {
        return await this.#attempt(request, leftMs);
      } finally {
        leftMs -= performance.now() - startedAt;
      }
    };
    let mayRenew = true;
    for (let attempt = 0; ; attempt++) {
      try {
        return await gate(timed);
      } catch (error) {
        if (mayRenew && this.#renewsAfter(error)) {
          mayRenew = false;
          continue;
        }
        const waitMs = retryWaitMs(error, { attempt, isRepeatable: isRepeatable(request) });
        if (waitMs === undefined || waitMs >= leftMs || this.#isClosed) throw error;
        leftMs -= waitMs;
        await pause(waitMs, request.signal);
      }
    }
  }

  /** Opened once, not retried: whoever watches has a back-off of its own. */
  async stream(
    path: string,
    { accept, signal }: { accept: string; signal?: AbortSignal | undefined },
  ): Promise<Stream> {
    const resource = path.split("?", 1)[0]?.split("/").at(-1) ?? "";
    const request: Outgoing = { verb: "watch", resource, method: "GET", path, headers: { accept }, signal };
    try {
      return await this.#open(request);
    } catch (error) {
      if (!this.#renewsAfter(error)) throw error;
      return await this.#open(request);
    }
  }

  /** Requests under way fail and, where that does no harm, are sent again on new connections. */
  reset(): void {
    if (!this.#isClosed) this.#replacePools(openPools(this.#connection, this.#pools.certificate), "destroy");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.#pools.calls.destroy(), this.#pools.streams.destroy()]);
  }

  #attempt(request: Outgoing, leftMs: number): Promise<unknown> {
    // Not before it is its turn: a fan-out of a large Secret would keep a text for each write in the queue.
    const body = request.body === undefined ? null : JSON.stringify(request.body);
    return this.#exchange(request, ({ calls }, outgoing, saw) =>
      withDeadline(leftMs, request.signal, async (signal) => {
        // Unless told, undici gives up the connection after a DELETE that has a body.
        const answer = await calls.request({ ...outgoing, body, signal, reset: false });
        saw(answer.statusCode);
        return this.#read(answer.statusCode, answer.headers, await answer.body.text());
      }),
    );
  }

  #open(request: Outgoing): Promise<Stream> {
    return this.#exchange(request, async ({ streams }, outgoing, saw) => {
      const stop = new AbortController();
      const signal = request.signal ? AbortSignal.any([request.signal, stop.signal]) : stop.signal;
      const answered = setTimeout(() => stop.abort(new DOMException("no answer", "TimeoutError")), this.#timeoutMs);
      try {
        const { statusCode, headers, body } = await streams.request({ ...outgoing, signal });
        saw(statusCode);
        if (statusCode >= 300) throw apiErrorOf(statusCode, await body.text(), headers);
        return { body, abort: () => stop.abort() };
      } finally {
        clearTimeout(answered);
      }
    });
  }

  /** What one request needs and what becomes of it: identity, connections, metrics, and the names of failures. */
  async #exchange<T>(
    request: Outgoing,
    run: (pools: Pools, outgoing: Dispatcher.RequestOptions, saw: (status: number) => void) => Promise<T>,
  ): Promise<T> {
    const { verb, resource, method, path, signal } = request;
    // A credential plugin may take a minute.
    const identity = await unlessAborted(identityHeaders(this.#connection), signal);
    const headers = { ...request.headers, ...identity, "user-agent": this.#userAgent };
    const pools = await unlessAborted(this.#currentPools(), signal);
    const startedAt = performance.now();
    let status: RequestSeen["status"] = "unreachable";
    try {
      return await run(pools, { origin: this.#origin, path: this.#prefix + path, method, headers }, (seen) => {
        status = seen;
        this.#answeredAtMs = performance.now();
      });
    } catch (error) {
      // An abort by the caller stays what it is; any other failure that is no answer is the network's.
      signal?.throwIfAborted();
      if (error instanceof ApiError || error instanceof UnreachableError) throw error;
      const failure = unreachable(this.host, error);
      if (failure.code === "TimeoutError") this.#retireCalls(pools);
      throw failure;
    } finally {
      if (!signal?.aborted) this.#onRequest?.({ verb, resource, status, ms: performance.now() - startedAt });
    }
  }

  /** No answer in time: its connection may be dead without saying so, and then the idle ones beside it are too. */
  #retireCalls(used: Pools): void {
    if (this.#isClosed || this.#pools !== used) return;
    this.#replacePools({ ...used, calls: openCalls(this.#connection, used.certificate) }, "close");
  }

  async #currentPools(): Promise<Pools> {
    const certificate = await this.#connection.clientCertificate?.();
    if (certificate?.cert !== this.#pools.certificate?.cert && !this.#isClosed) {
      this.#replacePools(openPools(this.#connection, certificate), "close");
    }
    return this.#pools;
  }

  /** Closing lets what is under way finish; destroying does not. */
  #replacePools(next: Pools, end: "close" | "destroy"): void {
    const old = this.#pools;
    this.#pools = next;
    const retired = [old.calls, old.streams].filter((pool) => pool !== next.streams);
    void Promise.allSettled(retired.map((pool) => pool[end]()));
  }

  #renewsAfter(error: unknown): boolean {
    if (!(error instanceof ApiError) || error.status !== 401) return false;
    return this.#connection.renewCredentials?.() ?? false;
  }

  #read(status: number, headers: Headers, text: string): unknown {
    if (status >= 300) throw apiErrorOf(status, text, headers);
    if (!String(headers["content-type"]).includes("json")) return text;
    const parsed = parseJsonOrUndefined(text);
    // Cut off by somebody in between. The parser's own words would quote the text.
    if (parsed === undefined) throw new UnreachableError(this.host, "unreadable answer");
    return parsed;
  }
}

/** A create or a JSON patch carried out twice is not the same as once. */
function isRepeatable({ method, headers }: Outgoing): boolean {
  return method !== "POST" && headers["content-type"] !== "application/json-patch+json";
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await sleep(ms, undefined, signal ? { signal } : {});
  } catch (error) {
    throw signal?.reason ?? error;
  }
}
