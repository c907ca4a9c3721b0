import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Secret, secrets } from "../../src/api/objects.ts";
import { createNamespace, kubectl, type Ran } from "../../src/testing/cluster.ts";
import { inlineCopyName, removeConfiguration, untilDefault } from "../../src/testing/defaults.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import { createPullSecret, untilPullSecret } from "../../src/testing/sidecars.ts";
import { whenAdmissionListens } from "../../src/testing/syncs.ts";
import { clusters, kubeconfigSecret, untilCluster, userCluster } from "../../src/testing/user-clusters.ts";
import { untilGone, untilSecret } from "../../src/testing/wait.ts";

const own = ownPlane(async (plane) => {
  await plane.operator();
});
const user = userCluster();

/** As they stand in the proposal, but for the kubeconfig, which Kubermatic would know. */
const clusterManifest = `apiVersion: kubermatic.k8c.io/v1
kind: Cluster
metadata:
  name: c1
  labels: { project-id: p1 }                       # optional, see rule 16
spec:
  kubeconfigSecretRef: { namespace: fleet, name: c1-kubeconfig }   # not needed with Kubermatic; see rule 35
  imagePullSecrets:
  - name: my-dockerhub-creds
    namespace: kubermatic
`;
const inlineText = `{
  "auths": {
    "quay.io": {
      "username": "<<DOCKERHUB_USERNAME>>",
      "password": "<<DOCKERHUB_PASSWORD>>"
    }
  }
}`;
const configurationManifest = `apiVersion: kubermatic.k8c.io/v1
kind: KubermaticConfiguration
metadata:
  name: mykubermatic
  namespace: kubermatic
spec:
  userCluster:
    imagePullSecret: |-
      {
        "auths": {
          "quay.io": {
            "username": "<<DOCKERHUB_USERNAME>>",
            "password": "<<DOCKERHUB_PASSWORD>>"
          }
        }
      }
`;

function apply(manifest: string): Promise<Ran> {
  return whenAdmissionListens(async () => {
    const ran = await kubectl(["apply", "-f", "-"], { input: manifest });
    if (ran.code !== 0) throw new Error(ran.stderr);
    return ran;
  });
}

/** Cells by the headings of their columns. */
async function rowOf(...args: readonly string[]): Promise<Readonly<Record<string, string>>> {
  const { stdout, stderr } = await kubectl(["get", ...args]);
  const [head = "", line = ""] = stdout.split("\n");
  const headings = [...head.matchAll(/\S+\s*/g)];
  assert.ok(headings.length > 0, stderr);
  return Object.fromEntries(
    headings.map(({ 0: heading, index }, at) => [
      heading.trim(),
      line.slice(index, at === headings.length - 1 ? undefined : index + heading.length).trim(),
    ]),
  );
}

