import { once } from "node:events";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { Agent, createServer, request as open, type Server } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { issueCa, issueLeaf } from "../kube/x509.ts";

/** One request as it came from the operator. */
export interface Seen {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly isWatch: boolean;
  /** A dry run, a Lease, an Event or an access review is none. */
  readonly isWrite: boolean;
  /** By `performance.now()`. */
  readonly atMs: number;
  /** What the API server answered, or what was answered in its name. */
  status: number | undefined;
}

export type Fault =
  | { readonly kind: "answer"; readonly status: number; readonly reason: string; readonly retryAfterSeconds?: number }
  /** The connection breaks before the request is passed on. */
  | { readonly kind: "cut" }
  /** The request is carried out, and the connection breaks before the answer. */
  | { readonly kind: "lose" }
  /** The request stays in the net until the rule passes it on. */
  | { readonly kind: "hold" };

const patienceMs = 60_000;

/** A fault for chosen requests, until it is lifted. */
export class Rule {
  readonly hits: Seen[] = [];
  readonly #pick: (request: Seen) => Fault | undefined;
  readonly #passed: Seen[] = [];
  readonly #waiting = new Set<() => void>();
  readonly #released = Promise.withResolvers<boolean>();
  readonly #onLift: (rule: Rule) => void;

  constructor(pick: (request: Seen) => Fault | undefined, onLift: (rule: Rule) => void) {
    this.#pick = pick;
    this.#onLift = onLift;
  }

  meet(request: Seen): Fault | undefined {
    const fault = this.#pick(request);
    (fault ? this.hits : this.#passed).push(request);
    if (fault) for (const look of this.#waiting) look();
    return fault;
  }

  /** Resolves once so many requests have met it. */
  async reached(count: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const look = () => this.hits.length >= count && resolve();
    const timer = setTimeout(
      () => reject(new Error(`waited in vain for ${count} requests to meet a fault, ${this.#describe()}`)),
      patienceMs,
    );
    this.#waiting.add(look);
    look();
    await promise.finally(() => {
      clearTimeout(timer);
      this.#waiting.delete(look);
    });
  }

  #describe(): string {
    const passed = this.#passed.slice(-20).map(({ method, path, status }) => `${method} ${path}: ${status}`);
    return `${this.hits.length} did; the last of those that did not:\n${passed.join("\n")}`;
  }

  /** Ends the fault; what it holds goes on to the API server, late as it is. */
  lift(): void {
    this.#onLift(this);
    this.#released.resolve(true);
  }

  /** Ends the fault; what it holds never arrives. */
  discard(): void {
    this.#onLift(this);
    this.#released.resolve(false);
  }

  /** Whether what is held goes on. */
  get released(): Promise<boolean> {
    return this.#released.promise;
  }
}

/** Stands between one operator and the real API server, notes every request and makes the network fail on demand. */
export class ApiProxy implements AsyncDisposable {
  readonly requests: Seen[] = [];
  readonly url: string;
  /** Whom the operator has to trust. */
  readonly ca: string;
  readonly #server: Server;
  readonly #upstream: { readonly server: string; readonly ca: string; readonly agent: Agent };
  readonly #rules = new Set<Rule>();
  readonly #sockets = new Set<Socket>();
  readonly #deaf = new WeakSet<Socket>();

