import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createSecureServer } from "node:http2";
import { type AddressInfo, connect, type Server, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import type { Connection } from "./connection.ts";
import { type Outgoing, type RequestSeen, Transport, type TransportOptions } from "./transport.ts";
import { issueCa, issueLeaf } from "./x509.ts";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

async function listen(t: TestContext, server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

function transportTo(t: TestContext, connection: Partial<Connection>, options: TransportOptions = {}): Transport {
  const whole = { server: "", tls: {}, authorization: async () => undefined, ...connection };
  const transport = new Transport(whole, options);
  t.after(() => transport[Symbol.asyncDispose]());
  return transport;
}

/** Answers the first request by the first answer, and so on; the last one stays. */
async function script(
  t: TestContext,
  answers: readonly Answer[],
  options: TransportOptions & Partial<Connection> = {},
) {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    answers[Math.min(requests.length, answers.length) - 1]?.(request, response);
  });
  const port = await listen(t, server);
  const transport = transportTo(t, { server: `http://127.0.0.1:${port}`, ...options }, options);
  return { transport, requests, port };
}

const ok: Answer = (_, response) => response.setHeader("content-type", "application/json").end('{"ok":true}');
const reset: Answer = (request) => request.socket.destroy();
const silent: Answer = () => {};
const refuse =
  (status: number, headers: Record<string, string> = {}): Answer =>
  (_, response) =>
    response.writeHead(status, headers).end();

const get: Outgoing = { verb: "get", resource: "secrets", method: "GET", path: "/x", headers: {} };
const post: Outgoing = { ...get, verb: "create", method: "POST", body: { a: 1 } };

test("429 is tried again, also a create", async (t) => {
  const { transport, requests } = await script(t, [refuse(429, { "retry-after": "0" }), ok]);
  assert.deepEqual(await transport.send(post), { ok: true });
  assert.equal(requests.length, 2);
});

test("a lost connection: a read is sent again, a create is not", async (t) => {
  const read = await script(t, [reset, ok]);
  assert.deepEqual(await read.transport.send(get), { ok: true });
  const create = await script(t, [reset, ok]);
  await assert.rejects(create.transport.send(post), { name: "UnreachableError" });
  assert.equal(create.requests.length, 1);
});

test("a JSON patch is not sent twice either", async (t) => {
  const { transport, requests } = await script(t, [reset, ok]);
  const headers = { "content-type": "application/json-patch+json" };
  await assert.rejects(transport.send({ ...get, method: "PATCH", headers, body: [] }), { name: "UnreachableError" });
  assert.equal(requests.length, 1);
});

test("a wait longer than the deadline is not begun", async (t) => {
  const { transport, requests } = await script(t, [refuse(429, { "retry-after": "3600" }), ok]);
  await assert.rejects(transport.send(get), { status: 429, retryAfterMs: 3_600_000 });
  assert.equal(requests.length, 1);
});

test("no answer in time is unreachable, and the next request gets a connection of its own", async (t) => {
  const { transport, requests } = await script(t, [ok, silent, ok], { timeoutMs: 3000 });
  await transport.send(get);
  await assert.rejects(transport.send(get), { name: "UnreachableError", code: "TimeoutError" });
  await transport.send(get);
  const ports = requests.map((request) => request.socket.remotePort);
  assert.equal(ports[0], ports[1], "kept alive");
  assert.notEqual(ports[1], ports[2]);
});

test("an abort is the caller's own, and no request for metrics", async (t) => {
  const seen: RequestSeen[] = [];
  const caller = new AbortController();
  const { transport } = await script(t, [() => caller.abort(new Error("mine"))], {
    onRequest: (one) => seen.push(one),
  });
  await assert.rejects(transport.send({ ...get, signal: caller.signal }), /mine/);
  assert.deepEqual(seen, []);
});

test("an abort ends the wait before a retry", async (t) => {
  const caller = new AbortController();
  const { transport } = await script(t, [refuse(429, { "retry-after": "20" })], {
    onRequest: () => setImmediate(() => caller.abort(new Error("mine"))),
  });
  await assert.rejects(transport.send({ ...get, signal: caller.signal }), /mine/);
});

test("each attempt passes the gate, and between attempts the gate is free", async (t) => {
  const { transport } = await script(t, [refuse(429, { "retry-after": "0" }), ok]);
  const passes: string[] = [];
  const gate = async (attempt: () => Promise<unknown>) => {
    passes.push("in");
    return await attempt().finally(() => passes.push("out"));
  };
  await transport.send({ ...post, gate });
  assert.deepEqual(passes, ["in", "out", "in", "out"]);
});

test("a 401 renews the credentials once", async (t) => {
  let token = 1;
  const { transport, requests } = await script(t, [refuse(401)], {
    authorization: async () => `Bearer ${token}`,
    renewCredentials: () => {
      token++;
      return true;
    },
  });
  await assert.rejects(transport.send(get), { status: 401 });
  const sent = requests.map((request) => request.headers.authorization);
  assert.deepEqual(sent, ["Bearer 1", "Bearer 2"]);
});

