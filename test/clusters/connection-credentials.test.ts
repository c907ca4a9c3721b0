import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { secrets } from "../../src/api/objects.ts";
import { issueCa } from "../../src/kube/x509.ts";
import { ApiProxy } from "../../src/testing/api-proxy.ts";
import {
  connectCluster,
  kubeconfigLike,
  prepareCluster,
  storeCluster,
  writeKubeconfig,
} from "../../src/testing/connections.ts";
import { at, base64 } from "../../src/testing/objects.ts";
import { setValues } from "../../src/testing/secrets.ts";
import { copyAt } from "../../src/testing/served-clusters.ts";
import { dockerConfig, serviceAccounts, untilPullSecret } from "../../src/testing/sidecars.ts";
import { createUserNamespace, untilCluster, userCluster } from "../../src/testing/user-clusters.ts";
import { conditionIn } from "../../src/testing/wait.ts";
import { userClusterKubeconfig } from "../../tools/local/user-cluster.ts";

const user = userCluster();

const ready = { status: "True", reason: "Served" } as const;
const account = { namespace: "kube-system", name: "latchkey" };

test("a server that is not trusted is unreachable, one that does not know us says so at once", async (t) => {
  const stranger = await issueCa({ commonName: "stranger", days: 1 });
  const distrusting = { "certificate-authority-data": base64(stranger.certificatePem) };
  const { kube, name, kubeconfig, events } = await connectCluster(
    t,
    kubeconfigLike(user.kubeconfig, { cluster: distrusting }),
  );
  const distrusted = await untilCluster(kube, name, "Reachable", { status: "False", reason: "Unreachable" });
  const message = `no answer from ${user.plane.server} for 10 s: certificate not trusted`;
  assert.equal(conditionIn(distrusted, "Reachable")?.message, message);

  const writtenAt = performance.now();
  await writeKubeconfig(kube, kubeconfig, kubeconfigLike(user.kubeconfig, { user: { token: "hunter2" } }));
  const unknown = await untilCluster(kube, name, "Reachable", { status: "False", reason: "Unauthorized" });
  assert.ok(performance.now() - writtenAt < 10_000, "an answer is not waited for like silence");
  assert.match(conditionIn(unknown, "Reachable")?.message ?? "", new RegExp(`^${user.plane.server} refuses the cred`));
  assert.equal(conditionIn(unknown, "Ready")?.reason, "Unauthorized");
  assert.equal(conditionIn(unknown, "Stalled"), undefined, "the server may come to know us");
  assert.equal(sinceOf(unknown), sinceOf(distrusted), "still not reachable, since the same time");
  assert.doesNotMatch(JSON.stringify([unknown, ...events.messages]), /hunter2/);

  await writeKubeconfig(kube, kubeconfig, user.kubeconfig);
  await untilCluster(kube, name, "Ready", ready);
});

const sinceOf = (cluster: Parameters<typeof conditionIn>[0]) => conditionIn(cluster, "Reachable")?.lastTransitionTime;

test("a kubeconfig rotated in place is taken up at once, and nobody notices", async (t) => {
  const { kube, name, kubeconfig, source, events } = await connectCluster(t, user.kubeconfig);
  const before = await untilCluster(kube, name, "Ready", ready);
  const copy = await untilPullSecret(user.kube, copyAt("default", source));
  const renewed = await userClusterKubeconfig(user.plane);
  const from = await user.position();
  await writeKubeconfig(kube, kubeconfig, renewed);
  await setValues(kube, source, dockerConfig("robot", "two"));
  const after = await untilPullSecret(user.kube, copyAt("default", source), "two");
  assert.equal(after.metadata.uid, copy.metadata.uid);
  const told = await untilCluster(kube, name, "Ready", ready);
  assert.equal(sinceOf(told), sinceOf(before));
  assert.deepEqual(
    events.inShort.filter((event) => /eachable|Changed/.test(event)),
    [],
  );
  const verbs = (await user.writes({ from })).map(({ verb, resource }) => `${verb} ${resource}`);
  assert.deepEqual(new Set(verbs), new Set(["patch secrets"]), "the rotation of the source, and nothing besides");
});

test("whoever refuses us is asked ever less often", async (t) => {
  const prepared = await prepareCluster(t);
  const { kube, name, kubeconfig } = prepared;
  const proxy = await ApiProxy.start({ server: user.plane.server, ca: user.plane.admin.ca });
  t.after(() => proxy[Symbol.asyncDispose]());
  const through = { server: proxy.url, "certificate-authority-data": base64(proxy.ca) };
  const stranger = { cluster: through, user: { token: "hunter2" } };
  await writeKubeconfig(kube, kubeconfig, kubeconfigLike(user.kubeconfig, stranger));
  await storeCluster(prepared);
  await untilCluster(kube, name, "Reachable", { status: "False", reason: "Unauthorized" });
  // That something does not happen, for longer than the ten seconds after which silence would be told.
  await sleep(20_000);
  const asked = proxy.requests.length;
  assert.ok(asked <= 8, `asked ${asked} times within 20 s: after 1 s, 2 s, 4 s and so on would do`);
});

test("a first read that is forbidden is told as such: the cluster does answer", async (t) => {
  const lacking = await userClusterKubeconfig(user.plane, { without: [{ verb: "get", resource: "namespaces" }] });
  const { kube, name, kubeconfig, source } = await connectCluster(t, lacking);
  const says =
    /^cannot get namespaces in namespace kube-system: the kubeconfig's user lacks the verb get on namespaces$/;
  const told = await untilCluster(kube, name, "PullSecretsReady", {
    status: "False",
    reason: "Forbidden",
    message: says,
  });
  assert.deepEqual(
    ["Reachable", "Injection", "Ready"].map((type) => conditionIn(told, type)?.reason),
    ["Connected", "Forbidden", "Forbidden"],
  );
  await userClusterKubeconfig(user.plane);
  await untilCluster(kube, name, "Ready", ready);
  await untilPullSecret(user.kube, copyAt("default", source));
  await kube.delete(secrets, at(kubeconfig));
  await untilCluster(kube, name, "Reachable", { status: "False", reason: "KubeconfigMissing" });
  await writeKubeconfig(kube, kubeconfig, lacking);
  await untilCluster(kube, name, "Ready", ready);
});

test("credentials that end are told at once, new ones are taken up at once", async (t) => {
  const { kube, name, kubeconfig, source } = await connectCluster(t, user.kubeconfig);
  await untilCluster(kube, name, "Ready", ready);
  // Its tokens end with an account; another one of the same name has the same rights.
  await user.kube.delete(serviceAccounts, account);
  await untilCluster(kube, name, "Reachable", { status: "False", reason: "Unauthorized" });
  const app = await createUserNamespace(t, user);
  await setValues(kube, source, dockerConfig("robot", "two"));

  const renewed = await userClusterKubeconfig(user.plane);
  const writtenAt = performance.now();
  await writeKubeconfig(kube, kubeconfig, renewed);
  await untilPullSecret(user.kube, copyAt(app, source), "two");
  await untilCluster(kube, name, "Ready", ready);
  assert.ok(performance.now() - writtenAt < 30_000, "the Secret itself tells, no timer");
});
