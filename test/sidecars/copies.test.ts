import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type Secret, secrets } from "../../src/api/objects.ts";
import type { Kube } from "../../src/kube/client.ts";
import { auditPosition, operatorWrites } from "../../src/testing/audit.ts";
import { createNamespace, removeQuietly, testNamespaces, uniqueName } from "../../src/testing/cluster.ts";
import { at, encoded } from "../../src/testing/objects.ts";
import { createSecret, deleteSecret, getSecret, patchSecret, setValues, theSecret } from "../../src/testing/secrets.ts";
import {
  changeSidecarSet,
  createInjectedPod,
  createPod,
  createPullSecret,
  createSidecarSet,
  dockerConfig,
  dockerConfigType,
  injectedLabel,
  injectedListAnnotation,
  labelsFor,
  literalName,
  type PodOptions,
  pods,
  pullSecretsAnnotation,
  pullSecretsOf,
  type SidecarSet,
  setPodPhase,
  sidecarSets,
  suffixedName,
  untilPullSecret,
  untilSetCondition,
} from "../../src/testing/sidecars.ts";
import { until, untilGone, untilMetadata } from "../../src/testing/wait.ts";

const injected = (t: TestContext, kube: Kube, key: string, set: SidecarSet, options: PodOptions = {}) =>
  createInjectedPod(t, kube, key, { ...options, labels: labelsFor(set) });

/**
 * The same, and it names exactly these Secrets. A review that runs out of time gives both names of a copy: on a machine
 * that is busy with other tests that is no failure, but to be tried again.
 */
async function injectedWith(
  t: TestContext,
  kube: Kube,
  key: string,
  set: SidecarSet,
  names: readonly string[],
): Promise<void> {
  for (const deadline = performance.now() + 60_000; ; ) {
    const found = pullSecretsOf(await injected(t, kube, key, set));
    const hasBoth = found.length > names.length && names.every((name) => found.includes(name));
    if (!hasBoth || performance.now() > deadline) {
      assert.deepEqual(found, names);
      return;
    }
    await kube.delete(pods, at(key));
    await untilGone(kube, pods, at(key));
  }
}

/** A Secret with a copy in one namespace, where a Pod uses it. */
async function served(t: TestContext, kube: Kube, vault: string, team: string) {
  const source = `${vault}/pull`;
  const copy = `${team}/${literalName(source)}`;
  await createPullSecret(kube, source);
  const set = await createSidecarSet(t, kube, { pullSecrets: [source] });
  await injected(t, kube, `${team}/web`, set);
  await untilPullSecret(kube, copy);
  return { source, copy, set };
}

const secretsIn = async (kube: Kube, namespace: string) =>
  (await kube.list<Secret>(secrets, { namespace })).map(({ metadata }) => metadata.name).sort();

test("one copy a namespace, made once, and there with the first Pod; the source's own namespace too", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 3);
  const [vault, one, two] = namespaces;
  await createPullSecret(kube, `${vault}/pull`);
  const set = await createSidecarSet(t, kube, { pullSecrets: [`${vault}/pull`] });
  const from = await auditPosition(kube, vault);
  for (const key of [`${one}/a`, `${one}/b`, `${two}/a`, `${one}/c`, `${vault}/a`]) {
    // Never the source, always the copy.
    await injectedWith(t, kube, key, set, [`${vault}-pull`]);
    assert.ok(await getSecret(kube, `${at(key).namespace}/${vault}-pull`), "the copy is there when the Pod is");
  }
  await untilSetCondition(kube, set, "PullSecretsReady", { message: "3 copies of 1 Secret" });
  const writes = await operatorWrites(kube, vault, { from });
  const copies = writes.filter(({ resource, name }) => resource === "secrets" && name === `${vault}-pull`);
  assert.deepEqual(
    copies.map(({ verb, namespace }) => [verb, namespace]),
    [
      ["create", one],
      ["create", two],
      ["create", vault],
    ],
  );
});

