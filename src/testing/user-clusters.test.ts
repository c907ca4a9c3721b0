import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { userClusterKubeconfig } from "../../tools/local/user-cluster.ts";
import { namespaces, type Resource, type Secret, secrets } from "../api/objects.ts";
import { Kube } from "../kube/client.ts";
import { connectionOfKubeconfig } from "../kube/kubeconfig.ts";
import { configMaps, secret } from "./objects.ts";
import { assertRefused } from "./refused.ts";
import { pods, pullSecretsOf, serviceAccounts, untilPullSecret } from "./sidecars.ts";
import { createUserNamespace, createUserPod, dockerSecret, userCluster } from "./user-clusters.ts";

const noCreate = { verb: "create", resource: "secrets" };
const user = userCluster();
const older = userCluster({ emulatedVersion: "1.33", without: [noCreate] });

const ours = "latchkey-pull-secrets";
const named = { fieldSelector: `metadata.name=${ours}` };
const policies: Resource = {
  group: "admissionregistration.k8s.io",
  version: "v1",
  plural: "mutatingadmissionpolicies",
  kind: "MutatingAdmissionPolicy",
  namespaced: false,
};

/** The user cluster as Latchkey sees it. */
async function connectBy(t: TestContext, kubeconfig: string): Promise<Kube> {
  const connection = await connectionOfKubeconfig(kubeconfig, { allowFiles: false, allowExec: false });
  const kube = new Kube(connection, { userAgent: "latchkey/test" });
  t.after(() => kube[Symbol.asyncDispose]());
  return kube;
}

test("the published role gives what serving a user cluster takes, and no more", async (t) => {
  const kube = await connectBy(t, user.kubeconfig);
  const app = await createUserNamespace(t, user);

  assert.ok((await kube.list(namespaces)).some(({ metadata }) => metadata.name === app));
  await assertRefused(kube.list(pods), 403, /cannot list resource "pods"/);
  await assertRefused(kube.delete(namespaces, { name: app }), 403, /cannot delete resource "namespaces"/);
  await assertRefused(kube.delete(serviceAccounts, { namespace: app, name: "default" }), 403, /cannot delete/);

  for (const namespace of [app, "kube-system"]) {
    await kube.create<Secret>(secrets, secret(`${namespace}/copy`));
    assert.equal(await kube.delete(secrets, { namespace, name: "copy" }), true);
  }
});

test("of policies and ConfigMaps the published role gives its own ones only", async (t) => {
  const kube = await connectBy(t, user.kubeconfig);
  const system = "kube-system";

  assert.deepEqual(await kube.list(policies, named), []);
  await assertRefused(kube.list(policies), 403, /cannot list/);
  await kube.apply(configMaps, { metadata: { namespace: system, name: ours } }, { fieldManager: "test" });
  assert.equal((await kube.list(configMaps, { namespace: system, ...named })).length, 1);
  await assertRefused(kube.list(configMaps, { namespace: system }), 403, /cannot list/);
  await assertRefused(kube.list(configMaps, { namespace: "default", ...named }), 403, /cannot list/);
  assert.equal(await kube.delete(configMaps, { namespace: system, name: ours }), true);
});

test("an older user cluster has no policies", async () => {
  assert.equal(await user.kube.serves(policies), true);
  assert.equal(await older.kube.serves(policies), false);
});

test("a right that was left out is missing until the whole role is applied", async (t) => {
  const kube = await connectBy(t, older.kubeconfig);
  const app = await createUserNamespace(t, older);
  const create = () => kube.create<Secret>(secrets, secret(`${app}/copy`));

  await assertRefused(create(), 403, /cannot create resource "secrets"/);
  assert.deepEqual(await kube.list(secrets, { namespace: app }), []);
  await userClusterKubeconfig(older.plane);
  await create();
  await userClusterKubeconfig(older.plane, { without: [noCreate] });
  await assertRefused(kube.create<Secret>(secrets, secret(`${app}/other`)), 403, /cannot create resource "secrets"/);
});

test("a right that the role never gave cannot be left out", async () => {
  const starting = userClusterKubeconfig(user.plane, { without: [{ verb: "create", resource: "secret" }] });
  await assert.rejects(starting, /does not give create on secret$/);
});

test("the writes of the operator in a user cluster are told from those of a test", async (t) => {
  const kube = await connectBy(t, user.kubeconfig);
  const app = await createUserNamespace(t, user);
  const from = await user.position();
  await user.kube.create<Secret>(secrets, dockerSecret(`${app}/theirs`));
  await kube.create<Secret>(secrets, dockerSecret(`${app}/ours`));

  const writes = await user.writes({ from });
  assert.deepEqual(
    writes.filter(({ namespace }) => namespace === app).map(({ verb, name }) => `${verb} ${name}`),
    ["create ours"],
  );
});

for (const [title, cluster] of Object.entries({ "a user cluster": user, "an older one": older })) {
  test(`tests create what they need in ${title}`, async (t) => {
    const app = await createUserNamespace(t, cluster, { labels: { "latchkey.dev/inject": "false" } });
    const spec = { imagePullSecrets: [{ name: "own" }] };
    assert.deepEqual(pullSecretsOf(await createUserPod(t, cluster, `${app}/web`, { spec })), ["own"]);

    const manifest = JSON.stringify({ apiVersion: "v1", kind: "Secret", ...dockerSecret(`${app}/registry`) });
    const applied = await cluster.kubectl(["apply", "-f", "-"], { input: manifest });
    assert.equal(applied.code, 0, applied.stderr);
    await untilPullSecret(cluster.kube, `${app}/registry`);
    assert.equal((await cluster.kubectl(["get", "nothing"])).code, 1);
  });
}
