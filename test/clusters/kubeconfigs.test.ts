import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { secrets } from "../../src/api/objects.ts";
import {
  connectCluster,
  forwardProxy,
  idOf,
  kubeconfigLike,
  kubeconfigWith,
  kubermaticNamespace,
  prepareCluster,
  storeCluster,
  untilClusterStatus,
  writeKubeconfig,
} from "../../src/testing/connections.ts";
import { at, encoded } from "../../src/testing/objects.ts";
import { changeSpec, copyAt } from "../../src/testing/served-clusters.ts";
import { pods, untilPullSecret } from "../../src/testing/sidecars.ts";
import { untilCluster, userCluster } from "../../src/testing/user-clusters.ts";
import { conditionIn } from "../../src/testing/wait.ts";

const user = userCluster();

const nodes = { group: "", version: "v1", plural: "nodes", kind: "Node", namespaced: false };

const reachable = { status: "True", reason: "Connected" } as const;
const missing = { status: "False", reason: "KubeconfigMissing" } as const;
/** A timer would look again after a minute only. */
const atOnceMs = 30_000;

test("a Cluster names a namespace, and the rest of the reference is by default", async (t) => {
  const prepared = await prepareCluster(t);
  const { kube, name, namespace, kubeconfig } = prepared;
  await storeCluster(prepared);

  const told = await untilCluster(kube, name, "Reachable", missing);
  assert.match(conditionIn(told, "Reachable")?.message ?? "", new RegExp(`Secret ${namespace}/${name}-kubeconfig`));
  assert.equal(conditionIn(told, "Ready")?.reason, "KubeconfigMissing");
  assert.equal(conditionIn(told, "Stalled"), undefined, "it waits for one to come");

  await writeKubeconfig(kube, kubeconfig, user.kubeconfig, "config");
  await writeKubeconfig(kube, kubeconfig, "not a kubeconfig", "other");
  const createdAt = performance.now();
  await writeKubeconfig(kube, kubeconfig, user.kubeconfig, "value");
  const found = await untilCluster(kube, name, "Reachable", reachable);
  assert.ok(performance.now() - createdAt < atOnceMs, "the Secret itself tells that it is there");
  assert.equal(found.status?.clusterID, await idOf(user.kube));
  assert.match(found.status?.serverVersion ?? "", /^v1\.\d+\.\d+/);
  await untilCluster(kube, name, "Ready", { status: "True", reason: "Served" });
  assert.deepEqual(await user.kube.list(nodes), [], "not a single node was needed for that");
  assert.deepEqual(await user.kube.list(pods), []);
});

test("`kubeconfig` comes before `value`, and an explicit key before both", async (t) => {
  const prepared = await prepareCluster(t);
  const { kube, name, namespace, kubeconfig } = prepared;
  await writeKubeconfig(kube, kubeconfig, user.kubeconfig, "value");
  await writeKubeconfig(kube, kubeconfig, "hunter2", "kubeconfig");
  await storeCluster(prepared);
  const refused = await untilCluster(kube, name, "Reachable", { status: "False", reason: "KubeconfigRefused" });
  assert.doesNotMatch(JSON.stringify(refused.status), /hunter2/);

  await changeSpec(prepared, { kubeconfigSecretRef: { namespace, key: "value" } });
  const served = await untilCluster(kube, name, "Ready", { status: "True", reason: "Served" });
  assert.equal(conditionIn(served, "Stalled"), undefined, "the stall is over");
});

test("a kubeconfig that goes is missed at once, what was copied stays, and it goes on when it is back", async (t) => {
  const { kube, name, kubeconfig, source } = await connectCluster(t, user.kubeconfig);
  await untilCluster(kube, name, "Ready", { status: "True" });
  await kube.delete(secrets, at(kubeconfig));
  const told = await untilCluster(kube, name, "Ready", { status: "False", reason: "KubeconfigMissing" });
  assert.equal(told.status?.clusterID, await idOf(user.kube), "which cluster it was is still known");
  await untilPullSecret(user.kube, copyAt("default", source));

  const createdAt = performance.now();
  await writeKubeconfig(kube, kubeconfig, user.kubeconfig);
  await untilCluster(kube, name, "Ready", { status: "True" });
  assert.ok(performance.now() - createdAt < atOnceMs);
});