test("a copy says whose it is, and has neither owner reference nor finalizer", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  const { source, copy, set } = await served(t, kube, vault, team);
  const { metadata } = await theSecret(kube, copy);
  const home = await kube.getMetadata(
    { group: "", version: "v1", plural: "namespaces", kind: "Namespace", namespaced: false },
    { name: "kube-system" },
  );
  assert.equal(metadata.labels?.["latchkey.dev/owner-uid"], home?.metadata.uid);
  assert.equal(metadata.labels?.["latchkey.dev/source-hash"], suffixedName(source).slice(-10));
  assert.equal(metadata.annotations?.["latchkey.dev/source"], source);
  assert.equal(metadata.annotations?.["latchkey.dev/owner"], "Installation");
  assert.deepEqual([metadata.ownerReferences, metadata.finalizers], [undefined, undefined]);
  const stored = await kube.get<SidecarSet>(sidecarSets, { name: set.metadata.name });
  assert.equal(stored?.metadata.finalizers, undefined);
});

test("two SidecarSets and their Pods share one copy", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  const { source, copy, set } = await served(t, kube, vault, team);
  const other = await createSidecarSet(t, kube, { pullSecrets: [source] });
  await injected(t, kube, `${team}/other`, other);
  const { metadata } = await theSecret(kube, copy);
  await kube.delete(sidecarSets, { name: set.metadata.name });
  await kube.delete(pods, at(`${team}/web`));
  await setValues(kube, source, dockerConfig("robot", "second"));
  const after = await untilPullSecret(kube, copy, "second");
  assert.equal(after.metadata.uid, metadata.uid, "the one that is left still has its copy");
});

test("a source that comes after the Pods is copied under the name that they carry", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 3);
  const [vault, plain, taken] = namespaces;
  const source = `${vault}/pull`;
  const set = await createSidecarSet(t, kube, { pullSecrets: [source] });
  await createSecret(kube, `${taken}/${literalName(source)}`);
  await injectedWith(t, kube, `${plain}/web`, set, [literalName(source)]);
  // The other name is taken.
  await injectedWith(t, kube, `${taken}/web`, set, [suffixedName(source)]);
  // Free again, but the Pod does not name it.
  await deleteSecret(kube, `${taken}/${literalName(source)}`);
  await createPullSecret(kube, source);
  await untilPullSecret(kube, `${plain}/${literalName(source)}`);
  await untilPullSecret(kube, `${taken}/${suffixedName(source)}`);
  assert.equal(await getSecret(kube, `${taken}/${literalName(source)}`), undefined);
});

test("a source that never comes is copied nowhere, and holds up nothing else", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createPullSecret(kube, `${vault}/there`);
  const set = await createSidecarSet(t, kube, { pullSecrets: [`${vault}/never`, `${vault}/there`] });
  await injectedWith(t, kube, `${team}/web`, set, [`${vault}-never`, `${vault}-there`]);
  await untilPullSecret(kube, `${team}/${vault}-there`);
  assert.deepEqual(await secretsIn(kube, team), [`${vault}-there`]);
});

test("namespace omitted: the Secret of default is meant, and while there is none also the Pod's own", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [team] = namespaces;
  const name = uniqueName("pull");
  const set = await createSidecarSet(t, kube, { pullSecrets: [name] });
  await injectedWith(t, kube, `${team}/before`, set, [`default-${name}`, name]);
  assert.deepEqual(await secretsIn(kube, team), []);
  t.after(() => removeQuietly(() => deleteSecret(kube, `default/${name}`)));
  await createPullSecret(kube, `default/${name}`);
  await untilPullSecret(kube, `${team}/default-${name}`);
  await injectedWith(t, kube, `${team}/after`, set, [`default-${name}`]);
});

test("rotation reaches every copy in place", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 4);
  const [vault, ...teams] = namespaces;
  const { source, set } = await served(t, kube, vault, teams[0]);
  for (const team of teams.slice(1)) await injected(t, kube, `${team}/web`, set);
  const copies = teams.map((team) => `${team}/${literalName(source)}`);
  const before = await Promise.all(copies.map((copy) => untilPullSecret(kube, copy)));
  await untilSetCondition(kube, set, "PullSecretsReady", { message: "3 copies of 1 Secret" });
  const from = await auditPosition(kube, vault);
  await setValues(kube, source, dockerConfig("robot", "second"));
  const after = await Promise.all(copies.map((copy) => untilPullSecret(kube, copy, "second")));
  assert.deepEqual(
    after.map(({ metadata }) => metadata.uid),
    before.map(({ metadata }) => metadata.uid),
  );
  const writes = await operatorWrites(kube, vault, { from });
  const ours = writes.filter(({ name }) => name === literalName(source) || name === set.metadata.name);
  assert.deepEqual(
    ours.map(({ verb, resource }) => [verb, resource]),
    [
      ["patch", "secrets"],
      ["patch", "secrets"],
      ["patch", "secrets"],
    ],
  );
});

