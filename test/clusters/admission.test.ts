import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { KubeObject } from "../../src/api/objects.ts";
import type { Kube } from "../../src/kube/client.ts";
import {
  adminKube,
  createNamespace,
  kubectl,
  removeQuietly,
  testNamespaces,
  uniqueName,
} from "../../src/testing/cluster.ts";
import { type Configuration, configuration, inlineText } from "../../src/testing/defaults.ts";
import { at } from "../../src/testing/objects.ts";
import { assertRefused } from "../../src/testing/refused.ts";
import { createSecret, setValues } from "../../src/testing/secrets.ts";
import { configurations } from "../../src/testing/sidecars.ts";
import { whenAdmissionListens } from "../../src/testing/syncs.ts";
import {
  type Cluster,
  type ClusterOptions,
  type ClusterSpec,
  cluster,
  clusters,
  kubermaticConfigurations,
} from "../../src/testing/user-clusters.ts";
import { createUser, type Right } from "../../src/testing/users.ts";

const verbs = ["create", "get", "list", "watch", "update", "patch", "delete"];
const rightsOn = (resource: string): Right => ({ verbs, group: "kubermatic.k8c.io", resource });
const clusterRights = rightsOn("clusters");

const mayGet = (key: string): Right => ({ verbs: ["get"], resource: "secrets", ...at(key) });
const mayCreateSecrets: Right = { verbs: ["create"], resource: "secrets" };

/** Paused: nobody looks for a cluster behind it. */
async function store(t: TestContext, kube: Kube, options: ClusterOptions & { name?: string } = {}): Promise<Cluster> {
  const { name = uniqueName("cluster"), spec, ...rest } = options;
  const admin = await adminKube();
  t.after(() => removeQuietly(() => admin.delete(clusters, { name })));
  const draft = cluster(name, { ...rest, spec: { pause: true, ...spec } });
  return whenAdmissionListens(() => kube.create<Cluster>(clusters, draft));
}

const denied = (user: string, rights: string, kind = "Cluster") =>
  new RegExp(`user "${user}" may not ${rights}: who writes a ${kind} needs`);

test("who creates a Cluster must be able to read its pull secrets and its kubeconfig himself", async (t) => {
  const { namespaces } = await testNamespaces(t, 2);
  const [vault, fleet] = namespaces;
  const user = await createUser(t, clusterRights, mayGet(`${vault}/one`), mayGet(`${fleet}/k`));
  const kubeconfig = `${fleet}/k`;

  const both = { references: [`${vault}/one`, `${vault}/two`], kubeconfig };
  await assertRefused(store(t, user.kube, both), 403, denied(user.name, `get Secret ${vault}/two`));
  const others = { references: [`${vault}/one`], kubeconfig: `${fleet}/other` };
  await assertRefused(store(t, user.kube, others), 403, denied(user.name, `get Secret ${fleet}/other`));
  const name = uniqueName("cluster");
  const byDefault = { name, spec: { kubeconfigSecretRef: { namespace: fleet } } };
  await assertRefused(store(t, user.kube, byDefault), 403, denied(user.name, `get Secret ${fleet}/${name}-kubeconfig`));
  await store(t, user.kube, { references: [`${vault}/one`], kubeconfig });
  await store(t, user.kube, { kubeconfig });
});

test("who makes the home a Cluster must be able to create Secrets in all of it", async (t) => {
  const { namespaces } = await testNamespaces(t, 1);
  const user = await createUser(t, clusterRights, { ...mayCreateSecrets, namespace: namespaces[0] });
  // Never stored: the home is everybody's.
  const create = () => user.kube.create(clusters, cluster(uniqueName("c"), { spec: { home: true } }), { dryRun: true });
  await assertRefused(create(), 403, denied(user.name, "create Secrets in all namespaces"));
  await user.grant(mayCreateSecrets);
  await create();
});

