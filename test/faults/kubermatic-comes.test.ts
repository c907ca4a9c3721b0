import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { namespaces as namespaceKind, secrets } from "../../src/api/objects.ts";
import { testNamespaces, uniqueName } from "../../src/testing/cluster.ts";
import { injectionIn } from "../../src/testing/cluster-scenes.ts";
import {
  createConfiguration,
  inlineCopyName,
  inlineText,
  removeConfiguration,
  untilDefault,
} from "../../src/testing/defaults.ts";
import {
  changeOriginal,
  createOriginal,
  installKubermatic,
  type KubermaticCluster,
  namespaceOfCluster,
  original,
  untilStatusTold,
  untilTold,
} from "../../src/testing/kubermatic.ts";
import { untilMode, untilReady } from "../../src/testing/modes.ts";
import { at } from "../../src/testing/objects.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import { assertRefused } from "../../src/testing/refused.ts";
import { getSecret, theSecret } from "../../src/testing/secrets.ts";
import { configurations, createPullSecret, literalName, untilPullSecret } from "../../src/testing/sidecars.ts";
import { referencesAnnotation, statusAnnotation } from "../../src/testing/told.ts";
import {
  clusters,
  kubermaticConfigurations,
  serveCluster,
  untilCluster,
  userCluster,
} from "../../src/testing/user-clusters.ts";
import { until, untilGone } from "../../src/testing/wait.ts";
import type { Operator } from "../../tools/local/operator.ts";

let operator: Operator;
const own = ownPlane(async (plane) => {
  await (await plane.kube).create(namespaceKind, { metadata: { name: "kubermatic" } });
  operator = await plane.operator();
});
const user = userCluster();

const finalizer = "latchkey.dev/clusters";
const served = { status: "True", reason: "Served" } as const;

async function createSource(t: TestContext, token = "one"): Promise<string> {
  const { kube, namespaces } = await testNamespaces(t, 1);
  await createPullSecret(kube, `${namespaces[0]}/quay`, token);
  return `${namespaces[0]}/quay`;
}

async function servedOriginal(t: TestContext, options: { finalizers?: string[] } = {}) {
  const source = await createSource(t);
  const copy = `default/${literalName(source)}`;
  const annotations = { [referencesAnnotation]: source };
  const created = await createOriginal(t, { kubeconfig: user.kubeconfig, annotations, ...options });
  await untilTold(created, "Ready", served);
  await untilPullSecret(user.kube, copy, "one");
  return { created, source, copy };
}

async function untilClean(copy: string): Promise<void> {
  await untilGone(user.kube, secrets, at(copy));
  // The copies go last.
  assert.deepEqual(await injectionIn(user.kube), []);
}

test("a stand-in that the original replaces is served on by annotations at once, without our finalizer", async (t) => {
  const kube = await own.kube;
  const source = await createSource(t);
  const copy = `default/${literalName(source)}`;
  const { cluster: created, namespace } = await serveCluster(t, { user, references: [source] });
  const { name } = created.metadata;
  const ready = await untilCluster(kube, name, "Ready", served);
  assert.deepEqual(ready.metadata.finalizers, [finalizer]);
  const { uid } = (await theSecret(user.kube, copy)).metadata;

  await installKubermatic(kube, { kinds: [clusters] });
  await untilMode(operator, "clusters", "beside");
  const isReleased = (found: KubermaticCluster | undefined) => found?.metadata.finalizers === undefined;
  const found = await until<KubermaticCluster>(kube, clusters, { name }, "has no finalizer", isReleased);
  assert.equal(found?.metadata.deletionTimestamp, undefined);
  await untilReady(operator, 2);
  // This schema keeps what it does not know: the fields still say it.
  await untilTold(created, "Ready", served);
  await changeOriginal(created as unknown as KubermaticCluster, {
    spec: { imagePullSecrets: null, kubeconfigSecretRef: null },
  });
  // It asks for nothing any more, and without a kubeconfig nothing can be taken back.
  const isSilent = (seen: KubermaticCluster | undefined) => !seen?.metadata.annotations?.[statusAnnotation];
  await until<KubermaticCluster>(kube, clusters, { name }, "says nothing any more", isSilent);
  const annotations = {
    [referencesAnnotation]: source,
    "latchkey.dev/kubeconfig-secret": `${namespace}/${name}-kubeconfig`,
  };
  await changeOriginal(created as unknown as KubermaticCluster, { metadata: { annotations } });
  await untilTold(created, "Ready", served);
  assert.equal((await theSecret(user.kube, copy)).metadata.uid, uid, "it is the same copy");

  await t.test("while the other kind is still ours, with its fields and its status", async () => {
    const key = "kubermatic/ours";
    await createConfiguration(t, key, { imagePullSecret: inlineText("default") });
    await untilDefault(kube, key, { status: "True", reason: "Valid" });
    await changeOriginal(created as unknown as KubermaticCluster, {
      metadata: { annotations: { [referencesAnnotation]: null } },
    });
    await untilPullSecret(user.kube, `default/${inlineCopyName}`, "default");
    await untilStatusTold(
      clusters,
      created,
      "goes by the default",
      ({ credentialsFrom }) => credentialsFrom === "Global",
    );
    assert.match(
      (await own.latchkey("status")).stdout,
      /clusters +beside +clusters\.kubermatic\.k8c\.io +foreign.*\n.*stand-in/,
    );
    await removeConfiguration(kube, key);
  });
  await installKubermatic(kube);
  await untilReady(operator, 3);
});

