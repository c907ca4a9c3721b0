import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type Secret, secrets } from "../../src/api/objects.ts";
import { kubectl } from "../../src/testing/cluster.ts";
import { inlineCopyName, untilDefault } from "../../src/testing/defaults.ts";
import { secret } from "../../src/testing/objects.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import { createPullSecret, untilPullSecret } from "../../src/testing/sidecars.ts";
import { whenAdmissionListens } from "../../src/testing/syncs.ts";
import {
  type Cluster,
  clusters,
  kubeconfigSecret,
  untilCluster,
  userCluster,
} from "../../src/testing/user-clusters.ts";
import { until } from "../../src/testing/wait.ts";

// The manifests name these for everybody, and one of them is the home itself: a home of their own, one example after the other.
const own = ownPlane(async (plane) => {
  await plane.operator();
});
const user = userCluster();

const copy = "kubermatic-my-dockerhub-creds";

test("examples/clusters/cluster.yaml works as it is", async (t) => {
  removeClustersAfter(t);
  const kube = await own.kube;
  await createNamespace(t, "fleet");
  await kube.create<Secret>(secrets, kubeconfigSecret("fleet/c1-kubeconfig", user.kubeconfig));
  await user.kubectl(["create", "namespace", "sandbox"]);

  await apply(t, "cluster.yaml");
  const waited = await kubectl(["wait", "--for=condition=Ready", "clusters.kubermatic.k8c.io/c1", "--timeout=120s"]);
  assert.equal(waited.code, 0, waited.stderr);
  const { stdout } = await kubectl(["get", "clusters.kubermatic.k8c.io", "c1"]);
  assert.match(stdout, /c1 +True +4\/4 +Cluster +Policy +True /);
  assert.deepEqual(await namespacesWith(copy), ["default", "kube-node-lease", "kube-public", "kube-system"]);
});

test("examples/clusters/default.yaml is the default of cluster-with-cluster-api.yaml", async (t) => {
  removeClustersAfter(t);
  const kube = await own.kube;
  await createNamespace(t, "capi-clusters");
  await kube.create<Secret>(secrets, secret("capi-clusters/c1-kubeconfig", { value: user.kubeconfig }));

  await apply(t, "default.yaml");
  await untilDefault(kube, "kubermatic/mykubermatic", { status: "True", reason: "Valid" });
  await apply(t, "cluster-with-cluster-api.yaml");
  const ready = await untilCluster(kube, "c1", "Ready", { status: "True", reason: "Served" });
  assert.equal(ready.status?.credentialsFrom, "Global");
  assert.ok((await namespacesWith("kubermatic-fleet-default")).includes("kube-system"));
});

test("examples/clusters/home.yaml serves the home", async (t) => {
  removeClustersAfter(t);
  const kube = await own.kube;
  await createNamespace(t, "kubermatic");
  await createPullSecret(kube, "kubermatic/my-dockerhub-creds");
  await apply(t, "home.yaml");
  await untilCluster(kube, "home", "Ready", { status: "True", reason: "Served" });
  for (const namespace of ["kube-system", "kubermatic"]) await untilPullSecret(kube, `${namespace}/${copy}`);
});

test("the manifests of the proposal work as they are", async (t) => {
  removeClustersAfter(t);
  const kube = await own.kube;
  for (const name of ["kubermatic", "cluster-c1"]) await createNamespace(t, name);
  await kube.create<Secret>(secrets, kubeconfigSecret("cluster-c1/admin-kubeconfig", user.kubeconfig));

  await apply(t, "proposal-kubermaticconfiguration.yaml");
  await untilDefault(kube, "kubermatic/mykubermatic", { status: "True", reason: "Valid" });
  await createPullSecret(kube, "kubermatic/my-dockerhub-creds");
  await apply(t, "proposal-cluster.yaml");
  await untilCluster(kube, "c1", "Ready", { status: "True", reason: "Served" });
  assert.ok((await namespacesWith(copy)).includes("kube-system"));

  const body = { spec: { imagePullSecrets: null } };
  await kube.patch(clusters, { name: "c1" }, { type: "merge", body });
  await until<Cluster>(kube, clusters, { name: "c1" }, "is served by the default", (cluster) =>
    (cluster?.status?.imagePullSecrets ?? []).some(({ copyName, copies }) => copyName === inlineCopyName && copies > 3),
  );
});

async function apply(t: TestContext, name: string): Promise<void> {
  const manifest = `examples/clusters/${name}`;
  await whenAdmissionListens(async () => {
    const { code, stderr } = await kubectl(["apply", "-f", manifest]);
    if (code !== 0) throw new Error(stderr);
    assert.equal(stderr, "", "no warnings");
  });
  t.after(() => kubectl(["delete", "--ignore-not-found", "-f", manifest]));
}

/** Waits for its end: the next example brings it again. */
async function createNamespace(t: TestContext, name: string): Promise<void> {
  const { code, stderr } = await kubectl(["create", "namespace", name]);
  assert.equal(code, 0, stderr);
  t.after(() => kubectl(["delete", "namespace", name, "--ignore-not-found"]));
}

/** Before all other hooks, which run in turn: without its kubeconfig nobody could clean up. */
function removeClustersAfter(t: TestContext): void {
  t.after(() => kubectl(["delete", "clusters.kubermatic.k8c.io", "--all"]));
}

async function namespacesWith(name: string): Promise<readonly string[]> {
  const found = await user.kube.listMetadata(secrets, { fieldSelector: `metadata.name=${name}` });
  return found.map(({ metadata }) => metadata.namespace ?? "").sort();
}
