import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { test } from "node:test";
import { span, startTracing } from "./trace.ts";

interface Sent {
  readonly name: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly status?: { readonly message?: string };
}

interface Export {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly Sent[] }[] }[];
}

test("without an endpoint a span just runs", async () => {
  const stop = await startTracing({});
  assert.equal(await span("x", {}, async () => 7), 7);
  await stop();
});

test("spans reach the endpoint with their parents, and an error by its class only", async (t) => {
  const sent: Sent[] = [];
  const receive = async (request: IncomingMessage, response: ServerResponse) => {
    const { resourceSpans } = (await json(request)) as Export;
    sent.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)));
    response.setHeader("content-type", "application/json").end("{}");
  };
  const server = createServer((request, response) => void receive(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const stop = await startTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint });
  const pass = span("pass", { controller: "a" }, () =>
    span("apply", {}, () => Promise.reject(new TypeError("hunter2"))),
  );
  await assert.rejects(pass, /hunter2/);
  await stop();

  const [inner, outer] = ["apply", "pass"].map((name) => sent.find((one) => one.name === name));
  assert.equal(inner?.parentSpanId, outer?.spanId);
  assert.equal(inner?.status?.message, "TypeError");
  assert.doesNotMatch(JSON.stringify(sent), /hunter2/);
});