  private constructor(server: Server, ca: string, upstream: { readonly server: string; readonly ca: string }) {
    this.#server = server;
    this.ca = ca;
    this.#upstream = { ...upstream, agent: new Agent({ keepAlive: true, ca: upstream.ca }) };
    this.url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on("secureConnection", (socket) => {
      this.#sockets.add(socket);
      // A client that is killed resets its connections.
      socket.on("error", () => {});
      socket.once("close", () => this.#sockets.delete(socket));
    });
    server.on("request", (request, response) => void this.#serve(request, response));
  }

  static async start(upstream: { readonly server: string; readonly ca: string }): Promise<ApiProxy> {
    const ca = await issueCa({ commonName: "api-proxy-ca", days: 1 });
    const leaf = await issueLeaf(ca, { commonName: "api-proxy", ips: ["127.0.0.1"], usages: ["server"], days: 1 });
    const server = createServer({ cert: leaf.certificatePem, key: leaf.keyPem, keepAliveTimeout: 120_000 });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new ApiProxy(server, ca.certificatePem, upstream);
  }

  /** Of two rules that pick the same request the older one counts. */
  fault(pick: (request: Seen) => Fault | undefined): Rule {
    const rule = new Rule(pick, (lifted) => this.#rules.delete(lifted));
    this.#rules.add(rule);
    return rule;
  }

  /** Every connection there is goes silent in both directions, and stays open; new ones work. */
  deafen(): void {
    for (const socket of this.#sockets) this.#deaf.add(socket);
  }

  /** Every connection there is breaks. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const rule of this.#rules) rule.discard();
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    this.#upstream.agent.destroy();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // Whole, so that it can be passed on even after its sender has died.
    const body = await buffer(request).catch(() => undefined);
    if (!body || this.#deaf.has(request.socket)) return;
    const seen = seenOf(request);
    this.requests.push(seen);
    const fault = this.#faultFor(seen);
    if (!fault) return this.#pass(request, response, { body, seen });
    const { kind } = fault.fault;
    if (kind === "answer") return answer(response, seen, fault.fault);
    if (kind === "cut") return void request.socket.destroy();
    if (kind === "lose") return this.#pass(request, response, { body, seen, isLost: true });
    if (await fault.rule.released) this.#pass(request, response, { body, seen });
    else request.socket.destroy();
  }

  #faultFor(seen: Seen): { readonly rule: Rule; readonly fault: Fault } | undefined {
    for (const rule of this.#rules) {
      const fault = rule.meet(seen);
      if (fault) return { rule, fault };
    }
    return undefined;
  }

  #pass(
    { socket, headers }: { readonly socket: Socket; readonly headers: IncomingHttpHeaders },
    response: ServerResponse,
    { body, seen, isLost = false }: { readonly body: Buffer; readonly seen: Seen; readonly isLost?: boolean },
  ): void {
    const { server, agent } = this.#upstream;
    const isDeaf = () => this.#deaf.has(socket);
    const hangUp = () => !isDeaf() && socket.destroy();
    const target = new URL(seen.path, server);
    const upstream = open(target, { method: seen.method, agent, headers: { ...headers, host: target.host } });
    upstream.on("error", hangUp);
    upstream.on("response", (answered) => {
      seen.status = answered.statusCode;
      answered.on("error", hangUp);
      answered.on("end", () => (isLost ? hangUp() : !isDeaf() && response.end()));
      if (isLost) return void answered.resume();
      if (!isDeaf()) response.writeHead(answered.statusCode ?? 502, answered.headers).flushHeaders();
      answered.on("data", (chunk) => !isDeaf() && response.write(chunk));
    });
    // A watch ends with its listener; anything else is carried out whether somebody waits for the answer or not.
    if (seen.isWatch) response.once("close", () => upstream.destroy());
    upstream.end(body);
  }
}

function answer(response: ServerResponse, seen: Seen, fault: Fault & { readonly kind: "answer" }): void {
  const { status, reason, retryAfterSeconds } = fault;
  seen.status = status;
  const message = `the proxy answers ${status} ${reason}`;
  const retryAfter = retryAfterSeconds === undefined ? {} : { "retry-after": String(retryAfterSeconds) };
  const body = { apiVersion: "v1", kind: "Status", status: "Failure", code: status, reason, message };
  response.writeHead(status, { "content-type": "application/json", ...retryAfter }).end(JSON.stringify(body));
}

function seenOf({ method = "GET", url = "/" }: IncomingMessage): Seen {
  const query = new URL(url, "https://proxy").searchParams;
  const isWatch = query.get("watch") === "true";
  const isAside = query.has("dryRun") || /\/(leases|events|subjectaccessreviews)(\/|\?|$)/.test(url);
  return {
    method,
    path: url,
    isWatch,
    isWrite: method !== "GET" && !isAside,
    atMs: performance.now(),
    status: undefined,
  };
}

/** The fault for every request that matches, once so many others have passed. */
export function afterwards(
  count: number,
  matches: (request: Seen) => boolean,
  fault: Fault,
): (request: Seen) => Fault | undefined {
  let passed = 0;
  return (request) => (matches(request) && ++passed > count ? fault : undefined);
}