test("both manifests of the proposal apply unchanged and do what they say", async (t) => {
  const kube = await own.kube;
  // Before the namespaces', for these hooks run in turn: without its kubeconfig nobody could clean up.
  t.after(async () => {
    await removeConfiguration(kube, "kubermatic/mykubermatic");
    await kube.delete(clusters, { name: "c1" });
    await untilGone(kube, clusters, { name: "c1" });
  });
  for (const name of ["kubermatic", "fleet"]) await createNamespace(t, name);
  await createPullSecret(kube, "kubermatic/my-dockerhub-creds", "dockerhub");
  await kube.create<Secret>(secrets, kubeconfigSecret("fleet/c1-kubeconfig", user.kubeconfig));

  const applied = await apply(clusterManifest);
  assert.deepEqual([applied.stdout, applied.stderr], ["cluster.kubermatic.k8c.io/c1 created\n", ""]);
  await untilCluster(kube, "c1", "Ready", { status: "True", reason: "Served" });
  for (const namespace of ["kube-system", "default"]) {
    await untilPullSecret(user.kube, `${namespace}/kubermatic-my-dockerhub-creds`, "dockerhub");
  }
  const waited = await kubectl(["wait", "--for=condition=Ready", "clusters.kubermatic.k8c.io/c1", "--timeout=60s"]);
  assert.equal(waited.code, 0, waited.stderr);
  assert.match((await apply(clusterManifest)).stdout, /unchanged/);

  const configured = await apply(configurationManifest);
  assert.equal(configured.stdout, "kubermaticconfiguration.kubermatic.k8c.io/mykubermatic created\n");
  assert.equal(configured.stderr, "");
  await untilDefault(kube, "kubermatic/mykubermatic", { status: "True", reason: "Valid" });
  assert.match((await apply(configurationManifest)).stdout, /unchanged/);

  const without = clusterManifest.replace(/ {2}imagePullSecrets:\n.*\n.*\n/, "");
  assert.match((await apply(without)).stdout, /configured/);
  const content = { ".dockerconfigjson": inlineText };
  await untilSecret(user.kube, `kube-system/${inlineCopyName}`, content, { type: "kubernetes.io/dockerconfigjson" });
  await untilGone(user.kube, secrets, { namespace: "default", name: "kubermatic-my-dockerhub-creds" });
  await untilCluster(kube, "c1", "Ready", { status: "True", reason: "Served" });

  await t.test("kubectl get shows what matters", async () => {
    const { AGE, ...row } = await rowOf("clusters.kubermatic.k8c.io", "c1");
    const served = { READY: "True", NAMESPACES: "4/4", FROM: "Global", MODE: "Policy", REACHABLE: "True" };
    assert.deepEqual(row, { NAME: "c1", ...served });
    assert.match(AGE ?? "", /\d/);
    const { AGE: _, ...wide } = await rowOf("clusters.kubermatic.k8c.io", "c1", "-o", "wide");
    assert.deepEqual(wide, {
      ...row,
      ...{ VERSION: wide.VERSION, REASON: "Served", UNINJECTED: wide.UNINJECTED },
    });
    assert.match(wide.VERSION ?? "", /^v1\.\d+\.\d+/);
    const { AGE: age, ...defaults } = await rowOf("kubermaticconfigurations", "-n", "kubermatic");
    assert.deepEqual(defaults, { NAME: "mykubermatic", DEFAULT: "True" });
    assert.match(age ?? "", /\d/);
  });
});

test("the columns stand in the order that is promised", async () => {
  const table = async (...args: readonly string[]) =>
    (await kubectl(["get", "crd", ...args, "-o", "jsonpath={.spec.versions[0].additionalPrinterColumns[*].name}"]))
      .stdout;
  const wide = "Version Reason Uninjected";
  assert.equal(await table("clusters.kubermatic.k8c.io"), `Ready Namespaces From Mode Reachable Age ${wide}`);
  assert.equal(await table("kubermaticconfigurations.kubermatic.k8c.io"), "Default Age");
  const names = ["get", "crd", "clusters.kubermatic.k8c.io", "-o", "jsonpath={.spec.names}"];
  assert.deepEqual(JSON.parse((await kubectl(names)).stdout), {
    ...{ kind: "Cluster", listKind: "ClusterList", plural: "clusters", singular: "cluster" },
  });
});

const explained = [
  ["clusters.kubermatic.k8c.io.spec", /disableDefaultImagePullSecrets[\s\S]*excludedNamespaces[\s\S]*home/],
  ["clusters.kubermatic.k8c.io.spec.kubeconfigSecretRef", /namespace.*-required-/],
  ["clusters.kubermatic.k8c.io.spec.injection.mode", /ENUM:\s+Auto\s+Policy\s+ServiceAccount\s+None/],
  ["clusters.kubermatic.k8c.io.status.namespaces.summary", /DESCRIPTION:\n\s+\S/],
  ["kubermaticconfigurations.spec.userCluster", /imagePullSecret[\s\S]*imagePullSecretRef/],
] as const;

test("kubectl explain tells what every field means", async () => {
  for (const [path, words] of explained) assert.match(await explain(path), words);
  for (const kind of ["clusters.kubermatic.k8c.io", "kubermaticconfigurations"]) {
    assert.doesNotMatch(await explain(`${kind}.spec`), /<no description>/);
  }
});

/** The API server publishes the schema of a new CRD some seconds after it serves it. */
async function explain(...args: readonly string[]): Promise<string> {
  for (const deadline = performance.now() + 60_000; ; await sleep(500)) {
    const { code, stdout, stderr } = await kubectl(["explain", ...args]);
    if (code === 0) return stdout;
    if (performance.now() > deadline) throw new Error(stderr);
  }
}

test("neither kind is in the roles that people are given for their namespaces", async () => {
  for (const role of ["admin", "edit", "view"]) {
    const { stdout } = await kubectl(["get", "clusterrole", role, "-o", "json"]);
    assert.equal(stdout.includes("kubermatic.k8c.io"), false, `${role} must not`);
    assert.ok(stdout.includes("configmaps"), "it is a role");
  }
});
