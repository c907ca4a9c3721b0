import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { Kube } from "../kube/client.ts";

export type Answer = (response: ServerResponse, query: URLSearchParams) => void;

/** Canned answers and broken connections, which the real API server does not give on demand: each request gets the next of the answers, and the last one to all that follow. */
export async function cannedServer(t: TestContext, ...answers: readonly Answer[]) {
  const asked: URLSearchParams[] = [];
  const server = createServer((request, response) => {
    const answer = answers[Math.min(asked.length, answers.length - 1)];
    const query = new URL(request.url ?? "", "http://localhost").searchParams;
    asked.push(query);
    answer?.(response, query);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const kube = new Kube({ server: `http://127.0.0.1:${port}`, tls: {}, authorization: async () => undefined });
  t.after(async () => {
    await kube[Symbol.asyncDispose]();
    server.closeAllConnections();
    server.close();
  });
  return { kube, asked, breakConnections: () => server.closeAllConnections() };
}

/** Events, after which the connection stays open. */
export function streams(...lines: readonly string[]): Answer {
  return (response) => {
    response.writeHead(200, { "content-type": "application/json" }).flushHeaders();
    if (lines.length > 0) response.write(lines.join(""));
  };
}

export function streamsAndEnds(...lines: readonly string[]): Answer {
  return (response) => {
    response.end(lines.join(""));
  };
}

export function answers(body: object, code = 200): Answer {
  return (response) => {
    response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(body));
  };
}

export function refuses(code: number, reason: string): Answer {
  return answers(statusOf(code, reason), code);
}

export function statusOf(code: number, reason: string): object {
  return { kind: "Status", code, reason, message: `canned ${reason}` };
}

export function eventLine(type: string, object: object): string {
  return `${JSON.stringify({ type, object })}\n`;
}

/** The bookmark that ends a streaming list. */
export function listEnd(resourceVersion: number): string {
  const annotations = { "k8s.io/initial-events-end": "true" };
  return eventLine("BOOKMARK", { metadata: { resourceVersion: String(resourceVersion), annotations } });
}