test("copies that somebody edits or deletes are restored under their name", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  const { copy } = await served(t, kube, vault, team);
  const { metadata } = await theSecret(kube, copy);
  await setValues(kube, copy, dockerConfig("robot", "evil"));
  const edited = await untilPullSecret(kube, copy);
  assert.equal(edited.metadata.uid, metadata.uid);
  await patchSecret(kube, copy, { data: { extra: "eA==" } });
  await untilMetadata(kube, copy, "has lost the key of somebody else", ({ data = {} }) => !("extra" in data));
  await deleteSecret(kube, copy);
  const restored = await until<Secret>(
    kube,
    secrets,
    at(copy),
    "is there again",
    (seen) => seen !== undefined && seen.metadata.uid !== metadata.uid,
  );
  assert.ok(restored);
  await untilPullSecret(kube, copy);
});

test("a deleted source is revoked after 3 s, and copied again when it comes back", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  const { source, copy } = await served(t, kube, vault, team);
  const before = await theSecret(kube, copy);
  await deleteSecret(kube, source);
  const deletedMs = performance.now();
  await createPullSecret(kube, source, "second");
  const replaced = await untilPullSecret(kube, copy, "second");
  // On a machine that is busy the new source may come too late to be an update.
  if (performance.now() - deletedMs < 2_000)
    assert.equal(replaced.metadata.uid, before.metadata.uid, "back in time: in place");

  await deleteSecret(kube, source);
  const gone = performance.now();
  await untilGone(kube, secrets, at(copy));
  assert.ok(performance.now() - gone > 2_500, "not at once");
  await createPullSecret(kube, source, "third");
  await untilPullSecret(kube, copy, "third");
});

test("a source replaced by one of a wrong type is revoked at once", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  const { source, copy, set } = await served(t, kube, vault, team);
  await deleteSecret(kube, source);
  await createSecret(kube, source);
  await untilGone(kube, secrets, at(copy));
  await injectedWith(t, kube, `${team}/later`, set, []);
  await deleteSecret(kube, source);
  await createPullSecret(kube, source, "second");
  await untilPullSecret(kube, copy, "second");
});

test("the owner of a source has the last word", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  const { source, copy } = await served(t, kube, vault, team);
  await patchSecret(kube, source, { metadata: { annotations: { "latchkey.dev/no-copy": "true" } } });
  await untilGone(kube, secrets, at(copy));
  await patchSecret(kube, source, { metadata: { annotations: { "latchkey.dev/no-copy": null } } });
  await untilPullSecret(kube, copy);
});

test("a copy is no source", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 3);
  const [vault, team, third] = namespaces;
  const { copy } = await served(t, kube, vault, team);
  await createPullSecret(kube, `${vault}/marker`);
  const set = await createSidecarSet(t, kube, { pullSecrets: [copy, `${vault}/marker`] });
  await injectedWith(t, kube, `${third}/web`, set, [`${vault}-marker`]);
  await untilPullSecret(kube, `${third}/${vault}-marker`);
  assert.deepEqual(await secretsIn(kube, third), [`${vault}-marker`]);
});

test("sources whose names coincide when joined: the first keeps the name, both are served", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [team] = namespaces;
  const short = uniqueName("a");
  for (const name of [short, `${short}-b`]) await createNamespace(t, name);
  const [first, second] = [`${short}-b/c`, `${short}/b-c`] as const;
  assert.equal(literalName(first), literalName(second));
  await createPullSecret(kube, first, "first");
  await createPullSecret(kube, second, "second");
  const set = await createSidecarSet(t, kube, { pullSecrets: [first, second] });
  await injectedWith(t, kube, `${team}/web`, set, [literalName(first), suffixedName(second)]);
  await untilPullSecret(kube, `${team}/${literalName(first)}`, "first");
  await untilPullSecret(kube, `${team}/${suffixedName(second)}`, "second");
});

