import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Registry } from "prom-client";
import { localUrlOf, parseAddress } from "./address.ts";

export interface Check {
  readonly name: string;
  /** What is wrong, or undefined. */
  failing(): string | undefined;
}

interface HealthOptions {
  /** `host:port` or `:port`; port 0 means any free one. */
  readonly address: string;
  readonly registry: Registry;
  readonly checks: {
    /** Failing means: restart me. */
    readonly live: readonly Check[];
    /** Failing means: send me nothing. */
    readonly ready: readonly Check[];
  };
}

interface HealthServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Serves `/metrics`, `/healthz` and `/readyz`. */
export async function serveHealth({ address, registry, checks }: HealthOptions): Promise<HealthServer> {
  const server = createServer((request, response) => {
    const send = ({ status, type, body }: Answer) => response.writeHead(status, { "content-type": type }).end(body);
    void answerTo(request.url ?? "/", registry, checks).then(send, (error) => send(failed(error)));
  });
  const { host, port } = parseAddress(address);
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause) => reject(new Error(`listen on ${address} for metrics and health`, { cause })));
    server.listen(port, host, resolve);
  });
  const url = localUrlOf("http", address, (server.address() as AddressInfo).port);
  return { url, close: () => close(server) };
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

async function answerTo(url: string, registry: Registry, checks: HealthOptions["checks"]): Promise<Answer> {
  const [path] = url.split("?", 1);
  if (path === "/metrics") return { status: 200, type: registry.contentType, body: await registry.metrics() };
  if (path === "/healthz") return verdictOf(checks.live);
  if (path === "/readyz") return verdictOf(checks.ready);
  return text(404, "/metrics, /healthz or /readyz\n");
}

function verdictOf(checks: readonly Check[]): Answer {
  const problems = checks.flatMap((check) => {
    const problem = check.failing();
    return problem === undefined ? [] : [`${check.name}: ${problem}\n`];
  });
  return problems.length === 0 ? text(200, "ok\n") : text(503, problems.join(""));
}

function failed(error: unknown): Answer {
  return text(500, `${error instanceof Error ? error.message : "failed"}\n`);
}

function text(status: number, body: string): Answer {
  return { status, type: "text/plain; charset=utf-8", body };
}

async function close(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}
