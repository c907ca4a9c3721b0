import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { secrets } from "../../src/api/objects.ts";
import { ApiProxy, type Seen } from "../../src/testing/api-proxy.ts";
import {
  type Connected,
  kubeconfigLike,
  prepareCluster,
  storeCluster,
  writeKubeconfig,
} from "../../src/testing/connections.ts";
import { EventsOf } from "../../src/testing/events.ts";
import { at, base64 } from "../../src/testing/objects.ts";
import { setValues } from "../../src/testing/secrets.ts";
import { copyAt, refer, untilEvent } from "../../src/testing/served-clusters.ts";
import { createPullSecret, dockerConfig, untilPullSecret } from "../../src/testing/sidecars.ts";
import { createUserNamespace, untilCluster, userCluster } from "../../src/testing/user-clusters.ts";
import { conditionIn } from "../../src/testing/wait.ts";

const user = userCluster();

const ready = { status: "True", reason: "Served" } as const;
const isCreate = ({ method, path }: Seen) => method === "POST" && /\/secrets(\?|$)/.test(path);

/** A Cluster that is reached through somebody who makes trouble; the trouble may begin before the first request. */
async function connectThrough(
  t: TestContext,
  trouble: (proxy: ApiProxy) => unknown = () => {},
): Promise<Connected & { readonly proxy: ApiProxy }> {
  const prepared = await prepareCluster(t);
  const { kube, namespace } = prepared;
  const proxy = await ApiProxy.start({ server: user.plane.server, ca: user.plane.admin.ca });
  t.after(() => proxy[Symbol.asyncDispose]());
  trouble(proxy);
  const through = { server: proxy.url, "certificate-authority-data": base64(proxy.ca) };
  await writeKubeconfig(kube, prepared.kubeconfig, kubeconfigLike(user.kubeconfig, { cluster: through }));
  const source = `${namespace}/quay`;
  await createPullSecret(kube, source);
  const cluster = await storeCluster(prepared, { references: [source] });
  return { ...prepared, cluster, source, proxy, events: new EventsOf(t, kube, cluster) };
}

test("a cluster that asks for patience is given it: what is under way is told, and no namespace is asked early", async (t) => {
  const app = await createUserNamespace(t, user);
  const throttle = { kind: "answer", status: 429, reason: "TooManyRequests", retryAfterSeconds: 2 } as const;
  const rules: ReturnType<ApiProxy["fault"]>[] = [];
  const { kube, name, source, proxy, events } = await connectThrough(t, (through) => {
    rules.push(through.fault((request) => (isCreate(request) ? throttle : undefined)));
  });
  const told = await untilCluster(kube, name, "PullSecretsReady", { status: "False", reason: "Progressing" });
  assert.match(conditionIn(told, "PullSecretsReady")?.message ?? "", /^0\/5 namespaces$/);
  assert.deepEqual(
    ["Reachable", "Ready", "Injection"].map((type) => conditionIn(told, type)?.reason),
    ["Connected", "Progressing", "Active"],
  );
  assert.deepEqual(told.status?.failures ?? [], [], "it is no failure");
  await rules[0]?.reached(10);
  for (const rule of rules) rule.lift();
  await untilCluster(kube, name, "Ready", ready);
  await untilPullSecret(user.kube, copyAt(app, source));

  const asked = Map.groupBy(proxy.requests.filter(isCreate), ({ path }) => path.split("?")[0]);
  for (const [path, requests] of asked) {
    for (const [at, { atMs }] of requests.entries()) {
      const sinceMs = atMs - (requests[at - 1]?.atMs ?? Number.NEGATIVE_INFINITY);
      assert.ok(sinceMs >= 1_990, `${path} was asked again after ${sinceMs} ms`);
    }
  }
  assert.deepEqual(
    events.inShort.filter((event) => /eachable/.test(event)),
    [],
  );
});

test("after a sign of overload half as much is under way at once", async (t) => {
  for (let each = 0; each < 12; each++) await createUserNamespace(t, user);
  const { kube, name, source, namespace, proxy } = await connectThrough(t);
  await untilCluster(kube, name, "Ready", ready);
  const throttle = { kind: "answer", status: 429, reason: "TooManyRequests", retryAfterSeconds: 1 } as const;
  let count = 0;
  const first = proxy.fault((request) => (isCreate(request) && count++ < 8 ? throttle : undefined));
  const held = proxy.fault((request) => (isCreate(request) ? { kind: "hold" } : undefined));
  await createPullSecret(kube, `${namespace}/another`);
  await refer({ kube, name }, [source, `${namespace}/another`]);
  await first.reached(8);
  await held.reached(4);
  // That something does not happen: those that were put off come again after a second or two.
  await sleep(5_000);
  assert.equal(held.hits.length, 4);
  held.lift();
  await untilCluster(kube, name, "Ready", ready);
});

test("watches that break are opened again, and what happened meanwhile is found", async (t) => {
  const { kube, name, source, proxy, events } = await connectThrough(t);
  await untilCluster(kube, name, "Ready", ready);
  const rule = proxy.fault(({ isWatch }) => (isWatch ? { kind: "cut" } : undefined));
  proxy.cut();
  await rule.reached(1);
  const app = await createUserNamespace(t, user);
  await user.kube.delete(secrets, at(copyAt("default", source)));
  await rule.reached(20);
  rule.lift();
  await untilPullSecret(user.kube, copyAt(app, source));
  await untilPullSecret(user.kube, copyAt("default", source));
  const told = await untilCluster(kube, name, "Ready", ready);
  assert.equal(conditionIn(told, "Reachable")?.status, "True");
  assert.deepEqual(
    events.inShort.filter((event) => /eachable/.test(event)),
    [],
    "its API server answered all the time",
  );
});

test("connections that die in silence are noticed long before a watch would be missed", async (t) => {
  const { kube, name, source, proxy } = await connectThrough(t);
  await untilCluster(kube, name, "Ready", ready);
  proxy.deafen();
  const deafAt = performance.now();
  const app = await createUserNamespace(t, user);
  await untilPullSecret(user.kube, copyAt(app, source));
  assert.ok(performance.now() - deafAt < 60_000, "a watch that is silent for a minute is not remarkable in itself");
  await untilCluster(kube, name, "Ready", ready);
});

test("a server that only ever fails is unreachable, and not quoted", async (t) => {
  const { kube, name, source, proxy, events } = await connectThrough(t);
  await untilCluster(kube, name, "Ready", ready);
  const fault = { kind: "answer", status: 503, reason: "hunter2" } as const;
  const rule = proxy.fault(() => fault);
  proxy.cut();
  await setValues(kube, source, dockerConfig("robot", "two"));
  const told = await untilCluster(kube, name, "Reachable", { status: "False", reason: "Unreachable" });
  const message = `no answer from ${proxy.url} for 10 s: it answers 503`;
  assert.equal(conditionIn(told, "Reachable")?.message, message);
  await untilEvent(events, "Warning Unreachable");
  assert.doesNotMatch(JSON.stringify([told, events.messages]), /hunter2/);
  rule.lift();
  await untilCluster(kube, name, "Ready", ready);
  await untilPullSecret(user.kube, copyAt("default", source), "two");
});
