import assert from "node:assert/strict";
import { before, test } from "node:test";
import type { Draft, KubeObject } from "../../src/api/objects.ts";
import type { Kube } from "../../src/kube/client.ts";
import { adminKube, kubectl, uniqueName } from "../../src/testing/cluster.ts";
import { assertRefused } from "../../src/testing/refused.ts";
import { whenAdmissionListens } from "../../src/testing/syncs.ts";
import { type Cluster, clusters, kubermaticConfigurations } from "../../src/testing/user-clusters.ts";

let kube: Kube;
before(async () => {
  kube = await adminKube();
});

/** A dry run: validated like any other write, and nothing is left behind. */
const create = (spec: unknown, name = uniqueName("c")): Promise<Cluster> =>
  whenAdmissionListens(() =>
    kube.create<Cluster>(clusters, { metadata: { name }, spec } as Draft<Cluster>, { dryRun: true }),
  );

interface Configuration extends KubeObject {
  readonly spec: { readonly userCluster?: object };
}

const configure = (spec: unknown): Promise<Configuration> => {
  const metadata = { name: uniqueName("k"), namespace: "default" };
  const draft = { metadata, spec } as Draft<Configuration>;
  return whenAdmissionListens(() => kube.create<Configuration>(kubermaticConfigurations, draft, { dryRun: true }));
};

const reference = { namespace: "vault", name: "quay" };
const references = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ namespace: "vault", name: `q${at}` }));
const names = (count: number) => Array.from({ length: count }, (_, at) => `app-${at}`);

const accepted = {
  "no spec": undefined,
  "an empty spec": {},
  "the home": { home: true },
  "a kubeconfig, and not the home": { home: false, kubeconfigSecretRef: { namespace: "fleet" } },
  "a kubeconfig by name and key": { kubeconfigSecretRef: { namespace: "fleet", name: "a.b-c", key: "My_key.1" } },
  "an empty list of references": { imagePullSecrets: [] },
  "16 references": { imagePullSecrets: references(16) },
  "one name in two namespaces": { imagePullSecrets: [reference, { ...reference, namespace: "other" }] },
  "the longest names": { imagePullSecrets: [{ namespace: "v".repeat(63), name: "q".repeat(253) }] },
  "names that begin with a digit": { imagePullSecrets: [{ namespace: "0v", name: "0.q" }] },
  "an empty list of namespaces": { excludedNamespaces: [] },
  "64 namespaces": { excludedNamespaces: names(64) },
  "texts of 1024 characters": { pause: true, pauseReason: "ä".repeat(1024), humanReadableName: "ö".repeat(1024) },
  "Delete and Policy": { onSourceDeleted: "Delete", injection: { mode: "Policy" } },
  "Retain and ServiceAccount": { onSourceDeleted: "Retain", injection: { mode: "ServiceAccount" } },
  "None, and no default": { injection: { mode: "None" }, disableDefaultImagePullSecrets: true },
};
for (const [name, spec] of Object.entries(accepted)) {
  test(`Cluster accepted: ${name}`, async () => {
    await create(spec);
  });
}

test("defaults of a Cluster: not the home, not paused, the default counts, Delete, Auto", async () => {
  const defaults = {
    ...{ home: false, pause: false, disableDefaultImagePullSecrets: false },
    ...{ onSourceDeleted: "Delete", injection: { mode: "Auto" } },
  };
  for (const spec of [undefined, {}, { injection: {} }]) assert.deepEqual((await create(spec)).spec, defaults);
});

for (const name of ["c", "c1", "a-b", "a".repeat(46)]) {
  test(`name of a Cluster accepted: ${name}`, async () => {
    await create({}, name);
  });
}
for (const name of ["1c", "a.b", "a-", "A", "a_b", "a".repeat(47)]) {
  test(`name of a Cluster refused with 422: ${name}`, () =>
    assertRefused(
      create({}, name),
      422,
      /metadata\.name.*(should match|may not be (more|longer) than|RFC 1123|Too long)/s,
    ));
}

