import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type KubeObject, namespaces as namespaceKind, secrets } from "../../src/api/objects.ts";
import { auditPosition, operatorWrites } from "../../src/testing/audit.ts";
import { kubectl, testNamespaces, uniqueName } from "../../src/testing/cluster.ts";
import { untilInjectionIn } from "../../src/testing/cluster-scenes.ts";
import { EventsOf } from "../../src/testing/events.ts";
import { untilGiven } from "../../src/testing/injection.ts";
import {
  bringUp,
  changeOriginal,
  createOriginal,
  installKubermatic,
  type KubermaticCluster,
  namespaceOfCluster,
  original,
  removeKubermatic,
  untilStatusTold,
  untilTold,
} from "../../src/testing/kubermatic.ts";
import { sampleIn } from "../../src/testing/metrics.ts";
import { metricsOf, readyLines, untilMode, untilReady } from "../../src/testing/modes.ts";
import { at } from "../../src/testing/objects.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import { assertRefused } from "../../src/testing/refused.ts";
import { deleteSecret, getSecret, theSecret } from "../../src/testing/secrets.ts";
import { untilEvent } from "../../src/testing/served-clusters.ts";
import { createPullSecret, literalName, untilPullSecret } from "../../src/testing/sidecars.ts";
import { whenAdmissionListens } from "../../src/testing/syncs.ts";
import { referencesAnnotation, statusAnnotation } from "../../src/testing/told.ts";
import {
  clusters,
  createUserNamespace,
  kubermaticConfigurations,
  userCluster,
} from "../../src/testing/user-clusters.ts";
import { createUser } from "../../src/testing/users.ts";
import { until, untilGone } from "../../src/testing/wait.ts";
import type { Operator } from "../../tools/local/operator.ts";
import { userClusterKubeconfig } from "../../tools/local/user-cluster.ts";

let operator: Operator;
const own = ownPlane(async (plane) => {
  const kube = await plane.kube;
  await removeKubermatic(kube);
  await installKubermatic(kube);
  await kube.create(namespaceKind, { metadata: { name: "kubermatic" } });
  operator = await plane.operator();
});
const user = userCluster();

const mark = (name: string) => `latchkey.dev/${name}`;
/** Of these names without our prefix; null takes one away. */
const marks = <V extends string | null>(annotations: Readonly<Record<string, V>>) => ({
  annotations: Object.fromEntries(Object.entries(annotations).map(([name, value]) => [mark(name), value])),
});
const served = { status: "True", reason: "Served" } as const;

async function sources(t: TestContext, ...names: readonly string[]): Promise<readonly string[]> {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const keys = names.map((name) => `${namespaces[0]}/${name}`);
  for (const key of keys) await createPullSecret(kube, key, at(key).name);
  return keys;
}

async function theCluster({ metadata: { name } }: KubermaticCluster): Promise<KubermaticCluster> {
  return (await (await own.kube).get<KubermaticCluster>(clusters, { name })) as KubermaticCluster;
}

/** Everything that is not ours to write. */
function theirs({ metadata, ...rest }: KubermaticCluster): object {
  const { managedFields: _fields, resourceVersion: _version, annotations = {}, ...others } = metadata;
  const { [statusAnnotation]: _status, ...kept } = annotations;
  return { ...rest, metadata: { ...others, annotations: kept } };
}

