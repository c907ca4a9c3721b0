import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { namespaces as namespaceKind, secrets } from "../../src/api/objects.ts";
import { kubectl, testNamespaces } from "../../src/testing/cluster.ts";
import {
  changeConfiguration,
  createConfiguration,
  inlineCopyName,
  inlineName,
  inlineText,
  untilDefault,
} from "../../src/testing/defaults.ts";
import { EventsOf } from "../../src/testing/events.ts";
import { untilGiven } from "../../src/testing/injection.ts";
import { sampleIn } from "../../src/testing/metrics.ts";
import { metricsOf } from "../../src/testing/modes.ts";
import { at } from "../../src/testing/objects.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import { refuseSecrets } from "../../src/testing/refusals.ts";
import { createSecret, deleteSecret, getSecret, patchSecret, setValues, theSecret } from "../../src/testing/secrets.ts";
import {
  createPullSecret,
  dockerConfig,
  dockerConfigType,
  literalName,
  untilPullSecret,
} from "../../src/testing/sidecars.ts";
import {
  type Cluster,
  type ClusterSpec,
  clusters,
  createUserNamespace,
  kubermaticConfigurations,
  serveCluster,
  type UserCluster,
  untilCluster,
  userCluster,
} from "../../src/testing/user-clusters.ts";
import { until, untilGone } from "../../src/testing/wait.ts";
import type { Operator } from "../../tools/local/operator.ts";

let operator: Operator;
const own = ownPlane(async (plane) => {
  const kube = await plane.kube;
  await kube.create(namespaceKind, { metadata: { name: "kubermatic" } });
  operator = await plane.operator();
});
const user = userCluster();
const other = userCluster();

const key = "kubermatic/mykubermatic";
const source = `kubermatic/${inlineName}`;
const valid = { status: "True", reason: "Valid" } as const;
const field = "spec.userCluster.imagePullSecret";

const isDefaultValid = async () => sampleIn(await metricsOf(operator), "latchkey_default_valid");

async function served(t: TestContext, where: UserCluster, spec: ClusterSpec = {}): Promise<Cluster> {
  const { cluster, kube } = await serveCluster(t, { user: where, spec });
  return await untilCluster(kube, cluster.metadata.name, "Reachable", { status: "True" });
}

const changeCluster = async ({ metadata }: Cluster, spec: object) =>
  (await own.kube).patch<Cluster>(clusters, { name: metadata.name }, { type: "merge", body: { spec } });

async function untilFrom({ metadata }: Cluster, from: string): Promise<Cluster> {
  const what = `has credentials from ${from}`;
  const isFrom = (cluster: Cluster | undefined) => cluster?.status?.credentialsFrom === from;
  return (await until<Cluster>(await own.kube, clusters, { name: metadata.name }, what, isFrom)) as Cluster;
}

/** In a namespace that is there from the beginning and in one that is created now. */
async function untilEverywhere(t: TestContext, where: UserCluster, name: string, token: string): Promise<void> {
  await untilPullSecret(where.kube, `default/${name}`, token);
  await untilPullSecret(where.kube, `${await createUserNamespace(t, where)}/${name}`, token);
}

const untilRevoked = (where: UserCluster, name: string) => untilGone(where.kube, secrets, at(`default/${name}`));

async function assertHealthy(): Promise<void> {
  assert.equal(operator.ending, undefined);
  for (const path of ["healthz", "readyz"]) {
    assert.equal((await fetch(`${operator.metricsUrl}/${path}`)).status, 200);
  }
}