const kubeconfig = (ref: object) => ({ kubeconfigSecretRef: ref });
const refused: Readonly<Record<string, readonly [spec: unknown, words: RegExp]>> = {
  "17 references": [{ imagePullSecrets: references(17) }, /spec\.imagePullSecrets.*at most 16/],
  "a reference twice": [{ imagePullSecrets: [reference, reference] }, /spec\.imagePullSecrets\[1\].*Duplicate/],
  "a reference without a namespace": [
    { imagePullSecrets: [{ name: "q" }] },
    /spec\.imagePullSecrets\[0\]\.namespace.*Required/,
  ],
  "a reference without a name": [
    { imagePullSecrets: [{ namespace: "v" }] },
    /spec\.imagePullSecrets\[0\]\.name.*Required/,
  ],
  "an empty namespace": [
    { imagePullSecrets: [{ ...reference, namespace: "" }] },
    /spec\.imagePullSecrets\[0\]\.namespace/,
  ],
  "an empty name": [{ imagePullSecrets: [{ ...reference, name: "" }] }, /spec\.imagePullSecrets\[0\]\.name/],
  "a namespace with a dot": [
    { imagePullSecrets: [{ ...reference, namespace: "a.b" }] },
    /imagePullSecrets\[0\]\.namespace.*should match/,
  ],
  "a namespace of 64": [
    { imagePullSecrets: [{ ...reference, namespace: "v".repeat(64) }] },
    /imagePullSecrets\[0\]\.namespace.*63/,
  ],
  "a name in capitals": [
    { imagePullSecrets: [{ ...reference, name: "Quay" }] },
    /imagePullSecrets\[0\]\.name.*should match/,
  ],
  "a name of 254": [
    { imagePullSecrets: [{ ...reference, name: "q".repeat(254) }] },
    /imagePullSecrets\[0\]\.name.*253/,
  ],
  "a reference that is a text": [
    { imagePullSecrets: ["vault/quay"] },
    /spec\.imagePullSecrets\[0\].*must be of type object/,
  ],
  "references that are no list": [{ imagePullSecrets: reference }, /spec\.imagePullSecrets.*must be of type array/],
  "a kubeconfig without a namespace": [kubeconfig({ name: "k" }), /spec\.kubeconfigSecretRef\.namespace.*Required/],
  "a kubeconfig in a bad namespace": [
    kubeconfig({ namespace: "A" }),
    /spec\.kubeconfigSecretRef\.namespace.*should match/,
  ],
  "a kubeconfig by a bad name": [
    kubeconfig({ namespace: "a", name: "a/b" }),
    /spec\.kubeconfigSecretRef\.name.*should match/,
  ],
  "a kubeconfig under a bad key": [
    kubeconfig({ namespace: "a", key: "a/b" }),
    /spec\.kubeconfigSecretRef\.key.*should match/,
  ],
  "a kubeconfig under an empty key": [kubeconfig({ namespace: "a", key: "" }), /spec\.kubeconfigSecretRef\.key/],
  "the home, with a kubeconfig": [
    { home: true, ...kubeconfig({ namespace: "a" }) },
    /spec.*home and kubeconfigSecretRef exclude each other/,
  ],
  "the home as a word": [{ home: "yes" }, /spec\.home.*must be of type boolean/],
  "paused as a word": [{ pause: "yes" }, /spec\.pause.*must be of type boolean/],
  "a reason of 1025": [{ pauseReason: "a".repeat(1025) }, /spec\.pauseReason.*1024/],
  "a name for people of 1025": [{ humanReadableName: "a".repeat(1025) }, /spec\.humanReadableName.*1024/],
  "no default, as a word": [{ disableDefaultImagePullSecrets: "yes" }, /spec\.disableDefaultImagePullSecrets.*boolean/],
  "65 namespaces": [{ excludedNamespaces: names(65) }, /spec\.excludedNamespaces.*at most 64/],
  "a namespace twice": [{ excludedNamespaces: ["a", "a"] }, /spec\.excludedNamespaces\[1\].*Duplicate/],
  "a namespace that is none": [{ excludedNamespaces: ["kube_system"] }, /spec\.excludedNamespaces\[0\].*should match/],
  "another word for a deleted source": [{ onSourceDeleted: "Keep" }, /spec\.onSourceDeleted.*"Delete", "Retain"/],
  "another mode": [
    { injection: { mode: "policy" } },
    /spec\.injection\.mode.*"Auto", "Policy", "ServiceAccount", "None"/,
  ],
  "a mode of a later stage": [{ injection: { mode: "Webhook" } }, /spec\.injection\.mode.*Unsupported value/],
};
for (const [name, [spec, words]] of Object.entries(refused)) {
  test(`Cluster refused with 422: ${name}`, () => assertRefused(create(spec), 422, words));
}

