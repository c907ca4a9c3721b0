import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { namespaces as namespaceKind, secrets } from "../../src/api/objects.ts";
import { testNamespaces, uniqueName } from "../../src/testing/cluster.ts";
import {
  changeCluster,
  createAccount,
  createSources,
  enforcing,
  givenIn,
  optedOut,
  references,
  untilGiven,
  untilRecord,
} from "../../src/testing/injection.ts";
import { at, secret } from "../../src/testing/objects.ts";
import { deleteSecret, patchSecret } from "../../src/testing/secrets.ts";
import {
  createPullSecret,
  type Deployment,
  deployment,
  deployments,
  literalName,
  type Pod,
  pods,
  pullSecretsOf,
  serviceAccounts,
  suffixedName,
  untilPullSecret,
} from "../../src/testing/sidecars.ts";
import {
  type ClusterSpec,
  createUserNamespace,
  createUserPod,
  serveCluster,
  untilCluster,
  userCluster,
} from "../../src/testing/user-clusters.ts";
import { until, untilGone } from "../../src/testing/wait.ts";

const user = userCluster();

/** A Cluster with these sources, served. */
async function served(t: TestContext, { names = ["quay"], spec = {} as ClusterSpec } = {}) {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [home] = namespaces;
  const sources = await createSources(kube, home, ...names);
  const { cluster } = await serveCluster(t, { user, references: sources, spec });
  await untilCluster(kube, cluster.metadata.name, "Ready", { status: "True" });
  return { kube, home, sources, cluster, given: sources.map(literalName) };
}

const own = (...names: readonly string[]) => ({ spec: { imagePullSecrets: names.map((name) => ({ name })) } });
const of = (serviceAccountName: string) => ({ spec: { serviceAccountName } });

async function created(t: TestContext, namespace: string, options = {}) {
  return pullSecretsOf(await createUserPod(t, user, `${namespace}/${uniqueName("pod")}`, options));
}

test("a Pod has its own names first, its account's included, then those of the cluster in order, none twice", async (t) => {
  const app = await createUserNamespace(t, user);
  const before = await createUserPod(t, user, `${app}/before`);
  const { kube, cluster, sources, given } = await served(t, { names: ["quay", "hub", "acr"] });
  const [quay = "", hub = "", acr = ""] = given;
  await createAccount(user.kube, `${app}/puller`, { names: ["of-account", hub] });
  await untilGiven(user.kube, app, given);

  assert.deepEqual(await created(t, app), given);
  assert.deepEqual(await created(t, app, own("mine")), ["mine", ...given]);
  assert.deepEqual(await created(t, app, own(acr, "mine")), [acr, "mine", quay, hub]);
  assert.deepEqual(await created(t, app, own("mine", "mine")), ["mine", "mine", ...given], "its own twice stays");
  assert.deepEqual(await created(t, app, own("mine", "", quay)), ["mine", undefined, quay, hub, acr], "and none");
  assert.deepEqual(await created(t, app, of("puller")), ["of-account", hub, quay, acr]);
  for (const namespace of ["kube-system", "kube-public", "default"]) {
    assert.deepEqual(await created(t, namespace), given, namespace);
  }

  const body = { metadata: { labels: { touched: "yes" } } };
  const touched = await user.kube.patch<Pod>(pods, at(`${app}/before`), { type: "merge", body });
  assert.deepEqual(touched.spec, before.spec, "a Pod that is there is never changed");

  await changeCluster(kube, cluster, references(...sources.toReversed()));
  await untilGiven(user.kube, app, given.toReversed());
});

test("Pods of a Deployment have the names, its template has not; a dry run tells and stores nothing", async (t) => {
  const { given } = await served(t);
  const app = await createUserNamespace(t, user);
  await untilGiven(user.kube, app, given);
  const key = `${app}/web`;
  const { spec } = await user.kube.create<Deployment>(deployments, deployment(key, { ...own("mine"), replicas: 2 }));
  await until<Deployment & { status?: { replicas?: number } }>(
    ...[user.kube, deployments, at(key), "has its Pods"],
    (found) => found?.status?.replicas === 2,
  );
  const selected = await user.kube.list<Pod>(pods, { namespace: app, labelSelector: "deployment=web" });
  assert.deepEqual(selected.map(pullSecretsOf), [
    ["mine", ...given],
    ["mine", ...given],
  ]);
  const after = await user.kube.get<Deployment>(deployments, at(key));
  assert.deepEqual(after?.spec.template, spec.template);

  const tried = { ...own("tried"), labels: { tried: "yes" } };
  assert.deepEqual(await givenIn(user.kube, app, tried), ["tried", ...given]);
  assert.deepEqual(await user.kube.list(pods, { namespace: app, labelSelector: "tried=yes" }), []);
});