test("an inline default becomes a Secret, and what clusters get that name none", async (t) => {
  const kube = await own.kube;
  const created = await createConfiguration(t, key, { imagePullSecret: inlineText("one") });
  const events = new EventsOf(t, kube, created);
  await untilDefault(kube, key, valid);
  const secret = await theSecret(kube, source);
  const { name, uid } = created.metadata;
  const owner = { apiVersion: "kubermatic.k8c.io/v1", kind: "KubermaticConfiguration", name, uid, controller: true };
  assert.equal(secret.type, dockerConfigType);
  assert.deepEqual(secret.metadata.ownerReferences, [owner]);
  await untilPullSecret(kube, source, "one");

  const byDefault = await served(t, user, { imagePullSecrets: [] });
  const { namespaces } = await testNamespaces(t, 1);
  const missing = { namespace: namespaces[0], name: "missing" };
  const explicit = await served(t, other, { imagePullSecrets: [missing] });
  await untilEverywhere(t, user, inlineCopyName, "one");
  await untilFrom(byDefault, "Global");
  const app = await createUserNamespace(t, user);
  await untilPullSecret(user.kube, `${app}/${inlineCopyName}`, "one");
  await untilGiven(user.kube, app, [inlineCopyName]);

  await t.test("a level that is set but broken does not give way to the default", async () => {
    await untilCluster(kube, explicit.metadata.name, "PullSecretsReady", {
      ...{ status: "False", reason: "SourceMissing", message: `Secret ${namespaces[0]}/missing does not exist` },
    });
    assert.equal((await untilFrom(explicit, "Cluster")).status?.imagePullSecrets?.length, 1);
    assert.equal(await getSecret(other.kube, `default/${inlineCopyName}`), undefined);
  });

  await t.test("another text reaches all copies, in place", async () => {
    const before = await theSecret(user.kube, `${app}/${inlineCopyName}`);
    await changeConfiguration(kube, key, { userCluster: { imagePullSecret: inlineText("two") } });
    const after = await untilPullSecret(user.kube, `${app}/${inlineCopyName}`, "two");
    assert.equal(after.metadata.uid, before.metadata.uid);
    assert.equal((await theSecret(kube, source)).metadata.uid, secret.metadata.uid);
    assert.deepEqual(await events.until(2), ["Normal DefaultChanged", "Normal DefaultChanged"]);
    await untilDefault(kube, key, valid);
    assert.equal(await isDefaultValid(), 1);
  });

  await t.test("references are the whole answer, and the default counts again without them", async () => {
    await createPullSecret(kube, `${namespaces[0]}/own`, "own");
    await changeCluster(byDefault, { imagePullSecrets: [{ namespace: namespaces[0], name: "own" }] });
    await untilEverywhere(t, user, `${namespaces[0]}-own`, "own");
    await untilRevoked(user, inlineCopyName);
    await untilFrom(byDefault, "Cluster");
    await changeCluster(byDefault, { imagePullSecrets: null });
    await untilEverywhere(t, user, inlineCopyName, "two");
    await untilRevoked(user, `${namespaces[0]}-own`);
    await untilFrom(byDefault, "Global");
  });

  await t.test("a cluster that wants no default gets none", async () => {
    await changeCluster(byDefault, { disableDefaultImagePullSecrets: true });
    await untilRevoked(user, inlineCopyName);
    const none = await untilCluster(kube, byDefault.metadata.name, "PullSecretsReady", { reason: "NothingToCopy" });
    assert.deepEqual([none.status?.credentialsFrom, none.status?.imagePullSecrets ?? []], ["None", []]);
    await untilCluster(kube, byDefault.metadata.name, "Ready", { status: "True" });
    await untilGiven(user.kube, app, []);
    await changeCluster(byDefault, { disableDefaultImagePullSecrets: false });
    await untilEverywhere(t, user, inlineCopyName, "two");
  });
});

