import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { crds, type KubeObject, namespaces as namespaceKind } from "../../src/api/objects.ts";
import type { Kube } from "../../src/kube/client.ts";
import { auditPosition, operatorWrites } from "../../src/testing/audit.ts";
import { createNamespace, testNamespaces, uniqueName } from "../../src/testing/cluster.ts";
import {
  changeCluster,
  copiesOf,
  createCluster,
  createKubeconfig,
  createSource,
  injectionIn,
  uidsOf,
} from "../../src/testing/cluster-scenes.ts";
import { kubeconfigLike } from "../../src/testing/connections.ts";
import { givenIn, untilGiven } from "../../src/testing/injection.ts";
import { at } from "../../src/testing/objects.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import { setValues, theSecret } from "../../src/testing/secrets.ts";
import {
  configurations,
  dockerConfig,
  literalName,
  pod,
  pods,
  serviceAccounts,
  untilPullSecret,
} from "../../src/testing/sidecars.ts";
import {
  type Cluster,
  type ClusterSpec,
  clusters,
  createUserNamespace,
  kubermaticConfigurations,
  untilCluster,
  userCluster,
} from "../../src/testing/user-clusters.ts";
import { until, untilGone } from "../../src/testing/wait.ts";
import type { Operator } from "../../tools/local/operator.ts";

const user = userCluster();
const old = userCluster({ emulatedVersion: "1.33" });
const own = ownPlane();

interface Scene {
  readonly kube: Kube;
  readonly operator: Operator;
  readonly source: string;
  readonly created: readonly Cluster[];
  readonly uids: readonly Readonly<Record<string, string>>[];
}

const everywhere = async ({ kube, source }: Pick<Scene, "kube" | "source">) =>
  (await Promise.all([kube, user.kube, old.kube].map((each) => copiesOf(each, source)))).map(uidsOf);

async function serve(t: TestContext, kube: Kube, name: string, spec: ClusterSpec, kubeconfig?: string) {
  const secret = kubeconfig && (await createKubeconfig(kube, kubeconfig));
  return createCluster(t, kube, { name, spec, ...(secret && { kubeconfig: secret }) });
}

/** The home, a cluster in each mode, and what else is asked for, all served by one operator. */
async function install(t: TestContext): Promise<Scene> {
  const operator = await own.operator();
  const kube = await own.kube;
  const source = await createSource(t, kube);
  const spec = { imagePullSecrets: [at(source)] };
  const created = [
    await serve(t, kube, "home", { ...spec, home: true }),
    await serve(t, kube, "policy", spec, user.kubeconfig),
    await serve(t, kube, "accounts", spec, old.kubeconfig),
  ];
  for (const { metadata } of created) await untilCluster(kube, metadata.name, "Ready", { status: "True" });
  return { kube, operator, source, created, uids: await everywhere({ kube, source }) };
}

const deadServer = (kubeconfig: string) => kubeconfigLike(kubeconfig, { cluster: { server: "https://127.0.0.1:1" } });

async function assertNothingInTheWay(t: TestContext, { kube, source, created }: Scene): Promise<void> {
  for (const each of [kube, user.kube, old.kube]) assert.deepEqual(await injectionIn(each), []);
  const webhooks = await Promise.all(Object.values(configurations).map((kind) => kube.list<KubeObject>(kind)));
  assert.deepEqual(webhooks.flat(), []);
  assert.equal((await theSecret(kube, source)).metadata.labels?.["latchkey.dev/source"], undefined);
  const app = uniqueName("test");
  await createNamespace(t, app);
  const teams = [
    [kube, app] as const,
    ...(await Promise.all([user, old].map(async (each) => [each.kube, await createUserNamespace(t, each)] as const))),
  ];
  for (const [each, namespace] of teams) {
    await until(each, serviceAccounts, { namespace, name: "default" }, "exists", (seen) => seen !== undefined);
    assert.deepEqual(await givenIn(each, namespace), []);
    await each.create(pods, pod(`${namespace}/web`));
    await each.delete(pods, { namespace, name: "web" });
    await each.delete(namespaceKind, { name: namespace });
    await untilGone(each, namespaceKind, { name: namespace });
  }
  for (const { metadata } of created) {
    assert.deepEqual((await kube.get(clusters, metadata))?.metadata.finalizers ?? [], []);
  }
}

