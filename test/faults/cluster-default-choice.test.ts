import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { namespaces as namespaceKind, secrets } from "../../src/api/objects.ts";
import { auditPosition, operatorWrites } from "../../src/testing/audit.ts";
import { testNamespaces } from "../../src/testing/cluster.ts";
import {
  changeConfiguration,
  createConfiguration,
  inlineCopyName,
  inlineName,
  inlineText,
  removeConfiguration,
  untilDefault,
} from "../../src/testing/defaults.ts";
import { EventsOf } from "../../src/testing/events.ts";
import { sampleIn } from "../../src/testing/metrics.ts";
import { metricsOf } from "../../src/testing/modes.ts";
import { at } from "../../src/testing/objects.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import { getSecret, theSecret } from "../../src/testing/secrets.ts";
import { createPullSecret, literalName, untilPullSecret } from "../../src/testing/sidecars.ts";
import {
  type Cluster,
  clusters,
  createUserNamespace,
  kubermaticConfigurations,
  serveCluster,
  untilCluster,
  userCluster,
} from "../../src/testing/user-clusters.ts";
import { until, untilGone } from "../../src/testing/wait.ts";
import type { Operator } from "../../tools/local/operator.ts";

const own = ownPlane(async (plane) => {
  const kube = await plane.kube;
  await kube.create(namespaceKind, { metadata: { name: "kubermatic" } });
});
const user = userCluster();

const valid = { status: "True", reason: "Valid" } as const;

/** Goes by the default; the operator ends after it. */
async function served(t: TestContext, operator: Operator): Promise<Cluster> {
  const { cluster, kube } = await serveCluster(t, { user });
  t.after(() => operator.kill());
  return await untilCluster(kube, cluster.metadata.name, "Reachable", { status: "True" });
}

async function untilFrom({ metadata }: Cluster, from: string): Promise<void> {
  const isFrom = (cluster: Cluster | undefined) => cluster?.status?.credentialsFrom === from;
  await until<Cluster>(await own.kube, clusters, { name: metadata.name }, `has credentials from ${from}`, isFrom);
}

async function untilEverywhere(t: TestContext, name: string, token: string): Promise<void> {
  await untilPullSecret(user.kube, `default/${name}`, token);
  await untilPullSecret(user.kube, `${await createUserNamespace(t, user)}/${name}`, token);
}

const untilRevoked = (name: string) => untilGone(user.kube, secrets, at(`default/${name}`));

test("a configuration counts in one namespace only", async (t) => {
  const kube = await own.kube;
  const { namespaces } = await testNamespaces(t, 1);
  const [elsewhere] = namespaces;
  const operator = await own.operator();
  const cluster = await served(t, operator);
  const wrong = `${elsewhere}/there`;
  const created = await createConfiguration(t, wrong, { imagePullSecret: inlineText("there") });
  const events = new EventsOf(t, kube, created);
  const message = "only a configuration in namespace kubermatic counts";
  await untilDefault(kube, wrong, { status: "False", reason: "WrongNamespace", message });
  assert.deepEqual(await events.until(1), ["Warning DefaultInvalid"]);
  assert.equal(
    sampleIn(await metricsOf(operator), "latchkey_default_valid"),
    undefined,
    "it is not the one that counts",
  );

  const right = "kubermatic/here";
  await createConfiguration(t, right, { imagePullSecret: inlineText("here") });
  await untilDefault(kube, right, valid);
  await untilEverywhere(t, inlineCopyName, "here");
  assert.equal(await getSecret(kube, `${elsewhere}/${inlineName}`), undefined);
  await untilFrom(cluster, "Global");

  await t.test("which is a matter of a flag", async () => {
    await operator.kill();
    await using other = await own.operator({ args: [`--kubermatic-namespace=${elsewhere}`] });
    await untilDefault(kube, wrong, valid);
    await untilDefault(kube, right, { status: "False", reason: "WrongNamespace", message: new RegExp(elsewhere) });
    await untilEverywhere(t, `${elsewhere}-${inlineName}`, "there");
    await untilRevoked(inlineCopyName);
    await untilGone(kube, secrets, at(`kubermatic/${inlineName}`));
    assert.equal(sampleIn(await metricsOf(other), "latchkey_default_valid"), 1);
    await kube.delete(clusters, cluster.metadata);
    await untilGone(kube, clusters, cluster.metadata);
  });
});