test("a default that is spoiled leaves the last one in use everywhere, over a restart too", async (t) => {
  const kube = await own.kube;
  const created = await createConfiguration(t, key, { imagePullSecret: inlineText("one") });
  const events = new EventsOf(t, kube, created);
  const all = [await served(t, user), await served(t, other)];
  for (const where of [user, other]) await untilEverywhere(t, where, inlineCopyName, "one");

  const spoiled = '{\n  "auths": {\n    "quay.io": {\n      "auth": "eA=="\n    },\n  }\n}';
  const manifest = { ...created, metadata: at(key), spec: { userCluster: { imagePullSecret: spoiled } } };
  const { code, stderr } = await kubectl(["apply", "-f", "-"], { input: JSON.stringify(manifest) });
  assert.equal(code, 0, stderr);
  assert.match(stderr, /Warning: spec\.userCluster\.imagePullSecret: not valid JSON at line 6, column 3/);
  const message = `${field}: not valid JSON at line 6, column 3; the last valid default stays in use`;
  await untilDefault(kube, key, { status: "False", reason: "MalformedJSON", message });
  for (const where of [user, other]) await untilEverywhere(t, where, inlineCopyName, "one");
  for (const each of all) {
    await untilFrom(each, "Global");
    await untilCluster(kube, each.metadata.name, "Ready", { status: "True" });
  }
  assert.deepEqual(await events.until(2), ["Normal DefaultChanged", "Warning DefaultInvalid"]);
  assert.ok(events.messages.includes(message));
  assert.equal(await isDefaultValid(), 0);
  await assertHealthy();

  await operator.kill();
  operator = await own.operator();
  await untilDefault(kube, key, { status: "False", reason: "MalformedJSON", message });
  for (const where of [user, other]) await untilEverywhere(t, where, inlineCopyName, "one");
  await changeConfiguration(kube, key, { userCluster: { imagePullSecret: inlineText("two") } });
  await untilDefault(kube, key, valid);
  for (const where of [user, other]) await untilEverywhere(t, where, inlineCopyName, "two");
  assert.deepEqual((await events.until(3)).slice(2), ["Normal DefaultChanged"]);
  assert.equal(await isDefaultValid(), 1);
});

const shapes = {
  "[]": "NoAuths",
  null: "NoAuths",
  "{}": "NoAuths",
  '{"auths": {}}': "NoAuths",
  '{"auths": []}': "NoAuths",
  '{"auths": {"quay.io": "dTpw"}}': "NoAuths",
  '{"auths": {"quay.io": {}, "ghcr.io": null}}': "NoAuths",
  '{"quay.io": {"auth": "dTpw"}}': "NoAuths",
  "{": "MalformedJSON",
  "auths: {}": "MalformedJSON",
};

test("of a first default that is broken nothing is copied, and no other takes its place", async (t) => {
  const kube = await own.kube;
  const cluster = await served(t, user);
  await untilFrom(cluster, "None");
  await createConfiguration(t, key, { imagePullSecret: "{" });
  const message = `${field}: not valid JSON at line 1, column 2; there was none before`;
  await untilDefault(kube, key, { status: "False", reason: "MalformedJSON", message });
  await untilFrom(cluster, "Global");
  for (const [imagePullSecret, reason] of Object.entries(shapes)) {
    await changeConfiguration(kube, key, { userCluster: { imagePullSecret } });
    const told = await untilDefault(kube, key, { status: "False", reason, message: /; there was none before$/ });
    assert.ok(told.status?.conditions?.[0]?.message.startsWith(`${field}: `));
  }
  assert.equal(await getSecret(kube, source), undefined);
  assert.equal(await getSecret(user.kube, `default/${inlineCopyName}`), undefined);
  await assertHealthy();

  await changeConfiguration(kube, key, { userCluster: { imagePullSecret: "" } });
  await untilDefault(kube, key, { status: "True", reason: "NotSet" });
  await untilFrom(cluster, "None");
  await changeConfiguration(kube, key, { userCluster: { imagePullSecret: inlineText("one") } });
  await untilEverywhere(t, user, inlineCopyName, "one");
});

