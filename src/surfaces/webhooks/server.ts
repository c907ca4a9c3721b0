import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { describeError, type Log } from "../../kube/log.ts";
import type { KeyPair } from "../../kube/x509.ts";
import { parseAddress } from "../../runtime/address.ts";
import type { Hook, Review, Verdict } from "../../runtime/admission.ts";
import { MalformedReviewError, parseReview, responseOf } from "./admission.ts";
import { countingApiCalls } from "./api-calls.ts";
import { reviewSeconds, reviewsTotal } from "./metrics.ts";

/** The part of a hook that the server needs; registering it is another matter. */
export type ServedHook = Pick<Hook, "name" | "path" | "failurePolicy" | "review">;

/** An object is at most 3 MiB on its way in, and a review of an update carries two. */
const maxBodyBytes = 8 * 1024 * 1024;
/** The API server keeps idle connections for 90 s: closing first would fail the review it is just sending. */
const keepAliveMs = 100_000;
const answerAheadMs = 250;
const defaultTimeoutMs = 3000 - answerAheadMs;
const closeGraceMs = 5000;

interface WebhookServerOptions {
  readonly hooks: readonly ServedHook[];
  /** `host:port` or `:port`; port 0 means any free one. */
  readonly address: string;
  readonly leaf: KeyPair;
  readonly log: Log;
}

export class WebhookServer implements AsyncDisposable {
  readonly port: number;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
  }

  static async listen({ hooks, address, leaf, log }: WebhookServerOptions): Promise<WebhookServer> {
    const byPath = new Map(hooks.map((hook) => [hook.path, hook]));
    const server = createServer({ ...contextOf(leaf), keepAliveTimeout: keepAliveMs }, (request, response) => {
      void answer(byPath, request, response, log);
    });
    server.listen(parseAddress(address));
    await once(server, "listening").catch((cause: unknown) => {
      throw new Error(`listen on ${address} for admission reviews`, { cause });
    });
    return new WebhookServer(server);
  }

  /** New connections get the new certificate; the port stays open and running reviews go on. */
  swap(leaf: KeyPair): void {
    this.#server.setSecureContext(contextOf(leaf));
  }

  get isListening(): boolean {
    return this.#server.listening;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeIdleConnections();
    const grace = setTimeout(() => this.#server.closeAllConnections(), closeGraceMs);
    await closed;
    clearTimeout(grace);
  }
}

const contextOf = ({ certificatePem, keyPem }: KeyPair) => ({ cert: certificatePem, key: keyPem });

async function answer(
  hooks: ReadonlyMap<string, ServedHook>,
  request: IncomingMessage,
  response: ServerResponse,
  log: Log,
): Promise<void> {
  // The host part is a stand-in: only path and query matter.
  const url = URL.parse(request.url ?? "/", "https://latchkey");
  if (url?.pathname === "/healthz" && request.method === "GET") return end(response, 200, "ok\n");
  const hook = url && hooks.get(url.pathname);
  if (!hook) return end(response, 404, "no such webhook\n");
  if (request.method !== "POST") return end(response, 405, "POST an AdmissionReview\n");

  const stop = reviewSeconds.startTimer({ hook: hook.name });
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const signal = AbortSignal.any([gone.signal, AbortSignal.timeout(timeoutMsOf(url.searchParams.get("timeout")))]);
  try {
    const review = parseReview(await readJson(request));
    const verdict = await judge(hook, review, log, { signal, gone: gone.signal });
    end(response, 200, JSON.stringify(responseOf(review.uid, verdict)), "application/json");
  } catch (error) {
    reviewsTotal.inc({ hook: hook.name, result: "malformed" });
    if (!gone.signal.aborted) log.warn("webhook request refused", { hook: hook.name, reason: safeWords(error) });
    end(response, error instanceof BodyTooLargeError ? 413 : 400, `${safeWords(error)}\n`);
  } finally {
    stop();
  }
}

interface ReviewCall {
  readonly signal: AbortSignal;
  /** Aborted when the caller hangs up. */
  readonly gone: AbortSignal;
}

/** A handler that throws must not decide by accident: a Fail hook denies and says why, an Ignore hook allows with a warning. */
async function judge(hook: ServedHook, review: Review, log: Log, call: ReviewCall): Promise<Verdict> {
  try {
    const verdict = await countingApiCalls(hook.name, () => hook.review(review, call));
    reviewsTotal.inc({ hook: hook.name, result: verdict.allowed ? "allowed" : "denied" });
    return verdict;
  } catch (error) {
    // Nobody waits any more: the API server has given up, and has already decided by the failure policy.
    if (call.gone.aborted) {
      reviewsTotal.inc({ hook: hook.name, result: "abandoned" });
      return { allowed: false, code: 500, message: "abandoned" };
    }
    reviewsTotal.inc({ hook: hook.name, result: "error" });
    const words = `Latchkey could not review this: ${safeWords(error)}`;
    log.error("webhook review failed", { hook: hook.name, object: review.name, error: safeWords(error) });
    return hook.failurePolicy === "Fail"
      ? { allowed: false, code: 500, message: words }
      : { allowed: true, warnings: [words] };
  }
}

class BodyTooLargeError extends Error {}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // Leaving the loop must not destroy the socket: the refusal still has to go out.
  const body: AsyncIterable<Buffer> = request.iterator({ destroyOnReturn: false });
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBodyBytes) throw new BodyTooLargeError(`the body is larger than ${maxBodyBytes} bytes`);
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    // Without the cause: its message quotes the text, which may be a Secret.
    throw new MalformedReviewError("the body is not JSON");
  }
}

/** A SyntaxError quotes what could not be parsed, so only its name is safe to show. */
function safeWords(error: unknown): string {
  for (let current = error; current instanceof Error; current = current.cause) {
    if (current instanceof SyntaxError) return "something could not be parsed";
  }
  return describeError(error);
}

/** The API server says how long it waits (`?timeout=3s`): the answer, even a refusal, must be there before. */
function timeoutMsOf(given: string | null): number {
  const match = /^(\d+)s$/u.exec(given ?? "");
  return match ? Math.max(1, Number(match[1])) * 1000 - answerAheadMs : defaultTimeoutMs;
}

function end(response: ServerResponse, status: number, body: string, type = "text/plain"): void {
  if (response.destroyed) return;
  // What was not read of a request would be taken for the next one.
  const closing = response.req.complete ? {} : { connection: "close" };
  response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(body), ...closing }).end(body);
}