test("of several configurations the oldest counts, and the next takes over without a gap", async (t) => {
  const kube = await own.kube;
  const operator = await own.operator();
  const [first, second] = ["kubermatic/older", "kubermatic/brand-new"] as const;
  await createConfiguration(t, first, { imagePullSecret: inlineText("older") });
  // Times of creation are told in whole seconds, and of one second the first by name counts.
  await sleep(1_100);
  const created = await createConfiguration(t, second, { imagePullSecret: inlineText("new") });
  const events = new EventsOf(t, kube, created);
  await untilDefault(kube, first, valid);
  await untilDefault(kube, second, { status: "False", reason: "NotTheFirst", message: /\bolder\b/ });
  const cluster = await served(t, operator);
  await untilEverywhere(t, inlineCopyName, "older");
  assert.equal(sampleIn(await metricsOf(operator), "latchkey_default_valid"), 1);
  const copy = await theSecret(user.kube, `default/${inlineCopyName}`);

  await t.test("one that does not count may change as it likes", async () => {
    await changeConfiguration(kube, second, { userCluster: { imagePullSecret: "{" } });
    await untilDefault(kube, second, { status: "False", reason: "NotTheFirst" });
    await changeConfiguration(kube, second, { userCluster: { imagePullSecret: inlineText("new") } });
    await untilDefault(kube, second, { status: "False", reason: "NotTheFirst" });
    await untilEverywhere(t, inlineCopyName, "older");
  });

  // Not with its Secret, as the helper would: the garbage collector comes when it likes.
  await kube.delete(kubermaticConfigurations, at(first));
  await untilDefault(kube, second, valid);
  await untilEverywhere(t, inlineCopyName, "new");
  await untilFrom(cluster, "Global");
  const source = await theSecret(kube, `kubermatic/${inlineName}`);
  assert.deepEqual(
    source.metadata.ownerReferences?.map(({ uid }) => uid),
    [created.metadata.uid],
  );
  assert.equal((await theSecret(user.kube, `default/${inlineCopyName}`)).metadata.uid, copy.metadata.uid);
  assert.deepEqual(await events.until(2), ["Warning DefaultInvalid", "Normal DefaultChanged"]);
});

test("without any configuration the flag counts, and one that says nothing is one", async (t) => {
  const kube = await own.kube;
  const { namespaces } = await testNamespaces(t, 1);
  const fallback = `${namespaces[0]}/fallback`;
  const name = literalName(fallback);
  await createPullSecret(kube, fallback, "fallback");
  const operator = await own.operator({ args: [`--default-pull-secret=${fallback}`] });
  const cluster = await served(t, operator);
  await untilEverywhere(t, name, "fallback");
  await untilFrom(cluster, "Global");

  await createConfiguration(t, `${namespaces[0]}/elsewhere`, { imagePullSecret: inlineText("no") });
  await untilDefault(kube, `${namespaces[0]}/elsewhere`, { reason: "WrongNamespace" });
  await untilEverywhere(t, name, "fallback");

  const key = "kubermatic/empty";
  await createConfiguration(t, key);
  await untilDefault(kube, key, { status: "True", reason: "NotSet" });
  await untilRevoked(name);
  await untilFrom(cluster, "None");
  await changeConfiguration(kube, key, { userCluster: { imagePullSecret: "{" } });
  await untilFrom(cluster, "Global");
  await untilCluster(kube, cluster.metadata.name, "PullSecretsReady", { status: "False" });
  assert.equal(await getSecret(user.kube, `default/${name}`), undefined, "a broken default does not give way");
  await removeConfiguration(kube, key);
  await untilEverywhere(t, name, "fallback");
});

test("a restart changes nothing for clusters that go by the default", async (t) => {
  const kube = await own.kube;
  const operator = await own.operator();
  await createConfiguration(t, "kubermatic/mine", { imagePullSecret: inlineText("one") });
  const cluster = await served(t, operator);
  await untilEverywhere(t, inlineCopyName, "one");
  await untilCluster(kube, cluster.metadata.name, "Ready", { status: "True" });
  await operator.kill();

  const [home, away] = [await auditPosition(kube, "default"), await user.position()];
  const proxy = await own.proxy();
  // The Clusters are heard of before the configurations.
  const rule = proxy.fault(({ path }) => (path.includes("/kubermaticconfigurations") ? { kind: "hold" } : undefined));
  const starting = own.operator({ through: proxy });
  t.after(async () => (await starting).kill());
  await rule.reached(1);
  // Long enough for a pass over the Clusters and for the grace time of their copies, if there were one.
  await sleep(5_000);
  rule.lift();
  await starting;
  const restartedAt = new Date().toISOString();
  const app = await createUserNamespace(t, user);
  await untilPullSecret(user.kube, `${app}/${inlineCopyName}`, "one");
  const writes = (await user.writes({ from: away })).filter(({ namespace }) => namespace !== app);
  assert.deepEqual(writes, []);
  // One namespace more is told then.
  const atHome = (await operatorWrites(kube, "default", { from: home })).filter(({ at }) => at < restartedAt);
  assert.deepEqual(
    atHome.filter(
      ({ resource }) => !["validatingwebhookconfigurations", "mutatingwebhookconfigurations"].includes(resource),
    ),
    [],
  );
});

for (const flag of ["--kubermatic-namespace=A", "--default-pull-secret=quay", "--default-pull-secret=a/B"]) {
  test(`refused at start, and named: ${flag}`, async () => {
    await assert.rejects(own.operator({ args: [flag] }), new RegExp(flag.split("=")[0] ?? ""));
  });
}