test("Kubermatic's Secrets are found without any reference, the internal one first", async (t) => {
  const prepared = await prepareCluster(t);
  const { kube, name } = prepared;
  const namespace = await kubermaticNamespace(t, prepared);
  await storeCluster(prepared, { isReferring: false });
  const told = await untilCluster(kube, name, "Reachable", missing);
  const { message = "" } = conditionIn(told, "Reachable") ?? {};
  assert.match(
    message,
    new RegExp(`Secret ${namespace}/internal-admin-kubeconfig.*Secret ${namespace}/admin-kubeconfig`),
  );

  await writeKubeconfig(kube, `${namespace}/admin-kubeconfig`, user.kubeconfig);
  await untilCluster(kube, name, "Ready", { status: "True", reason: "Served" });
  await writeKubeconfig(kube, `${namespace}/internal-admin-kubeconfig`, "hunter2");
  await untilCluster(kube, name, "Reachable", { reason: "KubeconfigRefused", message: /internal-admin-kubeconfig/ });
  await kube.patch(secrets, at(`${namespace}/internal-admin-kubeconfig`), {
    type: "merge",
    body: { data: { kubeconfig: null, ...encoded({ value: "hunter2" }) } },
  });
  await untilCluster(kube, name, "Ready", { status: "True", reason: "Served" });
});

test("a client certificate is honoured", async (t) => {
  const admin = await readFile(user.plane.kubeconfig, "utf8");
  assert.match(admin, /client-certificate-data/);
  const { kube, name } = await connectCluster(t, admin);
  await untilCluster(kube, name, "Ready", { status: "True", reason: "Served" });
});

test("the server's certificate is checked against tls-server-name", async (t) => {
  const named = (name: string) => kubeconfigLike(user.kubeconfig, { cluster: { "tls-server-name": name } });
  const { kube, name, kubeconfig } = await connectCluster(t, named("elsewhere.example"));
  const told = await untilCluster(kube, name, "Reachable", { status: "False", reason: "Unreachable" });
  const message = `no answer from ${user.plane.server} for 10 s: certificate is for another host`;
  assert.equal(conditionIn(told, "Reachable")?.message, message);
  await writeKubeconfig(kube, kubeconfig, named("kubernetes.default.svc"));
  await untilCluster(kube, name, "Ready", { status: "True", reason: "Served" });
});

test("everything goes through the proxy that a kubeconfig names", async (t) => {
  const prepared = await prepareCluster(t);
  const { kube, name, kubeconfig } = prepared;
  const proxy = await forwardProxy(t);
  const cluster = { "proxy-url": `http://127.0.0.1:${proxy.port}` };
  await writeKubeconfig(kube, kubeconfig, kubeconfigLike(user.kubeconfig, { cluster }));
  await storeCluster(prepared);
  await untilCluster(kube, name, "Ready", { status: "True", reason: "Served" });
  assert.ok(proxy.connections() > 0);
});

test("who is impersonated counts, not who is allowed to", async (t) => {
  const admin = await readFile(user.plane.kubeconfig, "utf8");
  const as = (name: string) => kubeconfigLike(admin, { user: { as: name } });
  const { kube, name, kubeconfig } = await connectCluster(t, as("nobody"));
  const told = await untilClusterStatus({ kube, name }, "is forbidden", ({ conditions = [] }) =>
    conditions.some(({ type, reason }) => type === "PullSecretsReady" && reason === "Forbidden"),
  );
  assert.equal(conditionIn(told, "Reachable")?.status, "True", "it does answer");
  await writeKubeconfig(kube, kubeconfig, as("system:serviceaccount:kube-system:latchkey"));
  await untilCluster(kube, name, "Ready", { status: "True", reason: "Served" });
});

test("only the current context counts, whatever the others hold", async (t) => {
  const others = {
    clusters: [{ name: "other", cluster: { server: "https://elsewhere.example", "insecure-skip-tls-verify": true } }],
    users: [{ name: "other", user: { exec: { command: "/bin/false" } } }],
    contexts: [{ name: "other", context: { cluster: "other", user: "other" } }],
  };
  const text = kubeconfigWith(user.kubeconfig, others);
  const { kube, name, kubeconfig } = await connectCluster(t, text);
  await untilCluster(kube, name, "Ready", { status: "True", reason: "Served" });
  await writeKubeconfig(kube, kubeconfig, kubeconfigLike(text, { whole: { "current-context": "other" } }));
  await untilCluster(kube, name, "Stalled", { status: "True", reason: "KubeconfigRefused", message: /insecure|exec/ });
});