test("the Secret of an inline default is restored, whatever somebody does to it", async (t) => {
  const kube = await own.kube;
  const created = await createConfiguration(t, key, { imagePullSecret: inlineText("one") });
  const events = new EventsOf(t, kube, created);
  await served(t, user);
  await untilEverywhere(t, user, inlineCopyName, "one");
  const copy = await theSecret(user.kube, `default/${inlineCopyName}`);

  await setValues(kube, source, dockerConfig("robot", "by hand"));
  await untilPullSecret(kube, source, "one");
  const { uid } = (await theSecret(kube, source)).metadata;
  await deleteSecret(kube, source);
  await until(kube, secrets, at(source), "is another one", (now) => now !== undefined && now.metadata.uid !== uid);
  await untilPullSecret(kube, source, "one");
  await patchSecret(kube, source, { immutable: true, data: { more: "bW9yZQ==" } });
  await until(kube, secrets, at(source), "can be changed", (now) => now !== undefined && !("immutable" in now));
  await untilPullSecret(kube, source, "one");
  await untilEverywhere(t, user, inlineCopyName, "one");
  assert.equal((await theSecret(user.kube, `default/${inlineCopyName}`)).metadata.uid, copy.metadata.uid);
  await untilDefault(kube, key, valid);
  assert.deepEqual(events.inShort, ["Normal DefaultChanged"], "the default is the same all the time");
});

test("somebody else's Secret by that name is left alone and sent nowhere, until it goes", async (t) => {
  const kube = await own.kube;
  t.after(() => deleteSecret(kube, source));
  await createPullSecret(kube, source, "foreign");
  const foreign = await theSecret(kube, source);
  const cluster = await served(t, user);
  await createConfiguration(t, key, { imagePullSecret: inlineText("one") });
  const message = new RegExp(`Secret ${source} `);
  await untilDefault(kube, key, { status: "False", reason: "Collision", message });
  await untilFrom(cluster, "Global");
  await untilCluster(kube, cluster.metadata.name, "PullSecretsReady", {
    status: "False",
    reason: "Collision",
    message,
  });
  // A later change that is served: by then the default would have been as well.
  await createPullSecret(kube, "kubermatic/marker", "marker");
  t.after(() => deleteSecret(kube, "kubermatic/marker"));
  await changeCluster(cluster, { imagePullSecrets: [at("kubermatic/marker")] });
  await untilEverywhere(t, user, "kubermatic-marker", "marker");
  await changeCluster(cluster, { imagePullSecrets: [] });
  await untilRevoked(user, "kubermatic-marker");
  assert.equal(await getSecret(user.kube, `default/${inlineCopyName}`), undefined);
  assert.deepEqual(await theSecret(kube, source), foreign);

  await deleteSecret(kube, source);
  await untilDefault(kube, key, valid);
  await untilEverywhere(t, user, inlineCopyName, "one");
  await untilCluster(kube, cluster.metadata.name, "Ready", { status: "True" });
});

test("who refuses the Secret of an inline default is named, and the last one stays in use", async (t) => {
  const kube = await own.kube;
  const created = await createConfiguration(t, key, { imagePullSecret: inlineText("one") });
  const events = new EventsOf(t, kube, created);
  const cluster = await served(t, user);
  await untilEverywhere(t, user, inlineCopyName, "one");
  const refusal = await refuseSecrets(t, kube, ["kubermatic"], ({ object }) =>
    object.metadata.name === inlineName ? "no passwords here" : undefined,
  );
  const message =
    /^Secret \S+latchkey-default-pull-secret cannot be kept up to date: .*refusals.example.com.*no passwords/;
  const refused = { status: "False", reason: "TargetRefused", message } as const;
  await changeConfiguration(kube, key, { userCluster: { imagePullSecret: inlineText("two") } });
  await untilDefault(kube, key, refused);
  assert.deepEqual(await events.until(2), ["Normal DefaultChanged", "Warning DefaultInvalid"]);
  await untilEverywhere(t, user, inlineCopyName, "one");
  await changeConfiguration(kube, key, { userCluster: null });
  await untilRevoked(user, inlineCopyName);
  await untilFrom(cluster, "None");
  await untilDefault(kube, key, refused);
  assert.ok(await getSecret(kube, source), "its deletion is refused");

  await refusal.stop();
  await untilGone(kube, secrets, at(source));
  await untilDefault(kube, key, { status: "True", reason: "NotSet" });
});