test("annotations on Kubermatic's Cluster drive everything, and nothing of it is written but one annotation", async (t) => {
  const kube = await own.kube;
  await untilMode(operator, "clusters", "beside");
  const [one = "", two = ""] = await sources(t, "one", "two");
  const [app, out] = [await createUserNamespace(t, user), await createUserNamespace(t, user)];
  const from = await auditPosition(kube, "kubermatic");
  const created = await createOriginal(t, {
    kubeconfig: user.kubeconfig,
    labels: { "project-id": "p1" },
    ...marks({ "image-pull-secrets": ` ${two} , ${one}`, "excluded-namespaces": `${out}, kube-public` }),
  });
  const before = await theCluster(created);
  const { name } = created.metadata;
  const keptByKubermatic = await kube.list(secrets, { namespace: namespaceOfCluster(name) });

  const told = await untilTold(created, "Ready", served);
  for (const source of [one, two]) await untilPullSecret(user.kube, `${app}/${literalName(source)}`, at(source).name);
  await untilGiven(user.kube, app, [literalName(two), literalName(one)]);
  await untilGiven(user.kube, out, []);
  assert.equal(await getSecret(user.kube, `${out}/${literalName(one)}`), undefined);
  assert.deepEqual(
    told.conditions.map(({ type }) => type),
    ["Ready", "Reachable", "PullSecretsReady", "Injection", "Paused"],
  );
  assert.deepEqual([told.credentialsFrom, told.mode, told.namespaces?.summary], ["Cluster", "Policy", "4/4"]);

  await t.test("another mode, and what becomes of copies without their source", async () => {
    await changeOriginal(created, { metadata: marks({ "injection-mode": "None", "on-source-deleted": "Retain" }) });
    await untilGiven(user.kube, app, []);
    await deleteSecret(kube, one);
    await untilTold(created, "PullSecretsReady", { status: "False", reason: "SourceMissing" });
    await untilPullSecret(user.kube, `${app}/${literalName(one)}`, "one");
    await changeOriginal(created, { metadata: marks({ "injection-mode": null, "on-source-deleted": "Delete" }) });
    await untilGone(user.kube, secrets, at(`${app}/${literalName(one)}`));
    await untilGiven(user.kube, app, [literalName(two), literalName(one)]);
  });

  await t.test("latchkey status prints it", async () => {
    await untilStatusTold(clusters, created, "is in mode Policy again", ({ mode }) => mode === "Policy");
    const { stdout, stderr } = await own.latchkey("status");
    assert.match(stdout, /clusters +beside/, stderr);
    assert.match(stdout, new RegExp(`${name} +False +4/4 +Cluster +Policy +True`));
    assert.match(stdout, new RegExp(`Cluster/${name}.*SourceMissing`));
  });

  const writes = (await operatorWrites(kube, "kubermatic", { from })).filter(({ resource }) => resource === "clusters");
  assert.deepEqual([...new Set(writes.map(({ verb, subresource }) => `${verb} ${subresource}`))], ["patch "]);
  const after = await theCluster(created);
  const annotations = { ...before.metadata.annotations, [mark("on-source-deleted")]: "Delete" };
  assert.deepEqual(theirs(after), theirs({ ...before, metadata: { ...before.metadata, annotations } }));
  assert.equal(after.metadata.finalizers, undefined);
  const applied = after.metadata.managedFields?.filter(({ operation }) => operation === "Apply");
  assert.deepEqual(
    applied?.map(({ fieldsV1 }) => fieldsV1),
    [{ "f:metadata": { "f:annotations": { [`f:${statusAnnotation}`]: {} } } }],
  );
  assert.deepEqual(await kube.list(secrets, { namespace: namespaceOfCluster(name) }), keptByKubermatic);
});

test("a Cluster that asks for nothing is left alone, before and after it asked for something", async (t) => {
  const kube = await own.kube;
  const [one = ""] = await sources(t, "one");
  const policy = { group: "admissionregistration.k8s.io", version: "v1", namespaced: false };
  const policies = { ...policy, plural: "mutatingadmissionpolicies", kind: "MutatingAdmissionPolicy" };
  const injection = { name: "latchkey-pull-secrets" };
  await untilGone(user.kube, policies, injection);
  const created = await createOriginal(t, { kubeconfig: user.kubeconfig });
  // One that asks is served after it: the first was looked at, too.
  const marker = await createOriginal(t, marks({ "image-pull-secrets": one }));
  await untilTold(marker, "Reachable", { status: "False", reason: "KubeconfigMissing" });
  assert.equal((await theCluster(created)).metadata.annotations?.[statusAnnotation], undefined);
  assert.equal(await user.kube.get(policies, injection), undefined);

  await changeOriginal(created, { metadata: marks({ "image-pull-secrets": one }) });
  await untilTold(created, "Ready", served);
  await untilPullSecret(user.kube, `default/${literalName(one)}`, "one");

  await changeOriginal(created, { metadata: marks({ "image-pull-secrets": null }) });
  await untilGone(user.kube, secrets, at(`default/${literalName(one)}`));
  await untilGone(user.kube, policies, injection);
  const isSilent = (seen: KubermaticCluster | undefined) => !seen?.metadata.annotations?.[statusAnnotation];
  await until<KubermaticCluster>(kube, clusters, created.metadata, "says nothing any more", isSilent);
});