test("what is valid when it is created is checked as well when it is changed", async (t) => {
  const name = uniqueName("c");
  t.after(() => kube.delete(clusters, { name }));
  const draft = { metadata: { name }, spec: { pause: true } } as Draft<Cluster>;
  await whenAdmissionListens(() => kube.create<Cluster>(clusters, draft));
  const change = (spec: object) => kube.patch(clusters, { name }, { type: "merge", body: { spec } }, { dryRun: true });
  await assertRefused(change({ home: true, kubeconfigSecretRef: { namespace: "a" } }), 422, /exclude each other/);
  await assertRefused(change({ imagePullSecrets: references(17) }), 422, /spec\.imagePullSecrets.*at most 16/);
});

test("two appliers each own a reference", async (t) => {
  const name = uniqueName("c");
  t.after(() => kube.delete(clusters, { name }));
  const apply = (fieldManager: string, key: string) => {
    const spec = { pause: true, imagePullSecrets: [{ namespace: "vault", name: key }] };
    const draft = { apiVersion: "kubermatic.k8c.io/v1", kind: "Cluster", metadata: { name }, spec };
    return whenAdmissionListens(() => kube.apply<Cluster>(clusters, draft as Draft<Cluster>, { fieldManager }));
  };
  await apply("anna", "one");
  const both = await apply("bert", "two");
  assert.deepEqual(both.spec.imagePullSecrets?.map((each) => each.name).sort(), ["one", "two"]);
  const moved = await apply("anna", "three");
  assert.deepEqual(moved.spec.imagePullSecrets?.map((each) => each.name).sort(), ["three", "two"]);
});

const text = (length: number) => ({ userCluster: { imagePullSecret: "x".repeat(length) } });

const acceptedConfigurations = {
  "no spec": undefined,
  "an empty spec": {},
  "an empty part": { userCluster: {} },
  "an empty text": text(0),
  "a text that is no JSON": text(1),
  "65,536 characters": text(65_536),
  "a reference": { userCluster: { imagePullSecretRef: reference } },
};
for (const [name, spec] of Object.entries(acceptedConfigurations)) {
  test(`KubermaticConfiguration accepted: ${name}`, async () => {
    await configure(spec);
  });
}

const userCluster = (part: object) => ({ userCluster: part });
const refusedConfigurations: Readonly<Record<string, readonly [spec: unknown, words: RegExp]>> = {
  "65,537 characters": [text(65_537), /spec\.userCluster\.imagePullSecret.*65536/],
  "a text that is an object": [
    userCluster({ imagePullSecret: { auths: {} } }),
    /imagePullSecret.*must be of type string/,
  ],
  "a reference without a namespace": [
    userCluster({ imagePullSecretRef: { name: "a" } }),
    /imagePullSecretRef\.namespace.*Required/,
  ],
  "a reference without a name": [
    userCluster({ imagePullSecretRef: { namespace: "a" } }),
    /imagePullSecretRef\.name.*Required/,
  ],
  "a reference to a bad name": [
    userCluster({ imagePullSecretRef: { namespace: "a", name: "B" } }),
    /imagePullSecretRef\.name.*should match/,
  ],
  "both at once": [
    userCluster({ imagePullSecret: "{}", imagePullSecretRef: reference }),
    /spec\.userCluster.*imagePullSecret and imagePullSecretRef exclude each other/,
  ],
};
for (const [name, [spec, words]] of Object.entries(refusedConfigurations)) {
  test(`KubermaticConfiguration refused with 422: ${name}`, () => assertRefused(configure(spec), 422, words));
}

test("unknown fields are refused by clients that ask for it, and left out otherwise", async () => {
  const { spec } = await create({ imagePullSecret: reference, injection: { mode: "None", failurePolicy: "Fail" } });
  assert.deepEqual(spec.injection, { mode: "None" });
  assert.equal("imagePullSecret" in spec, false);
  const manifest = (kind: string, metadata: object, fields: object) =>
    JSON.stringify({ apiVersion: "kubermatic.k8c.io/v1", kind, metadata, spec: fields });
  for (const input of [
    manifest("Cluster", { name: uniqueName("c") }, { onReferenceRemoved: "Revoke" }),
    manifest("KubermaticConfiguration", { name: uniqueName("k"), namespace: "default" }, { imagePullSecret: "{}" }),
  ]) {
    const { code, stderr } = await kubectl(["create", "--dry-run=server", "-f", "-"], { input });
    assert.equal(code, 1);
    assert.match(stderr, /unknown field "spec\.(onReferenceRemoved|imagePullSecret)"/);
  }
});