test("a Cluster that is being deleted is cleaned up while Kubermatic still holds it", async (t) => {
  const kube = await own.kube;
  const { created, copy } = await servedOriginal(t, { finalizers: ["kubermatic.k8c.io/cleanup-usercluster"] });
  await kube.delete(clusters, created.metadata);
  await untilClean(copy);
  const held = await kube.get<KubermaticCluster>(clusters, created.metadata);
  assert.deepEqual(held?.metadata.finalizers, ["kubermatic.k8c.io/cleanup-usercluster"]);

  await t.test("and left alone from then on", async () => {
    await changeOriginal(created, { metadata: { labels: { still: "going" } } });
    const other = await createSource(t, "two");
    // A later one that is served: by then this one would have been as well.
    const next = await createOriginal(t, {
      kubeconfig: user.kubeconfig,
      annotations: { [referencesAnnotation]: other },
    });
    await untilTold(next, "Ready", served);
    assert.equal(await getSecret(user.kube, copy), undefined);
  });
});

test("a Cluster that vanished is cleaned up once, for its kubeconfig is still there", async (t) => {
  const kube = await own.kube;
  const { created, copy } = await servedOriginal(t);
  await kube.delete(clusters, created.metadata);
  await untilGone(kube, clusters, created.metadata);
  await untilClean(copy);
});

test("Kubermatic's own pause is honoured, also by who leaves", async (t) => {
  const kube = await own.kube;
  const { created, copy } = await servedOriginal(t);
  await changeOriginal(created, { spec: { pause: true, pauseReason: "upgrade" } });
  await untilTold(created, "Paused", { status: "True", reason: "SpecSaysPaused", message: /upgrade/ });
  const from = await user.position();
  await user.kube.delete(secrets, at(copy));
  await kube.delete(clusters, created.metadata);
  await untilGone(kube, clusters, created.metadata);

  const { name, annotations = {} } = created.metadata;
  const again = await createOriginal(t, { name, annotations });
  const body = { status: { namespaceName: namespaceOfCluster(name) } };
  await kube.patch(clusters, { name }, { type: "merge", body }, { subresource: "status" });
  await untilTold(again, "Ready", served);
  await untilPullSecret(user.kube, copy, "one");
  const writes = await user.writes({ from });
  assert.deepEqual(
    writes.map(({ verb, resource }) => `${verb} ${resource}`),
    ["create secrets"],
    "what was left is gone on with",
  );
});

test("what got in without us is a broken level, and no default takes its place", async (t) => {
  const kube = await own.kube;
  const [source, fallback] = [await createSource(t), await createSource(t, "fallback")];
  await operator.kill();
  await kube.delete(configurations.validating, { name: "latchkey-clusters" });
  const create = async (annotations: Readonly<Record<string, string>>) => {
    for (const deadline = performance.now() + 60_000; ; await sleep(100)) {
      const created = await createOriginal(t, { kubeconfig: user.kubeconfig, annotations }).catch(() => undefined);
      if (created) return created;
      assert.ok(performance.now() < deadline, "nobody is asked any more");
    }
  };
  const bad = await create({ [referencesAnnotation]: `${source},quay` });
  const configuration = {
    namespace: "kubermatic",
    name: "kubermatic",
    annotations: { [referencesAnnotation]: fallback },
  };
  t.after(() => kube.delete(kubermaticConfigurations, configuration));
  await kube.create(kubermaticConfigurations, { metadata: configuration });

  operator = await own.operator();
  const message = /annotation latchkey\.dev\/image-pull-secrets: "quay" needs a namespace/;
  const told = await untilTold(bad, "PullSecretsReady", { status: "False", reason: "InvalidReferences", message });
  assert.equal(told.credentialsFrom, "Cluster");
  await changeOriginal(bad, { metadata: { annotations: { [referencesAnnotation]: null } } });
  await untilStatusTold(clusters, bad, "goes by the default", ({ credentialsFrom }) => credentialsFrom === "Global");
  await untilPullSecret(user.kube, `default/${literalName(fallback)}`, "fallback");
  assert.equal(await getSecret(user.kube, `default/${literalName(source)}`), undefined);

  await t.test("a default that cannot be read is one as well", async () => {
    const body = { metadata: { annotations: { [referencesAnnotation]: "quay" } } };
    await assertRefused(
      kube.patch(kubermaticConfigurations, configuration, { type: "merge", body }),
      422,
      /needs a namespace/,
    );
  });
});