test("a Cluster whose annotations all go at once is left as well, ours among them", async (t) => {
  const [one = ""] = await sources(t, "one");
  const created = await createOriginal(t, {
    kubeconfig: user.kubeconfig,
    ...marks({ "image-pull-secrets": one }),
  });
  await untilTold(created, "Ready", served);
  await untilPullSecret(user.kube, `default/${literalName(one)}`, "one");
  await changeOriginal(created, { metadata: { annotations: null } });
  await untilGone(user.kube, secrets, at(`default/${literalName(one)}`));
  await untilInjectionIn(user.kube, []);
  assert.equal((await theCluster(created)).metadata.annotations, undefined);
});

test("a Cluster that is left is left in the end, whatever fails on the way, and served again if it asks again", async (t) => {
  const [one = ""] = await sources(t, "one");
  const { plane } = user;
  t.after(() => userClusterKubeconfig(plane));
  const created = await createOriginal(t, {
    kubeconfig: user.kubeconfig,
    ...marks({ "image-pull-secrets": one }),
  });
  const leaveWithoutRight = async () => {
    await untilTold(created, "Ready", served);
    await userClusterKubeconfig(plane, { without: [{ verb: "delete", resource: "mutatingadmissionpolicies" }] });
    await changeOriginal(created, { metadata: marks({ "image-pull-secrets": null }) });
    await untilInjectionIn(user.kube, ["policy"]);
  };
  await leaveWithoutRight();
  await userClusterKubeconfig(plane);
  await changeOriginal(created, { metadata: marks({ "image-pull-secrets": one }) });
  await untilPullSecret(user.kube, `default/${literalName(one)}`, "one");
  await untilGiven(user.kube, "default", [literalName(one)]);

  await leaveWithoutRight();
  await userClusterKubeconfig(plane);
  await untilInjectionIn(user.kube, []);
  const isSilent = (seen: KubermaticCluster | undefined) => !seen?.metadata.annotations?.[statusAnnotation];
  await until<KubermaticCluster>(await own.kube, clusters, created.metadata, "says nothing any more", isSilent);
});

test("a Cluster that Kubermatic was taking down already when an operator comes is cleaned up, too", async (t) => {
  const kube = await own.kube;
  const [one = ""] = await sources(t, "one");
  const created = await createOriginal(t, {
    kubeconfig: user.kubeconfig,
    ...{ finalizers: ["kubermatic.k8c.io/cleanup"] },
    ...marks({ "image-pull-secrets": one }),
  });
  await untilTold(created, "Ready", served);
  await operator.stop();
  await kube.delete(clusters, { name: created.metadata.name });
  operator = await own.operator();
  await untilGone(user.kube, secrets, at(`default/${literalName(one)}`));
  await untilInjectionIn(user.kube, []);
});

test("the status is short and rarely written: once at once, and then every ten seconds at most", async (t) => {
  const kube = await own.kube;
  const from = await auditPosition(kube, "kubermatic");
  const { namespaces } = await testNamespaces(t, 1);
  const missing = Array.from({ length: 16 }, (_, at) => `${namespaces[0]}/${"long-".repeat(36)}${at}`);
  const created = await createOriginal(t, {
    kubeconfig: user.kubeconfig,
    ...marks({ "image-pull-secrets": missing.join() }),
  });
  await untilTold(created, "PullSecretsReady", { status: "False", reason: "SourceMissing" });
  for (const source of missing.slice(0, 3)) {
    await createPullSecret(kube, source);
    await untilPullSecret(user.kube, `default/${literalName(source)}`);
  }
  await changeOriginal(created, { metadata: marks({ "image-pull-secrets": missing.slice(0, 3).join() }) });
  await untilTold(created, "Ready", { ...served, message: /^3 references in 4\/4 namespaces, mode Policy$/ });

  const writes = (await operatorWrites(kube, "kubermatic", { from })).filter(
    ({ resource, name }) => resource === "clusters" && name === created.metadata.name,
  );
  const times = writes.map((write) => Date.parse(write.at));
  assert.ok(times.length > 1, "there is more than one thing to tell");
  for (const [index, time] of times.slice(1).entries()) assert.ok(time - (times[index] ?? 0) >= 9_900, `${times}`);
  const { annotations = {} } = (await theCluster(created)).metadata;
  assert.ok(Buffer.byteLength(annotations[statusAnnotation] ?? "") <= 4_096);

  await changeOriginal(created, { metadata: marks({ "image-pull-secrets": missing.join() }) });
  await untilTold(created, "PullSecretsReady", { status: "False", reason: "SourceMissing" });
  const long = (await theCluster(created)).metadata.annotations?.[statusAnnotation] ?? "";
  assert.ok(Buffer.byteLength(long) <= 4_096 && Buffer.byteLength(long) > 1_000);
});