test("a mirror Pod is neither changed nor refused", async (t) => {
  const { given } = await served(t);
  const app = await createUserNamespace(t, user);
  await untilGiven(user.kube, app, given);
  const annotations = { "kubernetes.io/config.mirror": "x" };
  assert.deepEqual(await created(t, app, { annotations, spec: { nodeName: "n" } }), []);
  assert.deepEqual(await created(t, "kube-system", { annotations, spec: { nodeName: "n" } }), []);
});

test("Pods of an account that may only use Secrets it lists are let through as they are, for as long as it says so", async (t) => {
  const { kube, cluster, given } = await served(t);
  const [app, other] = [await createUserNamespace(t, user), await createUserNamespace(t, user)];
  const outside = await createUserNamespace(t, user, optedOut);
  await untilGiven(user.kube, app, given);
  await createAccount(user.kube, `${app}/strict`, enforcing);
  await createAccount(user.kube, `${app}/lax`);
  await createAccount(user.kube, `${other}/strict`);
  await createAccount(user.kube, `${outside}/strict`, enforcing);
  const exempt = (names: string | undefined) => (data: Readonly<Record<string, string>>) =>
    data[`exempt.${app}`] === names;

  const data = await untilRecord(user.kube, "names the account", exempt("strict"));
  assert.equal(data[`exempt.${outside}`], undefined, "nothing is given there anyway");
  await untilGiven(user.kube, app, [], of("strict"));
  assert.deepEqual(await created(t, app, of("strict")), []);
  assert.deepEqual(await created(t, app, of("lax")), given);
  assert.deepEqual(await created(t, other, of("strict")), given);
  await untilCluster(kube, cluster.metadata.name, "Injection", { status: "True", message: /1 ServiceAccount exempt/ });

  const mark = (value: string | null) => {
    const body = { metadata: { annotations: { "kubernetes.io/enforce-mountable-secrets": value } } };
    return user.kube.patch(serviceAccounts, at(`${app}/lax`), { type: "merge", body });
  };
  await mark("true");
  await untilRecord(user.kube, "names both", exempt("lax\nstrict"));
  await untilGiven(user.kube, app, [], of("lax"));
  await mark(null);
  await user.kube.delete(serviceAccounts, at(`${app}/strict`));
  await untilRecord(user.kube, "names none", exempt(undefined));
  await untilGiven(user.kube, app, given, of("lax"));
  await untilCluster(kube, cluster.metadata.name, "Injection", { status: "True", message: "mode Policy" });
});

test("the name of a missing source is given, that of one that must not be copied is not", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [home] = namespaces;
  const [missing, opaque, copy, vetoed] = ["missing", "opaque", "copy", "vetoed"].map((name) => `${home}/${name}`) as [
    string,
    string,
    string,
    string,
  ];
  const veto = { annotations: { "latchkey.dev/no-copy": "true" } };
  await kube.create(secrets, secret(opaque));
  await createPullSecret(kube, copy, "s3cret", { labels: { "latchkey.dev/source-hash": "0123456789" } });
  await createPullSecret(kube, vetoed, "s3cret", veto);
  const { cluster } = await serveCluster(t, { user, references: [opaque, missing, copy, vetoed] });
  await untilCluster(kube, cluster.metadata.name, "Injection", { status: "True" });
  const app = await createUserNamespace(t, user);
  await untilGiven(user.kube, app, [literalName(missing)]);
  const namesNow = (...names: readonly string[]) =>
    untilRecord(user.kube, `has ${names}`, (data) => data.names === names.join("\n"));
  await namesNow("", literalName(missing), "", "");

  await patchSecret(kube, vetoed, { metadata: { annotations: { "latchkey.dev/no-copy": null } } });
  await deleteSecret(kube, opaque);
  await createPullSecret(kube, opaque);
  await namesNow(literalName(opaque), literalName(missing), "", literalName(vetoed));
  await untilGiven(user.kube, app, [opaque, missing, vetoed].map(literalName));

  await createPullSecret(kube, missing);
  await untilPullSecret(user.kube, `${app}/${literalName(missing)}`);
  await patchSecret(kube, vetoed, { metadata: veto });
  await untilGiven(user.kube, app, [opaque, missing].map(literalName));
  await deleteSecret(kube, missing);
  await untilGone(user.kube, secrets, at(`${app}/${literalName(missing)}`));
  await untilGiven(user.kube, app, [opaque, missing].map(literalName));
});