test("without a word about the kubeconfig, the right to read the one that is found is needed", async (t) => {
  const kube = await adminKube();
  const user = await createUser(t, clusterRights);
  const name = uniqueName("cluster");
  const places = ["internal-admin-kubeconfig", "admin-kubeconfig"].map((each) => `cluster-${name}/${each}`);
  const create = () => user.kube.create(clusters, cluster(name), { dryRun: true });
  const each = places.map((place) => `get Secret ${place}`).join(", ");
  await assertRefused(create(), 403, denied(user.name, each));

  const [first = "", second = ""] = places;
  await createNamespace(t, `cluster-${name}`);
  await createSecret(kube, first, { other: "a key that does not count" });
  await assertRefused(create(), 403, denied(user.name, each));
  await createSecret(kube, second, { kubeconfig: "{}" });
  await assertRefused(create(), 403, denied(user.name, `get Secret ${second}`));
  await user.grant(mayGet(second));
  await create();
  await setValues(kube, first, { kubeconfig: "{}" });
  await assertRefused(create(), 403, denied(user.name, `get Secret ${first}`));
});

interface Change {
  readonly name: string;
  readonly spec?: { readonly [F in keyof ClusterSpec]: ClusterSpec[F] | null };
  readonly metadata?: object;
  /** Names of the Secrets in the vault that the writer must be able to read. */
  readonly reads?: readonly string[];
  readonly isHome?: boolean;
}

const refs = (...names: readonly string[]) => ({
  imagePullSecrets: names.map((name) => ({ namespace: "VAULT", name })),
});
const mark = (name: string, value: string | null) => ({ annotations: { [`latchkey.dev/${name}`]: value } });
const all = ["one", "two", "kubeconfig"];

const changes: readonly Change[] = [
  { name: "pausing and words for people", spec: { pause: true, pauseReason: "why", humanReadableName: "name" } },
  { name: "fewer namespaces", spec: { excludedNamespaces: ["a"] } },
  { name: "another mode", spec: { injection: { mode: "None" } } },
  { name: "what becomes of copies", spec: { onSourceDeleted: "Retain" } },
  { name: "no default", spec: { disableDefaultImagePullSecrets: true } },
  { name: "another order", spec: refs("two", "one") },
  { name: "a reference less", spec: refs("two") },
  { name: "no reference any more", spec: { imagePullSecrets: null } },
  { name: "a reference more", spec: refs("one", "two", "three"), reads: ["three"] },
  { name: "another reference", spec: refs("three"), reads: ["three"] },
  {
    name: "another kubeconfig",
    spec: { kubeconfigSecretRef: { namespace: "VAULT", name: "other" } },
    reads: ["one", "two", "other"],
  },
  {
    name: "another key of it",
    spec: { kubeconfigSecretRef: { namespace: "VAULT", name: "kubeconfig", key: "k" } },
    reads: all,
  },
  {
    name: "the home from now on",
    spec: { home: true, kubeconfigSecretRef: null },
    ...{ reads: ["one", "two"], isHome: true },
  },
  { name: "a project", metadata: { labels: { "project-id": "p2" } }, reads: all },
  { name: "no project any more", metadata: { labels: { "project-id": null } }, reads: all },
  { name: "another label", metadata: { labels: { team: "a" } } },
  { name: "a finalizer of others", metadata: { finalizers: ["example.com/theirs"] } },
  { name: "an annotation of others", metadata: { annotations: { "example.com/a": "b" } } },
  { name: "references by annotation", metadata: mark("image-pull-secrets", "VAULT/one,VAULT/four"), reads: ["four"] },
  { name: "a kubeconfig by annotation", metadata: mark("kubeconfig-secret", "VAULT/more"), reads: [...all, "more"] },
  { name: "another mode by annotation", metadata: mark("injection-mode", "None") },
  { name: "an annotation emptied", metadata: mark("default-image-pull-secrets", "") },
  { name: "an annotation taken away", metadata: mark("default-image-pull-secrets", null) },
];

for (const { name, spec = {}, metadata = {}, reads = [], isHome = false } of changes) {
  test(`what sends a credential no further needs no right: ${name}`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 1);
    const [vault] = namespaces;
    const inVault = <T>(value: T): T => JSON.parse(JSON.stringify(value).replaceAll("VAULT", vault)) as T;
    const { metadata: ref } = await store(t, kube, {
      references: [`${vault}/one`, `${vault}/two`],
      kubeconfig: `${vault}/kubeconfig`,
      labels: { "project-id": "p1" },
      annotations: { "latchkey.dev/default-image-pull-secrets": "disabled" },
    });
    const body = inVault({ spec, metadata });
    const change = (by: Kube) =>
      whenAdmissionListens(() => by.patch<Cluster>(clusters, ref, { type: "merge", body }, { dryRun: true }));

    const user = await createUser(t, clusterRights);
    const missing = [
      ...reads.map((secret) => `get Secret ${vault}/${secret}`),
      ...(isHome ? ["create Secrets in all namespaces"] : []),
    ];
    if (missing.length === 0) await change(user.kube);
    else await assertRefused(change(user.kube), 403, denied(user.name, missing.join(", ")));
    await user.grant(...reads.map((secret) => mayGet(`${vault}/${secret}`)), ...(isHome ? [mayCreateSecrets] : []));
    await change(user.kube);
  });
}