const bad: Readonly<Record<string, readonly [value: string, words: RegExp]>> = {
  "image-pull-secrets": ["quay", /"quay" needs a namespace/],
  "default-image-pull-secrets": ["no", /must be one of disabled/],
  "kubeconfig-secret": ["a/b/c", /must be <namespace>\[\/<name>\]/],
  "excluded-namespaces": ["a,B", /must be names of namespaces/],
  "injection-mode": ["Webhook", /must be one of Auto, Policy, ServiceAccount, None/],
  "on-source-deleted": ["Keep", /must be one of Delete, Retain/],
};

test("an annotation that says nothing is refused", async (t) => {
  const kube = await own.kube;
  const good = await createOriginal(t, { spec: { pause: true } });
  for (const [name, [value, words]] of Object.entries(bad)) {
    const draft = original(uniqueName("c"), marks({ [name]: value }));
    const all = new RegExp(`annotation ${mark(name)}: .*${words.source}`);
    await assertRefused(
      whenAdmissionListens(() => kube.create(clusters, draft, { dryRun: true })),
      422,
      all,
    );
    await assertRefused(changeOriginal(good, { metadata: marks({ [name]: value }) }, { dryRun: true }), 422, all);
    await changeOriginal(good, { metadata: marks({ [name]: "" }) });
  }
  const metadata = { namespace: "kubermatic", name: "bad", annotations: { [referencesAnnotation]: "quay" } };
  await assertRefused(
    whenAdmissionListens(() => kube.create(kubermaticConfigurations, { metadata }, { dryRun: true })),
    422,
    /annotation latchkey\.dev\/image-pull-secrets: "quay" needs a namespace/,
  );
});

test("who annotates a Cluster must be able to read the Secrets himself, and need not where Kubermatic keeps them", async (t) => {
  const { namespaces } = await testNamespaces(t, 1);
  const [vault] = namespaces;
  const verbs = ["create", "get", "update", "patch"];
  const writer = await createUser(t, { verbs, group: "kubermatic.k8c.io", resource: "clusters" });
  const create = (options: object) =>
    whenAdmissionListens(() => writer.kube.create(clusters, original(uniqueName("c"), options), { dryRun: true }));
  const words = (secret: string) => new RegExp(`user "${writer.name}" may not get Secret ${vault}/${secret}: `);
  await create({});
  await create({ labels: { "project-id": "p1" }, ...marks({ "injection-mode": "None" }) });
  await assertRefused(create(marks({ "image-pull-secrets": `${vault}/one` })), 403, words("one"));
  await assertRefused(create(marks({ "kubeconfig-secret": `${vault}/k` })), 403, words("k"));
  await writer.grant({ verbs: ["get"], resource: "secrets", namespace: vault, name: "one" });
  await create(marks({ "image-pull-secrets": `${vault}/one` }));
});