test("the Secret of an inline default goes with the field, and with the configuration", async (t) => {
  const kube = await own.kube;
  const { namespaces } = await testNamespaces(t, 1);
  const named = `${namespaces[0]}/named`;
  await createPullSecret(kube, named, "named");
  await createConfiguration(t, key, { imagePullSecret: inlineText("one") });
  const cluster = await served(t, user);
  const restore = async () => {
    const userCluster = { imagePullSecret: inlineText("one"), imagePullSecretRef: null };
    await changeConfiguration(kube, key, { userCluster });
    await untilEverywhere(t, user, inlineCopyName, "one");
  };

  await restore();
  await changeConfiguration(kube, key, { userCluster: null });
  await untilGone(kube, secrets, at(source));
  await untilRevoked(user, inlineCopyName);
  await untilDefault(kube, key, { status: "True", reason: "NotSet" });
  await untilFrom(cluster, "None");

  await restore();
  await changeConfiguration(kube, key, { userCluster: { imagePullSecret: "" } });
  await untilGone(kube, secrets, at(source));
  await untilRevoked(user, inlineCopyName);

  await restore();
  await changeConfiguration(kube, key, { userCluster: { imagePullSecret: null, imagePullSecretRef: at(named) } });
  await untilGone(kube, secrets, at(source));
  await untilEverywhere(t, user, literalName(named), "named");
  await untilRevoked(user, inlineCopyName);
  await untilFrom(cluster, "Global");

  await restore();
  await kube.delete(kubermaticConfigurations, at(key));
  await untilRevoked(user, inlineCopyName);
  await untilFrom(cluster, "None");
  await untilGone(kube, secrets, at(source));
  assert.equal(await isDefaultValid(), undefined, "there is nothing to judge");
});

test("a default by reference is followed, and told about", async (t) => {
  const kube = await own.kube;
  const { namespaces } = await testNamespaces(t, 1);
  const [vault] = namespaces;
  const keys = [`${vault}/one`, `${vault}/two`] as const;
  const created = await createConfiguration(t, key, { imagePullSecretRef: at(keys[0]) });
  const events = new EventsOf(t, kube, created);
  const cluster = await served(t, user);
  const missing = { status: "False", reason: "SourceMissing", message: `Secret ${keys[0]} does not exist` } as const;
  await untilDefault(kube, key, missing);
  await untilCluster(kube, cluster.metadata.name, "PullSecretsReady", missing);

  await createSecret(kube, keys[0], { password: "no pull secret" });
  await untilDefault(kube, key, { status: "False", reason: "SourceTypeRejected", message: new RegExp(keys[0]) });
  await deleteSecret(kube, keys[0]);
  await untilDefault(kube, key, missing);
  await createPullSecret(kube, keys[0], "one");
  await untilDefault(kube, key, valid);
  await untilEverywhere(t, user, literalName(keys[0]), "one");
  assert.equal(await getSecret(kube, source), undefined, "people create the sources");

  await createPullSecret(kube, keys[1], "two");
  await changeConfiguration(kube, key, { userCluster: { imagePullSecretRef: at(keys[1]) } });
  await untilEverywhere(t, user, literalName(keys[1]), "two");
  await untilRevoked(user, literalName(keys[0]));
  await events.until(5);
  assert.equal(events.inShort.filter((event) => event === "Normal DefaultChanged").length, 2);
  assert.equal(events.inShort.filter((event) => event === "Warning DefaultInvalid").length, 3);
});