test("Pods of namespaces that are excluded or opted out are left alone, from the moment they are", async (t) => {
  const [excluded, app] = [await createUserNamespace(t, user), await createUserNamespace(t, user)];
  const { kube, cluster, given } = await served(t, { spec: { excludedNamespaces: [excluded, "kube-public"] } });
  const out = await createUserNamespace(t, user, optedOut);
  await untilGiven(user.kube, app, given);
  for (const namespace of [excluded, out, "kube-public"]) assert.deepEqual(await created(t, namespace), [], namespace);

  const opt = (value: string | null) => {
    const body = { metadata: { labels: { "latchkey.dev/inject": value } } };
    return user.kube.patch(namespaceKind, { name: out }, { type: "merge", body });
  };
  await opt(null);
  assert.deepEqual(await created(t, out), given, "the API server itself looks at the label");
  await opt("true");
  assert.deepEqual(await created(t, out), given);
  await opt("false");
  assert.deepEqual(await created(t, out), []);

  await changeCluster(kube, cluster, { excludedNamespaces: [app] });
  await untilGiven(user.kube, app, []);
  await untilGiven(user.kube, excluded, given);
  await changeCluster(kube, cluster, { excludedNamespaces: [] });
  await untilGiven(user.kube, app, given);
});

test("a Pod that is created in the same second as its namespace has the names", async (t) => {
  const { given } = await served(t, { names: ["quay", "hub"] });
  await untilGiven(user.kube, "default", given);
  for (let round = 1; round <= 5; round++) {
    assert.deepEqual(await created(t, await createUserNamespace(t, user)), given);
  }
});

test("where somebody else holds the name, Pods get the one that the copy has there", async (t) => {
  const app = await createUserNamespace(t, user);
  const { kube, namespaces } = await testNamespaces(t, 1);
  const sources = await createSources(kube, namespaces[0], "quay", "hub");
  const [quay = "", hub = ""] = sources;
  await user.kube.create(secrets, secret(`${app}/${literalName(hub)}`));
  const { cluster } = await serveCluster(t, { user, references: sources });
  await untilCluster(kube, cluster.metadata.name, "Injection", { status: "True", message: /1 namespace with names/ });

  const names = [literalName(quay), suffixedName(hub)];
  await untilPullSecret(user.kube, `${app}/${suffixedName(hub)}`);
  await untilGiven(user.kube, app, names);
  await untilGiven(user.kube, "default", sources.map(literalName));
  const data = await untilRecord(user.kube, "tells so", (each) => each[`names.${app}`] === names.join("\n"));
  assert.equal(data.names, sources.map(literalName).join("\n"));
});

test("a namespace whose exempt accounts do not fit into the policy gets nothing, and that is told", async (t) => {
  const app = await createUserNamespace(t, user);
  const { kube, cluster, given } = await served(t);
  await untilGiven(user.kube, app, given);
  const long = (i: number) => `${app}/${`a${i}-`.padEnd(250, "x")}`;
  const accounts = Array.from({ length: 245 }, (_, i) => long(i));
  await Promise.all(accounts.map((key) => createAccount(user.kube, key, enforcing)));
  const { name } = cluster.metadata;
  await untilCluster(kube, name, "Injection", { status: "False", reason: "Collision", message: new RegExp(app) });
  await untilCluster(kube, name, "PullSecretsReady", { status: "True" });
  await untilGiven(user.kube, app, []);
  assert.deepEqual(await created(t, app, of(at(long(0)).name)), []);
  await untilGiven(user.kube, "default", given);

  await Promise.all(accounts.slice(0, 20).map((key) => user.kube.delete(serviceAccounts, at(key))));
  await untilCluster(kube, name, "Injection", { status: "True", message: /225 ServiceAccounts exempt/ });
  await untilGiven(user.kube, app, given);
});