test("uninstall takes everything out of all clusters but the copies, and an operator installed again goes on with them", async (t) => {
  const scene = await install(t);
  const { kube, operator, source, uids } = scene;
  const refused = await own.latchkey("uninstall");
  assert.equal(refused.code, 1);
  assert.match(refused.stdout, /The operator is running/);
  assert.deepEqual(await injectionIn(user.kube), ["policy", "binding", "record"]);

  await operator.stop();
  const from = await auditPosition(kube, "default");
  const done = await own.latchkey("uninstall");
  assert.equal(done.code, 0, done.stdout + done.stderr);
  for (const line of [
    /^MutatingAdmissionPolicy latchkey-pull-secrets deleted$/m,
    /^Cluster policy: MutatingAdmissionPolicyBinding latchkey-pull-secrets deleted$/m,
    /^Cluster accounts: entries removed from \d+ ServiceAccounts$/m,
    /^finalizers removed from Cluster home$/m,
    new RegExp(`^label removed from Secret ${source}$`, "m"),
  ]) {
    assert.match(done.stdout, line);
  }
  const writes = (await operatorWrites(kube, "default", { from })).map(({ resource }) => resource);
  const others = writes.filter((resource) => !resource.endsWith("webhookconfigurations"));
  assert.deepEqual(writes.slice(-others.length), others, "webhooks come first");
  await assertNothingInTheWay(t, scene);
  assert.deepEqual(await everywhere(scene), uids);
  const again = await own.latchkey("uninstall");
  assert.equal(again.code, 0, again.stdout + again.stderr);

  await setValues(kube, source, dockerConfig("robot", "two"));
  const next = await own.operator();
  for (const { metadata } of scene.created) await untilCluster(kube, metadata.name, "Ready", { status: "True" });
  for (const each of [kube, user.kube, old.kube])
    await untilPullSecret(each, `kube-system/${literalName(source)}`, "two");
  const after = await everywhere(scene);
  for (const [index, before] of uids.entries()) assert.deepEqual({ ...after[index], ...before }, after[index]);
  await untilGiven(user.kube, "default", [literalName(source)]);
  for (const { metadata } of scene.created) {
    await kube.delete(clusters, { name: metadata.name });
    await untilGone(kube, clusters, { name: metadata.name });
  }
  await next.stop();
});

test("uninstall names the clusters it cannot reach and says that by its exit code; the others are done", async (t) => {
  const scene = await install(t);
  const { kube, source, operator } = scene;
  await changeCluster(kube, scene.created[2]!, { pause: true });
  const dead = await serve(t, kube, "dead", { imagePullSecrets: [at(source)] }, deadServer(user.kubeconfig));
  const lost = await serve(t, kube, "lost", { imagePullSecrets: [at(source)] });
  await untilCluster(kube, "dead", "Reachable", { status: "False", reason: "Unreachable" });
  await untilCluster(kube, "lost", "Reachable", { status: "False", reason: "KubeconfigMissing" });
  await operator.kill();
  const done = await own.latchkey("uninstall", "--copies=delete");
  assert.equal(done.code, 1, done.stdout + done.stderr);
  assert.match(done.stdout, /^left: Cluster dead: .*127\.0\.0\.1:1\b.*connection refused/m);
  assert.match(done.stdout, /^left: Cluster lost: no kubeconfig in /m);
  assert.equal(done.stdout.match(/^left: /gm)?.length, 2);
  await assertNothingInTheWay(t, { ...scene, created: [...scene.created, dead, lost] });
  assert.deepEqual(await everywhere(scene), [{}, {}, {}]);

  for (const name of ["dead", "lost", "home", "policy", "accounts"]) {
    await kube.delete(clusters, { name });
    await untilGone(kube, clusters, { name });
  }
});