test("who sets the default must be able to read the Secret himself, and a text is his own", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [vault] = namespaces;
  const user = await createUser(t, rightsOn("kubermaticconfigurations"));
  const key = `${vault}/mine`;
  const write = (by: Kube, part: Parameters<typeof configuration>[1], annotations = {}) =>
    whenAdmissionListens(() =>
      by.create<Configuration>(kubermaticConfigurations, configuration(key, part, { annotations }), { dryRun: true }),
    );
  const named = { imagePullSecretRef: { namespace: vault, name: "one" } };
  const words = denied(user.name, `get Secret ${vault}/one`, "KubermaticConfiguration");
  await assertRefused(write(user.kube, named), 403, words);
  await assertRefused(write(user.kube, {}, { "latchkey.dev/image-pull-secrets": `${vault}/one` }), 403, words);
  await write(user.kube, { imagePullSecret: inlineText("his own") });
  await write(user.kube, undefined);

  await whenAdmissionListens(() =>
    kube.create<Configuration>(kubermaticConfigurations, configuration(key, { imagePullSecret: "" })),
  );
  const change = (userCluster: object | null) =>
    whenAdmissionListens(() =>
      user.kube.patch<Configuration>(kubermaticConfigurations, at(key), {
        type: "merge",
        body: { spec: { userCluster } },
      }),
    );
  await assertRefused(change({ imagePullSecret: null, ...named }), 403, words);
  await change({ imagePullSecret: "{" });
  await user.grant(mayGet(`${vault}/one`));
  await change({ imagePullSecret: null, ...named });
  await change(null);
});

const warnings = [
  {
    name: "an annotation on a stand-in",
    draft: () =>
      cluster(uniqueName("c"), { spec: { pause: true }, annotations: { "latchkey.dev/injection-mode": "no" } }),
    words: /Warning: annotation latchkey\.dev\/injection-mode is ignored/,
  },
  {
    name: "an annotation on a configuration",
    draft: () =>
      configuration(`default/${uniqueName("k")}`, {}, { annotations: { "latchkey.dev/image-pull-secrets": "a/b" } }),
    words: /Warning: annotation latchkey\.dev\/image-pull-secrets is ignored/,
  },
  {
    name: "a default that is no JSON",
    draft: () => configuration(`default/${uniqueName("k")}`, { imagePullSecret: '{"auths": {},}' }),
    words: /Warning: spec\.userCluster\.imagePullSecret: not valid JSON at line 1, column 14/,
  },
  {
    name: "a default without credentials",
    draft: () => configuration(`default/${uniqueName("k")}`, { imagePullSecret: '{"auths": {}}' }),
    words: /Warning: spec\.userCluster\.imagePullSecret: no auths/,
  },
];
for (const { name, draft, words } of warnings) {
  test(`taken with a warning: ${name}`, async () => {
    const input = JSON.stringify(draft());
    const { stderr } = await whenAdmissionListens(async () => {
      const ran = await kubectl(["create", "--dry-run=server", "-f", "-"], { input });
      if (ran.code !== 0) throw new Error(ran.stderr);
      return ran;
    });
    assert.match(stderr, words);
  });
}

interface Registered extends KubeObject {
  readonly webhooks?: readonly {
    readonly name: string;
    readonly failurePolicy: string;
    readonly sideEffects: string;
  }[];
}

test("only the check of references fails closed", async () => {
  const found = await (await adminKube()).get<Registered>(configurations.validating, { name: "latchkey-clusters" });
  const policies = found?.webhooks?.map(({ name, failurePolicy }) => [name, failurePolicy]);
  assert.deepEqual(Object.fromEntries(policies ?? []), {
    "references.clusters.latchkey.dev": "Fail",
    "references.kubermaticconfigurations.latchkey.dev": "Fail",
    "annotations.clusters.latchkey.dev": "Ignore",
    "defaults.kubermaticconfigurations.latchkey.dev": "Ignore",
  });
});