test("foreign Secrets are left alone: under one name the other is used, under both none", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 3);
  const [vault, once, twice] = namespaces;
  const source = `${vault}/pull`;
  await createPullSecret(kube, source);
  const places = [
    `${once}/${literalName(source)}`,
    `${twice}/${literalName(source)}`,
    `${twice}/${suffixedName(source)}`,
  ];
  const before = await Promise.all(places.map((key) => createSecret(kube, key, { theirs: "yes" })));
  const set = await createSidecarSet(t, kube, { pullSecrets: [source] });
  await injectedWith(t, kube, `${once}/web`, set, [suffixedName(source)]);
  await injectedWith(t, kube, `${twice}/web`, set, []);
  await untilPullSecret(kube, `${once}/${suffixedName(source)}`);
  const after = await Promise.all(places.map((key) => theSecret(kube, key)));
  assert.deepEqual(
    after.map(({ metadata }) => metadata.resourceVersion),
    before.map(({ metadata }) => metadata.resourceVersion),
  );
});

test("the longest names", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  const fits = `${vault}/${"s".repeat(253 - vault.length - 1)}`;
  const tooLong = `${vault}/${"s".repeat(253 - vault.length)}`;
  await createPullSecret(kube, fits, "fits");
  await createPullSecret(kube, tooLong, "too long");
  const set = await createSidecarSet(t, kube, { pullSecrets: [fits, tooLong] });
  await injectedWith(t, kube, `${team}/web`, set, [literalName(fits), suffixedName(tooLong)]);
  assert.deepEqual([literalName(fits).length, suffixedName(tooLong).length], [253, 253]);
  await untilPullSecret(kube, `${team}/${literalName(fits)}`, "fits");
  await untilPullSecret(kube, `${team}/${suffixedName(tooLong)}`, "too long");
  const seen = await untilSetCondition(kube, set, "PullSecretsReady", {
    status: "True",
    message: "2 copies of 2 Secrets",
  });
  assert.deepEqual(
    seen.status?.imagePullSecrets?.map(({ copyName, suffixed }) => [copyName, suffixed]),
    [
      [literalName(fits), 0],
      [suffixedName(tooLong), 0],
    ],
  );
});

const endings = [
  {
    name: "the SidecarSet is deleted",
    end: (kube: Kube, set: SidecarSet) => kube.delete(sidecarSets, { name: set.metadata.name }),
  },
  {
    name: "the reference is removed",
    end: (kube: Kube, set: SidecarSet) => changeSidecarSet(kube, set, { spec: { imagePullSecrets: [] } }),
  },
];

for (const { name, end } of endings) {
  test(`${name}: a copy stays as it is while a Pod names it, then goes`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 3);
    const [vault, team, idle] = namespaces;
    const { source, copy, set } = await served(t, kube, vault, team);
    const unused = `${idle}/${literalName(source)}`;
    await injected(t, kube, `${idle}/web`, set);
    await untilPullSecret(kube, unused);
    await kube.delete(pods, at(`${idle}/web`));
    await end(kube, set);
    await untilGone(kube, secrets, at(unused));
    // Nobody lists the source any more, so a rotation goes nowhere.
    await setValues(kube, source, dockerConfig("robot", "second"));
    await createPullSecret(kube, `${vault}/marker`);
    const marker = await createSidecarSet(t, kube, { pullSecrets: [`${vault}/marker`] });
    await injected(t, kube, `${team}/marker`, marker);
    await untilPullSecret(kube, copy);

    await kube.delete(pods, at(`${team}/web`));
    await untilGone(kube, secrets, at(copy));
    assert.ok(await getSecret(kube, `${team}/${vault}-marker`));
    // With the last copy there is nothing to follow the source for.
    await untilMetadata(
      kube,
      source,
      "has lost our label",
      ({ metadata }) => !metadata.labels?.["latchkey.dev/source"],
    );
  });
}