const nobodyAnswers = /failed calling webhook "references\.clusters\.latchkey\.dev"/;
const annotated = (name: string, value: string | null) => ({
  metadata: { annotations: { [`latchkey.dev/${name}`]: value } },
});
const oddSpecs = [
  { imagePullSecrets: null },
  { imagePullSecrets: "text" },
  { imagePullSecrets: { a: 1 } },
  { home: "x" },
];

test("Kubermatic goes on while nobody answers here, but for what would send a credential further", async (t) => {
  const kube = await own.kube;
  const plain = await createOriginal(t, { spec: { pause: true } });
  const source = await createSource(t);
  const annotations = {
    [referencesAnnotation]: `${source},${at(source).namespace}/two`,
    "latchkey.dev/injection-mode": "None",
  };
  const full = await createOriginal(t, { spec: { pause: true }, labels: { "project-id": "p1" }, annotations });
  await untilTold(full, "Paused", { status: "True" });
  await operator.kill();
  const create = (options: object) => kube.create(clusters, original(uniqueName("c"), options), { dryRun: true });
  await assertRefused(create({ annotations }), 500, nobodyAnswers);

  await create({});
  await create({ labels: { "project-id": "p1" } });
  for (const spec of oddSpecs) await create({ spec });
  await kube.create(clusters, { metadata: { name: uniqueName("c") } }, { dryRun: true });
  const change = (each: KubermaticCluster, body: object) =>
    kube.patch(clusters, each.metadata, { type: "merge", body }, { dryRun: true });
  for (const each of [plain, full]) {
    await change(each, { spec: { version: "1.37.0", imagePullSecret: { name: "x" } } });
    for (const spec of oddSpecs) await change(each, { spec });
    await change(each, { metadata: { labels: { a: "b" }, finalizers: ["kubermatic.k8c.io/x"] } });
    await change(each, { metadata: { annotations: { "example.com/a": "b", [statusAnnotation]: "{}" } } });
    await change(each, { metadata: { annotations: null } });
    await change(each, annotated("image-pull-secrets", ""));
    await change(each, annotated("image-pull-secrets", null));
    await kube.patch(
      clusters,
      each.metadata,
      { type: "merge", body: { status: { phase: "x" } } },
      { subresource: "status", dryRun: true },
    );
    await assertRefused(change(each, annotated("image-pull-secrets", "a/b")), 500, nobodyAnswers);
    await assertRefused(change(each, annotated("kubeconfig-secret", "a/b")), 500, nobodyAnswers);
    await assertRefused(change(each, { spec: { kubeconfigSecretRef: { namespace: "a" } } }), 500, nobodyAnswers);
    await assertRefused(change(each, annotated("injection-mode", "Auto")), 500, nobodyAnswers);
    await assertRefused(
      change(each, { spec: { imagePullSecrets: [{ name: "a", namespace: "b" }] } }),
      500,
      nobodyAnswers,
    );
  }
  await change(plain, { metadata: { labels: { "project-id": "p2" } } });
  await assertRefused(change(full, { metadata: { labels: { "project-id": "p2" } } }), 500, nobodyAnswers);
  const configuration = { namespace: "kubermatic", name: "odd" };
  for (const spec of [undefined, {}, { userCluster: null }, { userCluster: {} }, { imagePullSecret: "{}" }]) {
    await kube.create(kubermaticConfigurations, { metadata: configuration, ...(spec && { spec }) }, { dryRun: true });
  }
  operator = await own.operator();
});