test("identity, user agent and the server's path prefix go with every request", async (t) => {
  const { port, requests } = await script(t, [ok]);
  const impersonate = { user: "joe", uid: "7", groups: ["g", "h"], extra: { "A/b": ["x"] } };
  const transport = transportTo(t, { server: `http://127.0.0.1:${port}/k8s/c1/`, impersonate }, { userAgent: "me/1" });
  await transport.send(get);
  assert.equal(requests[0]?.url, "/k8s/c1/x");
  const { headersDistinct: headers = {} } = requests[0] ?? {};
  assert.deepEqual(headers["user-agent"], ["me/1"]);
  assert.deepEqual(headers["impersonate-user"], ["joe"]);
  assert.deepEqual(headers["impersonate-uid"], ["7"]);
  assert.deepEqual(headers["impersonate-group"], ["g", "h"]);
  assert.deepEqual(headers["impersonate-extra-a%2fb"], ["x"]);
});

test("an answer cut off in between is not quoted", async (t) => {
  const half: Answer = (_, response) => response.setHeader("content-type", "application/json").end('{"data":"hunter2');
  const { transport } = await script(t, [half]);
  await assert.rejects(transport.send(post), { name: "UnreachableError", message: /\(unreadable answer\)$/ });
});

test("metrics see each attempt", async (t) => {
  const seen: unknown[] = [];
  const onRequest = ({ verb, resource, status }: RequestSeen) => seen.push([verb, resource, status]);
  const { transport } = await script(t, [refuse(503), reset, ok], { onRequest });
  await transport.send(get);
  assert.deepEqual(seen, [
    ["get", "secrets", 503],
    ["get", "secrets", "unreachable"],
    ["get", "secrets", 200],
  ]);
});

for (const [verb, method] of [
  ["create", "POST"],
  ["patch", "PATCH"],
  ["delete", "DELETE"],
] as const) {
  test(`connections are used again: ${verb}, with a body`, async (t) => {
    const { transport, requests } = await script(t, [
      (request, response) => void request.resume().once("end", () => ok(request, response)),
    ]);
    for (let at = 0; at < 20; at++) await transport.send({ ...post, verb, method });
    const { size } = new Set(requests.map(({ socket }) => socket));
    assert.ok(size < 5, `${size} connections`);
  });
}

test("a stream ends with an error when connections are reset, and requests go on", async (t) => {
  const first: Answer = (_, response) => response.writeHead(200).write("one\n");
  const { transport } = await script(t, [first, ok]);
  const { body } = await transport.stream("/watch", { accept: "application/json" });
  const chunks = body[Symbol.asyncIterator]();
  assert.equal(String((await chunks.next()).value), "one\n");
  transport.reset();
  await assert.rejects(chunks.next());
  assert.deepEqual(await transport.send(get), { ok: true });
});

test("streams do not use up the connections of requests", async (t) => {
  const streams = 40;
  const begin: Answer = (_, response) => response.writeHead(200).write("x");
  const { transport } = await script(t, [...Array.from({ length: streams }, () => begin), ok]);
  for (let i = 0; i < streams; i++) await transport.stream("/watch", { accept: "*/*" });
  assert.deepEqual(await transport.send(get), { ok: true });
});

test("a refused stream throws what the server said", async (t) => {
  const { transport } = await script(t, [refuse(410)]);
  await assert.rejects(transport.stream("/watch", { accept: "*/*" }), { name: "ApiError", status: 410 });
});

test("HTTPS: HTTP/1.1 though the server has HTTP/2, the server's name as told, and directly or through a proxy", async (t) => {
  const ca = await issueCa({ commonName: "ca", days: 1 });
  const { certificatePem: cert, keyPem: key } = await issueLeaf(ca, {
    commonName: "server",
    dnsNames: ["inside"],
    usages: ["server"],
    days: 1,
  });
  const server = createSecureServer({ cert, key, allowHTTP1: true }, (request, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ version: request.httpVersion }));
  });
  const port = await listen(t, server);
  const tunnelled: string[] = [];
  const proxy = createServer();
  proxy.on("connect", (request, client: Socket) => {
    tunnelled.push(request.url ?? "");
    const upstream = connect(port, "127.0.0.1", () => client.write("HTTP/1.1 200 OK\r\n\r\n"));
    for (const socket of [client, upstream]) socket.on("error", () => {});
    client.once("close", () => upstream.destroy());
    upstream.pipe(client).pipe(upstream);
  });
  const proxyUrl = `http://127.0.0.1:${await listen(t, proxy)}`;

  const to = { server: `https://127.0.0.1:${port}`, tls: { ca: ca.certificatePem, serverName: "inside" } };
  assert.deepEqual(await transportTo(t, to).send(get), { version: "1.1" });
  assert.deepEqual(await transportTo(t, { ...to, proxyUrl }).send(get), { version: "1.1" });
  assert.deepEqual(tunnelled, [`127.0.0.1:${port}`]);

  const misnamed = transportTo(t, { ...to, tls: { ca: ca.certificatePem } });
  await assert.rejects(misnamed.send(get), { name: "UnreachableError", code: "ERR_TLS_CERT_ALTNAME_INVALID" });
  const untrusted = transportTo(t, { ...to, tls: { serverName: "inside" } });
  await assert.rejects(untrusted.send(get), { name: "UnreachableError" });
});

test("who gives up does not wait for a credential plugin", async (t) => {
  const authorization = () => new Promise<never>(() => {});
  const transport = transportTo(t, { server: "http://127.0.0.1:1", authorization });
  const signal = AbortSignal.abort(new Error("gave up"));
  const request: Outgoing = { verb: "get", resource: "secrets", method: "GET", path: "/", headers: {}, signal };
  await assert.rejects(transport.send(request), /gave up/);
});