test("a Pod of a user that names a copy keeps it, until it has gone or finished", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  const { copy, set } = await served(t, kube, vault, team);
  const spec = { imagePullSecrets: [{ name: at(copy).name }] };
  for (const name of ["theirs-1", "theirs-2"]) await createPod(t, kube, `${team}/${name}`, { spec });
  await kube.delete(sidecarSets, { name: set.metadata.name });
  await kube.delete(pods, at(`${team}/web`));
  await createPullSecret(kube, `${vault}/marker`);
  const marker = await createSidecarSet(t, kube, { pullSecrets: [`${vault}/marker`] });
  await injected(t, kube, `${team}/marker`, marker);
  await untilPullSecret(kube, `${team}/${vault}-marker`);
  assert.ok(await getSecret(kube, copy), "a Pod of a user names it");
  await kube.delete(pods, at(`${team}/theirs-1`));
  await setPodPhase(kube, `${team}/theirs-2`, "Running");
  assert.ok(await getSecret(kube, copy), "another Pod of a user names it");
  await setPodPhase(kube, `${team}/theirs-2`, "Succeeded");
  await untilGone(kube, secrets, at(copy));
});

test("a copy kept for a Pod is revoked with its source, though nobody lists it any more", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  const { source, copy, set } = await served(t, kube, vault, team);
  await kube.delete(sidecarSets, { name: set.metadata.name });
  await deleteSecret(kube, source);
  await untilGone(kube, secrets, at(copy));
});

const forgeries = [
  { name: "of a SidecarSet for other Pods", labels: () => ({ app: "nobody" }), sets: (set: string) => set },
  { name: "of a SidecarSet that does not exist", labels: () => ({ app: "nobody" }), sets: () => "no-such-set" },
  { name: "without any SidecarSet", labels: () => ({ app: "nobody" }), sets: () => "" },
] as const;

for (const { name, labels, sets } of forgeries) {
  test(`forged marks ${name} copy nothing`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 3);
    const [vault, team, thief] = namespaces;
    const { source, set } = await served(t, kube, vault, team);
    const forged = await createPod(t, kube, `${thief}/web`, {
      labels: { ...labels(), [injectedLabel]: "true" },
      annotations: {
        [injectedListAnnotation]: sets(set.metadata.name),
        [pullSecretsAnnotation]: `${source}=${literalName(source)}`,
      },
      spec: { imagePullSecrets: [{ name: literalName(source) }] },
    });
    assert.equal(forged.metadata.labels?.[injectedLabel], "true", "marks on a Pod that nothing matches are left alone");
    await createPullSecret(kube, `${vault}/marker`);
    const marker = await createSidecarSet(t, kube, { pullSecrets: [`${vault}/marker`] });
    await injected(t, kube, `${thief}/marker`, marker);
    await untilPullSecret(kube, `${thief}/${vault}-marker`);
    await setValues(kube, source, dockerConfig("robot", "second"));
    await untilPullSecret(kube, `${team}/${literalName(source)}`, "second");
    assert.deepEqual(await secretsIn(kube, thief), [`${vault}-marker`]);
  });
}

const plants = [
  { name: "with a guessed fingerprint", fingerprintOf: () => "x".repeat(43) },
  { name: "with the fingerprint of a copy", fingerprintOf: (copied: string) => copied },
];

for (const { name, fingerprintOf } of plants) {
  test(`a Secret that only carries the marks of a copy is never filled: ${name}`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 3);
    const [vault, team, thief] = namespaces;
    const { source, copy } = await served(t, kube, vault, team);
    const { labels = {}, annotations = {} } = (await theSecret(kube, copy)).metadata;
    const key = `${thief}/${literalName(source)}`;
    const fingerprint = fingerprintOf(annotations["latchkey.dev/fingerprint"] ?? "");
    const marks = { ...annotations, "latchkey.dev/self": key, "latchkey.dev/fingerprint": fingerprint };
    const planted = { ".dockerconfigjson": "{}" };
    await createSecret(kube, key, planted, { type: dockerConfigType, labels, annotations: marks });
    for (const token of ["second", "third"]) {
      await setValues(kube, source, dockerConfig("robot", token));
      await untilPullSecret(kube, copy, token);
    }
    const found = await getSecret(kube, key);
    if (found) assert.deepEqual(found.data, encoded(planted));
  });
}
