import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpsRequest, type RequestOptions } from "node:https";
import { before, type TestContext, test } from "node:test";
import { createLog } from "../../kube/log.ts";
import { issueCa, issueLeaf, type KeyPair } from "../../kube/x509.ts";
import { countReviewCall } from "./api-calls.ts";
import { reviewApiCalls } from "./metrics.ts";
import { probe } from "./probe.ts";
import { type ServedHook, WebhookServer } from "./server.ts";

let ca: KeyPair;
let leaf: KeyPair;

const newLeaf = (authority: KeyPair) =>
  issueLeaf(authority, { commonName: "latchkey-admission", ips: ["127.0.0.1"], usages: ["server"], days: 1 });

before(async () => {
  ca = await issueCa({ commonName: "ca", days: 1 });
  leaf = await newLeaf(ca);
});

async function serve(t: TestContext, hooks: readonly Partial<ServedHook>[]) {
  const lines: string[] = [];
  const log = createLog({ level: "debug", format: "json", write: (line) => lines.push(line) });
  const whole = hooks.map((hook) => ({
    name: "h",
    path: "/h",
    failurePolicy: "Fail" as const,
    review: allow,
    ...hook,
  }));
  const server = await WebhookServer.listen({ hooks: whole, address: "127.0.0.1:0", leaf, log });
  t.after(() => server[Symbol.asyncDispose]());
  return { server, lines, url: `https://127.0.0.1:${server.port}` };
}
const allow: ServedHook["review"] = async () => ({ allowed: true });

async function send(url: string, body: string | undefined, options: RequestOptions = {}) {
  const method = body === undefined ? "GET" : "POST";
  const request = httpsRequest(url, { ca: ca.certificatePem, agent: false, method, ...options });
  const answered = once(request, "response");
  // Also after the answer: a server that has heard enough closes while the rest is still being sent.
  request.on("error", () => undefined);
  request.end(body);
  const [response] = await answered;
  const chunks: Buffer[] = await response.toArray();
  return { status: response.statusCode as number, text: Buffer.concat(chunks).toString("utf8") };
}

const review = (object: unknown = {}) =>
  JSON.stringify({
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: { uid: "42", operation: "CREATE", userInfo: { username: "bob" }, object },
  });
const answerOf = (text: string) => JSON.parse(text).response;

test("a hook's verdict is the answer", async (t) => {
  const { url } = await serve(t, [
    { path: "/yes" },
    { path: "/no", review: async ({ user }) => ({ allowed: false, code: 403, message: `not ${user.username}` }) },
  ]);
  assert.deepEqual(answerOf((await send(`${url}/yes?timeout=3s`, review())).text), { uid: "42", allowed: true });
  const denied = answerOf((await send(`${url}/no`, review())).text);
  assert.deepEqual(denied, {
    uid: "42",
    allowed: false,
    status: { code: 403, reason: "Forbidden", message: "not bob" },
  });
});

test("what a hook changes is in the answer", async (t) => {
  const patch = [{ op: "add", path: "/metadata/labels/a", value: "b" }] as const;
  const { url } = await serve(t, [{ review: async () => ({ allowed: true, patch }) }]);
  const answer = answerOf((await send(`${url}/h`, review())).text);
  assert.equal(answer.patchType, "JSONPatch");
  assert.deepEqual(JSON.parse(Buffer.from(answer.patch, "base64").toString("utf8")), patch);
});

async function callsOf(hook: string): Promise<number> {
  const { values } = await reviewApiCalls.get();
  return values.find(({ labels }) => labels.hook === hook)?.value ?? 0;
}

test("requests are counted for the review that waits for them, and for no other", async (t) => {
  const goOn = Promise.withResolvers<void>();
  const late = Promise.withResolvers<void>();
  const asking = (calls: number) => async () => {
    await Promise.all(Array.from({ length: calls }, async () => countReviewCall()));
    // Nobody waits for this one: it is made when the review is long over.
    void goOn.promise.then(countReviewCall).then(late.resolve);
    return { allowed: true } as const;
  };
  const { url } = await serve(t, [
    { name: "asks-much", path: "/much", review: asking(3) },
    { name: "asks-nothing", path: "/nothing", review: asking(0) },
  ]);
  await Promise.all(["much", "nothing", "much"].map((path) => send(`${url}/${path}`, review())));
  countReviewCall();
  goOn.resolve();
  await late.promise;
  assert.deepEqual([await callsOf("asks-much"), await callsOf("asks-nothing")], [6, 0]);
});

test("a Fail hook that throws denies and says why", async (t) => {
  const failing = async () => {
    throw new Error("ask for rights", { cause: new Error("127.0.0.1 is unreachable") });
  };
  const { url, lines } = await serve(t, [{ review: failing }]);
  const { allowed, status } = answerOf((await send(`${url}/h`, review())).text);
  assert.equal(allowed, false);
  assert.equal(status.code, 500);
  assert.match(status.message, /ask for rights: 127\.0\.0\.1 is unreachable/u);
  assert.equal(lines.length, 1);
});

test("an Ignore hook that throws allows with a warning", async (t) => {
  const failing = async () => {
    throw new Error("oh");
  };
  const { url } = await serve(t, [{ failurePolicy: "Ignore", review: failing }]);
  const { allowed, warnings } = answerOf((await send(`${url}/h`, review())).text);
  assert.equal(allowed, true);
  assert.match(warnings[0], /could not review this: oh/u);
});

test("what could not be parsed is quoted nowhere", async (t) => {
  const failing = async () => JSON.parse("hunter2");
  const { url, lines } = await serve(t, [{ review: failing }]);
  const thrown = await send(`${url}/h`, review());
  const garbage = await send(`${url}/h`, "hunter2");
  assert.equal(garbage.status, 400);
  assert.doesNotMatch(thrown.text + garbage.text + lines.join(""), /hunter2/u);
});

test("what is no review is refused by its status", async (t) => {
  const { url } = await serve(t, [{}]);
  assert.equal((await send(`${url}/nowhere`, review())).status, 404);
  assert.equal((await send(`${url}/h`, undefined)).status, 405);
  assert.equal((await send(`${url}/h`, "{}")).status, 400);
  assert.equal((await send(`${url}/healthz`, undefined)).status, 200);
});

test("3 MiB twice is a review, far more is too much", async (t) => {
  const { url } = await serve(t, [{}]);
  assert.equal((await send(`${url}/h`, review({ data: "x".repeat(6 * 1024 * 1024) }))).status, 200);
  // It may also see the connection closed before it sees the answer.
  const tooMuch = await send(`${url}/h`, review({ data: "x".repeat(20 * 1024 * 1024) })).catch(() => ({ status: 413 }));
  assert.equal(tooMuch.status, 413);
});

test("a swapped certificate is served on the open port", async (t) => {
  const { server, url } = await serve(t, []);
  const other = await issueCa({ commonName: "other", days: 1 });
  assert.equal(await probe(url, ca.certificatePem), "alive");
  server.swap(await newLeaf(other));
  assert.equal(await probe(url, other.certificatePem), "alive");
  assert.equal(await probe(url, ca.certificatePem), "dead", "a stranger on the port does not count as alive");
});

test("nobody on the port is dead", async (t) => {
  const { server, url } = await serve(t, []);
  await server[Symbol.asyncDispose]();
  assert.equal(await probe(url, ca.certificatePem), "dead");
});
