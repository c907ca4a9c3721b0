import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { KubeObject } from "../../src/api/objects.ts";
import type { Kube } from "../../src/kube/client.ts";
import { removeQuietly, testNamespaces, uniqueName } from "../../src/testing/cluster.ts";
import { type Configuration, configuration, inlineText } from "../../src/testing/defaults.ts";
import { untilTold } from "../../src/testing/kubermatic.ts";
import { metricsOf, untilMode } from "../../src/testing/modes.ts";
import { at } from "../../src/testing/objects.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import { assertRefused } from "../../src/testing/refused.ts";
import { configurations } from "../../src/testing/sidecars.ts";
import { whenAdmissionListens } from "../../src/testing/syncs.ts";
import { type Cluster, cluster, clusters, kubermaticConfigurations } from "../../src/testing/user-clusters.ts";
import { createUser } from "../../src/testing/users.ts";
import { until, untilGone } from "../../src/testing/wait.ts";

const own = ownPlane();

const registration = { name: "latchkey-clusters" };
const nobodyAnswers = /failed calling webhook "references\.\w+\.latchkey\.dev"/;

/** Paused, so that nobody looks for a cluster behind it. */
const draft = (options: Parameters<typeof cluster>[1] = {}) =>
  cluster(uniqueName("cluster"), { ...options, spec: { pause: true, ...options.spec } });

/** The API server hears of a registration a moment after it is stored: then, and not before, it asks in vain. */
async function untilAskedInVain(kube: Kube): Promise<void> {
  for (const deadline = performance.now() + 60_000; ; await sleep(100)) {
    const answer = await kube.create(clusters, draft(), { dryRun: true }).then(
      () => "created",
      (error: Error) => error.message,
    );
    if (nobodyAnswers.test(answer)) return;
    if (performance.now() > deadline) throw new Error(`nobody is asked: ${answer}`);
  }
}

const mark = (name: string, value: string | null) => ({ annotations: { [`latchkey.dev/${name}`]: value } });
const one = { namespace: "vault", name: "one" };

interface Change {
  readonly name: string;
  readonly body: { readonly metadata?: object; readonly spec?: object };
}

const harmless: readonly Change[] = [
  { name: "a reference less", body: { spec: { imagePullSecrets: [one] } } },
  { name: "no reference any more", body: { spec: { imagePullSecrets: null } } },
  { name: "an annotation emptied", body: { metadata: mark("image-pull-secrets", "") } },
  { name: "an annotation taken away", body: { metadata: mark("image-pull-secrets", null) } },
  { name: "all annotations and labels taken away", body: { metadata: { annotations: null, labels: { team: null } } } },
  { name: "a label", body: { metadata: { labels: { team: "b" } } } },
  { name: "a finalizer", body: { metadata: { finalizers: ["latchkey.dev/clusters", "example.com/theirs"] } } },
  { name: "another mode", body: { spec: { injection: { mode: "None" } } } },
  { name: "no default", body: { spec: { disableDefaultImagePullSecrets: true } } },
];
const reaching: readonly Change[] = [
  { name: "a reference more", body: { spec: { imagePullSecrets: [one, { ...one, name: "three" }] } } },
  { name: "another kubeconfig", body: { spec: { kubeconfigSecretRef: { namespace: "other" } } } },
  { name: "no kubeconfig", body: { spec: { kubeconfigSecretRef: null } } },
  { name: "the home", body: { spec: { kubeconfigSecretRef: null, home: true } } },
  { name: "a project", body: { metadata: { labels: { "project-id": "p2" } } } },
  { name: "references by annotation", body: { metadata: mark("image-pull-secrets", "vault/two") } },
  { name: "a kubeconfig by annotation", body: { metadata: mark("kubeconfig-secret", "vault") } },
  { name: "a mode by annotation", body: { metadata: mark("injection-mode", "None") } },
];

test("an outage delays what would send a credential further, and nothing else", async (t) => {
  const kube = await own.kube;
  await using operator = await own.operator();
  const create = async (options: Parameters<typeof cluster>[1]) => {
    const created = await kube.create<Cluster>(clusters, draft(options));
    const { name } = created.metadata;
    t.after(() =>
      removeQuietly(() => kube.patch(clusters, { name }, { type: "merge", body: { metadata: { finalizers: null } } })),
    );
    t.after(() => removeQuietly(() => kube.delete(clusters, { name })));
    return created;
  };
  const full = await create({
    ...{ references: ["vault/one", "vault/two"], kubeconfig: "fleet/c1", labels: { "project-id": "p1", team: "a" } },
    ...{ annotations: { "latchkey.dev/image-pull-secrets": "vault/one", "example.com/theirs": "x" } },
  });
  // Neither labels nor annotations nor a list.
  const bare = await create({});
  await until<Cluster>(
    kube,
    clusters,
    bare.metadata,
    "was looked at",
    (found) => found?.status?.conditions !== undefined,
  );
  await operator.kill();
  await untilAskedInVain(kube);
  const change = ({ metadata: { name } }: Cluster, body: object, options: object = { dryRun: true }) =>
    kube.patch<Cluster>(clusters, { name }, { type: "merge", body }, options);

  for (const { name, body } of harmless) {
    for (const each of [full, bare]) {
      if (each === bare && name === "a reference less") continue;
      await t.test(`not asked about: ${name}, ${each === full ? "of a full one" : "of a bare one"}`, async () => {
        await change(each, body);
      });
    }
  }
  for (const { name, body } of reaching) {
    for (const each of [full, bare]) {
      if (each === bare && name === "no kubeconfig") continue;
      await t.test(`asked about: ${name}, ${each === full ? "of a full one" : "of a bare one"}`, () =>
        assertRefused(change(each, body), 500, nobodyAnswers),
      );
    }
  }
  await t.test("asked about: a new one", () => assertRefused(kube.create(clusters, draft()), 500, nobodyAnswers));
  await t.test("not asked about: a status, and a deletion", async () => {
    const body = { status: { credentialsFrom: "None" } };
    await kube.patch(clusters, bare.metadata, { type: "merge", body }, { subresource: "status" });
    await change(bare, { spec: { imagePullSecrets: [] } }, {});
    await change(bare, { metadata: { finalizers: null } }, {});
    await kube.delete(clusters, bare.metadata);
    await untilGone(kube, clusters, bare.metadata);
  });
});