test("the default is an annotation as well, with a status of its own", async (t) => {
  const kube = await own.kube;
  const [one = "", two = ""] = await sources(t, "one", "two");
  const created = await createOriginal(t, { kubeconfig: user.kubeconfig });
  const configuration = (await kube.create<KubeObject & { spec: object }>(kubermaticConfigurations, {
    metadata: { namespace: "kubermatic", name: "kubermatic", annotations: { [referencesAnnotation]: `${one},${two}` } },
    spec: { imagePullSecret: '{"auths":{"nodes":{}}}', ingress: { domain: "example.com" } },
  })) satisfies KubeObject;
  t.after(() => kube.delete(kubermaticConfigurations, configuration.metadata));
  const events = new EventsOf(t, kube, configuration);
  for (const source of [one, two]) await untilPullSecret(user.kube, `default/${literalName(source)}`, at(source).name);
  await untilStatusTold(
    clusters,
    created,
    "is served by the default",
    ({ credentialsFrom }) => credentialsFrom === "Global",
  );
  const untilDefault = (reason: string) =>
    untilStatusTold(
      kubermaticConfigurations,
      configuration,
      `is ${reason}`,
      ({ conditions }) => conditions[0]?.reason === reason,
    );
  await untilDefault("Valid");
  assert.equal(sampleIn(await metricsOf(operator), "latchkey_default_valid"), 1);
  assert.deepEqual(await events.until(1), ["Normal DefaultChanged"]);

  await t.test("of which a Cluster may want nothing", async () => {
    await changeOriginal(created, { metadata: marks({ "default-image-pull-secrets": "disabled" }) });
    await untilGone(user.kube, secrets, at(`default/${literalName(one)}`));
    await changeOriginal(created, { metadata: marks({ "default-image-pull-secrets": null }) });
    await untilPullSecret(user.kube, `default/${literalName(one)}`, "one");
  });

  await t.test("whose sources may be missing, which is told once", async () => {
    await deleteSecret(kube, two);
    await untilDefault("SourceMissing");
    await untilGone(user.kube, secrets, at(`default/${literalName(two)}`));
    assert.equal(sampleIn(await metricsOf(operator), "latchkey_default_valid"), 0);
    await createPullSecret(kube, two, "two");
    await untilDefault("Valid");
    assert.deepEqual(events.inShort, ["Normal DefaultChanged", "Warning DefaultInvalid"]);
  });

  const now = await kube.get<KubeObject & { status?: object }>(kubermaticConfigurations, configuration.metadata);
  assert.deepEqual([now?.status, now?.metadata.finalizers], [undefined, undefined]);
  const table = await own.latchkey("status");
  assert.doesNotMatch(table.stdout, /KubermaticConfiguration/);
});

test("a cluster that is only being created is unreachable quietly, and served once it is there", async (t) => {
  const [one = ""] = await sources(t, "one");
  const created = await createOriginal(t, marks({ "image-pull-secrets": one }));
  const events = new EventsOf(t, await own.kube, created);
  await untilTold(created, "Reachable", { status: "False", reason: "KubeconfigMissing" });
  const dead = user.kubeconfig.replace(/server: .*/, "server: https://127.0.0.1:1");
  await bringUp(t, created, dead);
  await untilTold(created, "Reachable", { status: "False", reason: "Unreachable" });
  const key = `${namespaceOfCluster(created.metadata.name)}/internal-admin-kubeconfig`;
  const kube = await own.kube;
  const data = { kubeconfig: Buffer.from(user.kubeconfig).toString("base64") };
  await kube.patch(secrets, at(key), { type: "merge", body: { data } });
  await untilTold(created, "Ready", served);
  await untilPullSecret(user.kube, `default/${literalName(one)}`, "one");
  await events.until(1);
  await untilEvent(events, "Normal Served");
  assert.equal(events.inShort.includes("Warning Unreachable"), false);
  await theSecret(kube, `${namespaceOfCluster(created.metadata.name)}/dockercfg`);
});

test("a field for references wins once Kubermatic has one", async (t) => {
  const kube = await own.kube;
  const times = readyLines(operator).length;
  await installKubermatic(kube, { hasReferences: true });
  await untilReady(operator, times + 1);
  t.after(async () => {
    const now = readyLines(operator).length;
    await installKubermatic(kube);
    await untilReady(operator, now + 1);
  });
  const [field = "", annotation = ""] = await sources(t, "field", "annotation");
  const created = await createOriginal(t, {
    kubeconfig: user.kubeconfig,
    spec: { imagePullSecrets: [at(field)] },
    ...marks({ "image-pull-secrets": annotation }),
  });
  await untilTold(created, "Ready", { ...served, message: /^1 reference / });
  await untilPullSecret(user.kube, `default/${literalName(field)}`, "field");
  assert.equal(await getSecret(user.kube, `default/${literalName(annotation)}`), undefined);
});

test("forced over Kubermatic's CRDs it refuses to start, and names them", async () => {
  const refusal = /--clusters=instead: the CRD clusters\.kubermatic\.k8c\.io was not installed by Latchkey/;
  await assert.rejects(own.operator({ replica: "forced", args: ["--clusters=instead"] }), refusal);
  const applied = await own.latchkey("crds", "--apply");
  assert.match(applied.stdout + applied.stderr, /clusters\.kubermatic\.k8c\.io/);
  const { stdout } = await kubectl(["get", "crd", "clusters.kubermatic.k8c.io", "-o", "jsonpath={.metadata.labels}"]);
  assert.equal(stdout, "");
});
