import assert from "node:assert/strict";
import { test } from "node:test";
import { type Secret, secrets } from "../../src/api/objects.ts";
import { ApiProxy } from "../../src/testing/api-proxy.ts";
import { createNamespace } from "../../src/testing/cluster.ts";
import {
  connectCluster,
  kubeconfigLike,
  prepareCluster,
  storeCluster,
  untilOlder,
  writeKubeconfig,
} from "../../src/testing/connections.ts";
import { at, base64, secret } from "../../src/testing/objects.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import { patchSecret } from "../../src/testing/secrets.ts";
import { copyAt } from "../../src/testing/served-clusters.ts";
import { untilPullSecret } from "../../src/testing/sidecars.ts";
import { clusters, createUserNamespace, untilCluster, userCluster } from "../../src/testing/user-clusters.ts";
import { conditionIn } from "../../src/testing/wait.ts";
import type { Operator } from "../../tools/local/operator.ts";

const args = ["--cluster-api-namespaces=capi-a,capi-b", "--allow-insecure-clusters"];
let operator: Operator;
const own = ownPlane(async (plane) => {
  operator = await plane.operator({ args });
});
const user = userCluster();

const ready = { status: "True", reason: "Served" } as const;

test("Cluster API's Secrets count where they are expected, with their label, and only if there is one", async (t) => {
  const prepared = await prepareCluster(t);
  const { kube, name } = prepared;
  for (const namespace of ["capi-a", "capi-b", "capi-c"]) await createNamespace(t, namespace);
  const labels = { "cluster.x-k8s.io/cluster-name": name };
  const [a, b, c] = ["capi-a", "capi-b", "capi-c"].map((namespace) => `${namespace}/${name}-kubeconfig`) as [
    string,
    string,
    string,
  ];
  const create = (key: string, marks = {}) =>
    kube.create<Secret>(secrets, secret(key, { value: user.kubeconfig }, { labels: marks }));
  await create(a);
  await create(c, labels);
  await storeCluster(prepared, { isReferring: false });
  const told = await untilCluster(kube, name, "Reachable", { status: "False", reason: "KubeconfigMissing" });
  const { message = "" } = conditionIn(told, "Reachable") ?? {};
  assert.match(message, new RegExp(`Secret ${a} .*Secret ${b} `));
  assert.doesNotMatch(message, /capi-c/);

  await patchSecret(kube, a, { metadata: { labels } });
  await untilCluster(kube, name, "Ready", ready);

  await create(b, labels);
  const both = new RegExp(`Secret ${a} .*Secret ${b} `);
  const ambiguous = { status: "False", reason: "AmbiguousKubeconfig", message: both } as const;
  const unsure = await untilCluster(kube, name, "Reachable", ambiguous);
  assert.equal(conditionIn(unsure, "Ready")?.reason, "AmbiguousKubeconfig");
  await kube.delete(secrets, at(a));
  await untilCluster(kube, name, "Ready", ready);
});

test("a server that nobody vouches for is accepted where that is allowed", async (t) => {
  const cluster = { "certificate-authority-data": undefined, "insecure-skip-tls-verify": true };
  const { kube, name, source } = await connectCluster(t, kubeconfigLike(user.kubeconfig, { cluster }));
  await untilCluster(kube, name, "Ready", ready);
  await untilPullSecret(user.kube, copyAt("default", source));
});

test("after a restart the younger of two Clusters waits, though its cluster answers and the older's is slow", async (t) => {
  const prepared = await prepareCluster(t);
  const proxy = await ApiProxy.start({ server: user.plane.server, ca: user.plane.admin.ca });
  t.after(() => proxy[Symbol.asyncDispose]());
  const through = { server: proxy.url, "certificate-authority-data": base64(proxy.ca) };
  const { kube } = prepared;
  await writeKubeconfig(kube, prepared.kubeconfig, kubeconfigLike(user.kubeconfig, { cluster: through }));
  const older = await storeCluster(prepared);
  await untilCluster(kube, prepared.name, "Ready", ready);
  await untilOlder(older);
  const younger = await connectCluster(t, user.kubeconfig);
  const duplicate = { status: "True", reason: "DuplicateTarget" } as const;
  await untilCluster(kube, younger.name, "Stalled", duplicate);
  const from = await user.position();

  await operator.kill();
  const slow = proxy.fault(() => ({ kind: "hold" }));
  operator = await own.operator({ args });
  await slow.reached(1);
  // The younger one has another mind now, and is heard: still it has to wait.
  await kube.patch(
    clusters,
    { name: younger.name },
    { type: "merge", body: { spec: { humanReadableName: "Second" } } },
  );
  const told = await untilCluster(kube, younger.name, "Stalled", { ...duplicate, generation: 2 });
  assert.equal(conditionIn(told, "Reachable")?.status, "True");
  slow.lift();
  await createUserNamespace(t, user);
  await untilCluster(kube, prepared.name, "Ready", { ...ready, message: /^0 references in 5\/5/ });
  assert.deepEqual(await user.writes({ from }), []);
});