test("an outage delays a default by reference, and no other", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  await using operator = await own.operator();
  await operator.kill();
  await untilAskedInVain(kube);
  const key = `${namespaces[0]}/mine`;
  const reference = { imagePullSecretRef: one };
  const create = (part?: Parameters<typeof configuration>[1], meta: object = {}) =>
    kube.create<Configuration>(kubermaticConfigurations, configuration(key, part, meta), { dryRun: true });
  await assertRefused(create(reference), 500, nobodyAnswers);
  const annotated = { annotations: { "latchkey.dev/image-pull-secrets": "vault/one" } };
  await assertRefused(create({}, annotated), 500, nobodyAnswers);
  await create();
  await create({});
  await create({ imagePullSecret: "{" });

  await kube.create<Configuration>(kubermaticConfigurations, configuration(key));
  const change = (body: object) =>
    kube.patch<Configuration>(kubermaticConfigurations, at(key), { type: "merge", body }, { dryRun: true });
  await change({ metadata: { labels: { team: "a" } } });
  await change({ spec: { userCluster: { imagePullSecret: inlineText() } } });
  await assertRefused(change({ spec: { userCluster: reference } }), 500, nobodyAnswers);
  await assertRefused(change({ metadata: annotated }), 500, nobodyAnswers);
});

async function writer(t: TestContext): Promise<() => Promise<Cluster>> {
  const verbs = ["create", "get", "list", "watch", "update", "patch", "delete"];
  const user = await createUser(t, { verbs, group: "kubermatic.k8c.io", resource: "clusters" });
  return () => user.kube.create<Cluster>(clusters, draft({ references: ["vault/one"] }), { dryRun: true });
}

interface Registered extends KubeObject {
  readonly webhooks?: readonly { readonly name: string }[];
}

test("the check of references can be switched off, and warnings go on", async (t) => {
  const kube = await own.kube;
  const create = await writer(t);
  await using operator = await own.operator();
  await assertRefused(create(), 403, /may not get Secret vault\/one/);
  await operator.stop();
  await using _lenient = await own.operator({ args: ["--reference-check=off"] });
  const hasNone = (found: Registered | undefined) =>
    found?.webhooks?.every(({ name }) => !name.startsWith("references.")) ?? false;
  const found = await until<Registered>(kube, configurations.validating, registration, "checks no references", hasNone);
  assert.deepEqual(found?.webhooks?.map(({ name }) => name).sort(), [
    ...["annotations.clusters.latchkey.dev", "defaults.kubermaticconfigurations.latchkey.dev"],
  ]);
  for (const deadline = performance.now() + 60_000; ; await sleep(100)) {
    const isTaken = await create().then(
      () => true,
      () => false,
    );
    if (isTaken) break;
    assert.ok(performance.now() < deadline, "whoever may write a Cluster may write any");
  }
});

test("a feature that is off leaves no webhook behind that would block anybody", async () => {
  const kube = await own.kube;
  const operator = await own.operator();
  await operator.kill();
  await untilAskedInVain(kube);
  await using off = await own.operator({ args: ["--clusters=off"] });
  await untilMode(off, "clusters", "off");
  await untilGone(kube, configurations.validating, registration);
  assert.match(await metricsOf(off), /latchkey_feature_mode\{feature="secretsync",mode="instead"\} 1/);
  for (const deadline = performance.now() + 60_000; ; await sleep(100)) {
    const created = await kube.create<Cluster>(clusters, draft({ references: ["vault/one"] })).catch(() => undefined);
    if (created) {
      assert.equal(created.metadata.finalizers, undefined);
      await kube.delete(clusters, created.metadata);
      await untilGone(kube, clusters, created.metadata);
      break;
    }
    assert.ok(performance.now() < deadline, "Clusters can be written");
  }
});

test("forced beside, it goes by annotations even where the CRDs are ours, and tells by them", async (t) => {
  const kube = await own.kube;
  await using operator = await own.operator({ args: ["--clusters=beside"] });
  await untilMode(operator, "clusters", "beside");
  const { name = "" } = draft().metadata;
  t.after(() => removeQuietly(() => kube.delete(clusters, { name })));
  const annotations = { "latchkey.dev/image-pull-secrets": "vault/missing" };
  const body = cluster(name, { spec: { pause: true }, annotations });
  const created = await whenAdmissionListens(() => kube.create<Cluster>(clusters, body));
  await untilTold(created, "Paused", { status: "True", reason: "SpecSaysPaused" });
  const found = await kube.get<Cluster>(clusters, { name });
  assert.deepEqual([found?.status, found?.metadata.finalizers], [undefined, undefined]);
});