test("uninstall --crds=delete: the Clusters go too, and what they had made stays as Secrets like any other", async (t) => {
  const scene = await install(t);
  const { kube, source, operator, uids } = scene;
  await operator.stop();
  const done = await own.latchkey("uninstall", "--crds=delete");
  assert.equal(done.code, 0, done.stdout + done.stderr);
  for (const plural of [clusters.plural, kubermaticConfigurations.plural]) {
    await untilGone(kube, crds, { name: `${plural}.kubermatic.k8c.io` });
  }
  for (const [index, each] of [kube, user.kube, old.kube].entries()) {
    assert.equal((await copiesOf(each, source)).size, 0, "no marks");
    for (const [namespace, uid] of Object.entries(uids[index] ?? {})) {
      const copy = await untilPullSecret(each, `${namespace}/${literalName(source)}`, "one");
      assert.equal(copy.metadata.uid, uid);
      await each.delete(
        { group: "", version: "v1", plural: "secrets", kind: "Secret", namespaced: true },
        { namespace, name: literalName(source) },
      );
    }
    assert.deepEqual(await givenIn(each, "default").catch(() => []), []);
  }
  // For the cleaning up after the test.
  await own.latchkey("crds", "--apply");
});

test("status tells of clusters that are served, paused and out of reach, as a table and as JSON", async (t) => {
  const { kube } = await testNamespaces(t, 1);
  const operator = await own.operator();
  const source = await createSource(t, kube);
  const spec = { imagePullSecrets: [at(source)] };
  await serve(t, kube, "good", spec, user.kubeconfig);
  await serve(t, kube, "resting", { ...spec, pause: true, pauseReason: "a holiday" }, old.kubeconfig);
  await serve(t, kube, "dead", { disableDefaultImagePullSecrets: true }, deadServer(user.kubeconfig));
  await untilCluster(kube, "good", "Ready", { status: "True" });
  await untilCluster(kube, "resting", "Ready", { reason: "SpecSaysPaused" });
  await untilCluster(kube, "dead", "Ready", { reason: "Unreachable" });

  const table = await own.latchkey("status");
  const rowOf = (name: string) => table.stdout.split("\n").find((line) => line.trim().startsWith(`${name} `)) ?? "";
  assert.match(table.stdout, /CLUSTER +READY +NAMESPACES +FROM +MODE +REACHABLE +VERSION/);
  assert.match(rowOf("good"), /good +True +\d+\/\d+ +Cluster +Policy +True +v1\.36/);
  assert.match(rowOf("resting"), /resting +False .*ServiceAccount +True/);
  assert.match(rowOf("dead"), /dead +False +None +.*False/);
  assert.match(table.stdout, /Cluster\/resting.*SpecSaysPaused.*a holiday/);
  assert.match(table.stdout, /Cluster\/dead.*Unreachable.*https:\/\/127\.0\.0\.1:1/);

  const { stdout } = await own.latchkey("status", "-o", "json");
  const report = JSON.parse(stdout) as {
    features: { name: string; counts: { what: string; count: number }[]; table?: { rows: string[][] } }[];
    problems: { object: string; reason: string }[];
  };
  const feature = report.features.find(({ name }) => name === "clusters");
  assert.deepEqual(
    feature?.table?.rows.map(([name, ready]) => [name, ready]),
    [
      ["dead", "False"],
      ["good", "True"],
      ["resting", "False"],
    ],
  );
  const counts = Object.fromEntries(feature?.counts.map(({ what, count }) => [what, count]) ?? []);
  assert.equal(counts.Clusters, 3);
  assert.equal(counts["Clusters served"], 1);
  const problems = report.problems.map(({ object, reason }) => `${object} ${reason}`);
  for (const problem of ["Cluster/dead Unreachable", "Cluster/resting SpecSaysPaused"]) {
    assert.ok(problems.includes(problem), problems.join());
  }
  assert.equal(
    problems.some((problem) => problem.startsWith("Cluster/good")),
    false,
  );
  await kube.patch(clusters, { name: "dead" }, { type: "merge", body: { spec: { pause: true } } });
  for (const name of ["good", "resting", "dead"]) {
    await kube.delete(clusters, { name });
    await untilGone(kube, clusters, { name });
  }
  await operator.stop();
});
