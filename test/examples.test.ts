import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { secrets } from "../src/api/objects.ts";
import { adminKube, kubectl, removeQuietly } from "../src/testing/cluster.ts";
import { at, secretSyncs } from "../src/testing/objects.ts";
import { createSecret, deleteSecret } from "../src/testing/secrets.ts";
import {
  dockerConfigType,
  type Pod,
  pods,
  pullSecretsOf,
  type SidecarSet,
  untilSidecarSet,
} from "../src/testing/sidecars.ts";
import { whenAdmissionListens } from "../src/testing/syncs.ts";
import { untilGone, untilSecret } from "../src/testing/wait.ts";

// The manifests name these for everybody: this file is the only one that uses them, one example after the other.
const source = "kube-system/bootstrap-token-abcdef";
const copy = "default/synced-bootstrap-token";
const sync = { name: "bootstrap-token" };
const token = { "token-id": "abcdef", "token-secret": "0123456789abcdef" };

for (const strategy of ["watch", "poll"]) {
  test(`examples/secretsync/${strategy}.yaml works as it is`, async (t) => {
    const kube = await adminKube();
    t.after(() => removeQuietly(() => kube.delete(secrets, at(source))));
    t.after(async () => {
      await removeQuietly(() => kube.delete(secretSyncs, sync));
      await untilGone(kube, secretSyncs, sync);
    });
    await createSecret(kube, source, token, { type: "bootstrap.kubernetes.io/token" });
    await apply(`examples/secretsync/${strategy}.yaml`);

    const waited = await kubectl(["wait", "--for=condition=Sync", "secretsync/bootstrap-token", "--timeout=120s"]);
    assert.equal(waited.code, 0, waited.stderr);
    await untilSecret(kube, copy, token, { type: "bootstrap.kubernetes.io/token" });
    const { stdout } = await kubectl(["get", "secretsync", "bootstrap-token", "-o", "wide"]);
    assert.match(stdout, new RegExp(`bootstrap-token +${source} +True +1/1 +Synced +\\S+ +Synced +${strategy}`));
    assert.match(await apply(`examples/secretsync/${strategy}.yaml`), /unchanged/);

    await kube.delete(secretSyncs, sync);
    await untilGone(kube, secrets, at(copy));
  });
}

test("examples/sidecars/pull-secret.yaml works as it is", async (t) => {
  const manifest = "examples/sidecars/pull-secret.yaml";
  const kube = await adminKube();
  const [pod] = await roll(t, manifest, "test-sidecarset", "test-team");
  assert.deepEqual(
    pod?.spec.containers.map(({ name }) => name),
    ["sidecar1", "app"],
  );
  assert.deepEqual(pod && pullSecretsOf(pod), ["test-secret-namespace-test-secret"]);

  const credential = {
    auths: { "https://index.docker.io/v1/": { username: "somebody", password: "not a real password" } },
  };
  const values = { ".dockerconfigjson": JSON.stringify(credential) };
  await untilSecret(kube, "test-team/test-secret-namespace-test-secret", values, { type: dockerConfigType });
  await untilSidecarSet(kube, "test-sidecarset", "counts one Pod and one reference", countsOne);
  const { stdout } = await kubectl(["get", "sidecarset", "test-sidecarset", "-o", "wide"]);
  assert.match(stdout, /test-sidecarset +1 +1 +1 +1\/1 +\S+ +True +Injecting/);
  await apply(manifest);
  const applied = await untilSidecarSet(kube, "test-sidecarset", "is there", () => true);
  assert.equal(applied.metadata.generation, 1, "applying it again changes nothing");

  await deleteSecret(kube, "test-secret-namespace/test-secret");
  await untilGone(kube, secrets, at("test-team/test-secret-namespace-test-secret"));
});

test("examples/sidecars/native-sidecar.yaml works as it is", async (t) => {
  const [pod] = await roll(t, "examples/sidecars/native-sidecar.yaml", "test-log-shipper", "test-logs");
  assert.deepEqual(
    pod?.spec.initContainers?.map(({ name }) => name),
    ["log-folder", "log-shipper"],
  );
  assert.deepEqual(
    pod?.spec.containers.map(({ name }) => name),
    ["app"],
  );
  assert.ok(pod?.spec.volumes?.some(({ name }) => name === "shipped-logs"));
});

const countsOne = ({ status }: SidecarSet): boolean =>
  status?.matchedPods === 1 && status.updatedPods === 1 && status.readyPods === 1 && status.pullSecrets === "1/1";

/** Applies the manifest and resolves with the Pods that its Deployment has once its SidecarSet is known to everybody. */
async function roll(t: TestContext, manifest: string, set: string, namespace: string): Promise<readonly Pod[]> {
  t.after(() => kubectl(["delete", "--ignore-not-found", "--wait=false", "-f", manifest]));
  await apply(manifest);
  for (const command of [
    ["wait", "--for=condition=Accepted", `sidecarset/${set}`, "--timeout=120s"],
    ["-n", namespace, "rollout", "restart", "deployment/test-app"],
    ["-n", namespace, "rollout", "status", "deployment/test-app", "--timeout=120s"],
  ]) {
    const { code, stderr } = await kubectl(command);
    assert.equal(code, 0, stderr);
  }
  const found = await (await adminKube()).list<Pod>(pods, { namespace });
  return found.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

for (const manifest of ["deploy/rbac.yaml", "deploy/user-cluster-role.yaml", "deploy/latchkey.yaml", "deploy/crds"]) {
  test(`${manifest} is accepted by the API server, field for field`, async () => {
    const dryRun = ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict"];
    const { code, stderr } = await kubectl([...dryRun, "-f", manifest]);
    assert.equal(code, 0, stderr);
    assert.equal(stderr, "", "no warnings either");
  });
}

function apply(manifest: string): Promise<string> {
  return whenAdmissionListens(async () => {
    const { code, stdout, stderr } = await kubectl(["apply", "-f", manifest]);
    if (code !== 0) throw new Error(stderr);
    return stdout;
  });
}
