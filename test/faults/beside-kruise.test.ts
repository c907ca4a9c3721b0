import assert from "node:assert/strict";
import { after, type TestContext, test } from "node:test";
import { crds, type KubeObject, namespaces as namespaceKind, secrets } from "../../src/api/objects.ts";
import { auditPosition, operatorWrites } from "../../src/testing/audit.ts";
import { testNamespaces, uniqueName } from "../../src/testing/cluster.ts";
import { EventsOf } from "../../src/testing/events.ts";
import {
  hashAnnotation,
  installKruiseCrd,
  inVersion,
  Kruise,
  kruiseConfiguration,
  kruiseCrdName,
  removeCrd,
} from "../../src/testing/kruise.ts";
import { readyLines, untilMode, untilReady } from "../../src/testing/modes.ts";
import { at } from "../../src/testing/objects.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import { assertRefused } from "../../src/testing/refused.ts";
import { deleteSecret, getSecret } from "../../src/testing/secrets.ts";
import {
  changeSidecarSet,
  configurations,
  createInjectedPod,
  createPod,
  createPullSecret,
  createSidecarSet,
  injectedLabel,
  injectedListAnnotation,
  labelsFor,
  literalName,
  type Pod,
  pod,
  pods,
  pullSecretsAnnotation,
  pullSecretsOf,
  type SidecarSet,
  type SidecarSetOptions,
  serviceAccounts,
  sidecarSet,
  sidecarSets,
  storeSidecarSet,
  untilPullSecret,
} from "../../src/testing/sidecars.ts";
import { whenAdmissionListens } from "../../src/testing/syncs.ts";
import {
  followStates,
  referencesAnnotation,
  statusAnnotation,
  type Told,
  toldOf,
  untilTold,
  withoutStatus,
} from "../../src/testing/told.ts";
import { createUser, type Right } from "../../src/testing/users.ts";
import { until, untilGone } from "../../src/testing/wait.ts";
import type { Operator } from "../../tools/local/operator.ts";

let kruise: Kruise | undefined;
let operator: Operator;
const own = ownPlane(async (plane) => {
  const kube = await plane.kube;
  await removeCrd(kube);
  await installKruiseCrd(kube);
  kruise = new Kruise(kube);
  await kruise.begin();
  operator = await plane.operator();
});
after(() => kruise?.[Symbol.asyncDispose]());

/** With our annotation for these sources. */
const storeSet = async (
  t: TestContext,
  references: string | undefined,
  options: SidecarSetOptions = {},
): Promise<SidecarSet> =>
  storeSidecarSet(t, await own.kube, {
    ...options,
    ...(references !== undefined && { annotations: { [referencesAnnotation]: references } }),
  });

const pullSecretsCondition = ({ conditions }: Told) => conditions.find(({ type }) => type === "PullSecretsReady");

const stateIs = (state: string) => (told: Told) => told.imagePullSecrets.every((each) => each.state === state);

/** Of the CRD: another generation of the features is opened for it. */
async function changeCrd(options: Parameters<typeof installKruiseCrd>[1]): Promise<void> {
  const times = readyLines(operator).length;
  await installKruiseCrd(await own.kube, options);
  await untilReady(operator, times + 1);
}

const containersOf = ({ spec }: Pod) => spec.containers.map(({ name }) => name);

test("what Kruise injects gets the copy, after Kruise and after its names, and nothing else", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await untilMode(operator, "sidecars", "beside");
  await createPullSecret(kube, `${vault}/pull`);
  const set = await storeSet(t, `${vault}/pull`, { spec: { imagePullSecrets: [{ name: "of-kruise" }] } });

  const spec = { imagePullSecrets: [{ name: "mine" }] };
  const annotations = { mine: "yes" };
  const created = await createInjectedPod(t, kube, `${team}/web`, { labels: labelsFor(set), annotations, spec });
  assert.ok(await getSecret(kube, `${team}/${vault}-pull`), "the copy is there when the Pod is");
  await untilPullSecret(kube, `${team}/${vault}-pull`);
  assert.deepEqual(pullSecretsOf(created), ["mine", "of-kruise", `${vault}-pull`]);
  assert.deepEqual(containersOf(created), [set.metadata.name, "app"]);
  assert.deepEqual(created.metadata.labels, { ...labelsFor(set), [injectedLabel]: "true" });
  assert.deepEqual(created.metadata.annotations, {
    ...annotations,
    [injectedListAnnotation]: set.metadata.name,
    [hashAnnotation]: created.metadata.annotations?.[hashAnnotation],
    [pullSecretsAnnotation]: `${vault}/pull=${vault}-pull`,
  });
  assert.match(created.metadata.annotations?.[hashAnnotation] ?? "", /"hash":"kruise"/);

  const asked = kruise?.asked.filter(({ metadata }) => metadata.name === "web") ?? [];
  assert.ok(asked.length > 0);
  for (const { metadata } of asked) assert.equal(metadata.labels?.[injectedLabel], undefined, "Kruise comes first");
});

test("webhooks are registered so that they follow Kruise's, in the version that is preferred", async () => {
  const kube = await own.kube;
  const registered = await kube.list<KubeObject & { webhooks?: readonly Hook[] }>(configurations.mutating);
  const names = registered.map(({ metadata }) => metadata.name).sort();
  assert.ok(names.indexOf(kruiseConfiguration) < names.indexOf("latchkey-sidecars"));
  const [onPods] = registered.find(({ metadata }) => metadata.name === "latchkey-sidecars")?.webhooks ?? [];
  assert.equal(onPods?.reinvocationPolicy, "IfNeeded");
  assert.deepEqual(onPods?.matchConditions ?? [], []);
  const validating = await kube.get<KubeObject & { webhooks?: readonly Hook[] }>(configurations.validating, {
    name: "latchkey-sidecars",
  });
  assert.deepEqual(
    validating?.webhooks?.flatMap(({ rules }) => rules[0]?.apiVersions),
    ["v1beta1", "v1beta1"],
  );
});

interface Hook {
  readonly reinvocationPolicy?: string;
  readonly matchConditions?: readonly object[];
  readonly rules: readonly { readonly apiVersions: readonly string[] }[];
}

test("no byte of a SidecarSet is written besides a status that is short and rarely written", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 3);
  const [vault, team, other] = namespaces;
  const sources = Array.from({ length: 16 }, (_, index) => `${vault}/${"long-".repeat(38)}${index}`);
  const from = await auditPosition(kube, vault);
  const set = await storeSet(t, sources.join(","), {
    spec: { injectionStrategy: { paused: false }, updateStrategy: { type: "NotUpdate", made: { up: ["field"] } } },
  });
  const states = await followStates(t, set);
  const untouched = await storeSet(t, undefined);
  await untilTold(set, "misses all", stateIs("SourceMissing"));

  await createInjectedPod(t, kube, `${team}/web`, { labels: labelsFor(set) });
  await createInjectedPod(t, kube, `${other}/web`, { labels: labelsFor(set) });
  for (const [index, source] of sources.slice(0, 4).entries()) {
    await createPullSecret(kube, source);
    await untilPullSecret(kube, `${team}/${literalName(source)}`);
    if (index === 2) await deleteSecret(kube, source);
  }
  await untilTold(set, "has three of its sources", ({ pullSecrets }) => pullSecrets === "3/16");

  const writes = await operatorWrites(kube, vault, { from });
  const ours = writes.filter(({ resource }) => resource === "sidecarsets");
  assert.deepEqual(
    [...new Set(ours.map(({ verb, subresource, name }) => [verb, subresource, name].join()))],
    [`patch,,${set.metadata.name}`],
  );
  const times = ours.map((write) => Date.parse(write.at));
  assert.ok(times.length > 1);
  for (const [index, time] of times.slice(1).entries()) assert.ok(time - (times[index] ?? 0) >= 9_900, `${times}`);

  // The first one may be of after the first write.
  assert.ok(states.length >= ours.length);
  for (const state of states) {
    assert.deepEqual(withoutStatus(state), withoutStatus(set));
    assert.ok(Buffer.byteLength(state.metadata.annotations?.[statusAnnotation] ?? "") <= 4_096);
    const fields = state.metadata.managedFields?.filter(({ operation }) => operation === "Apply");
    for (const { fieldsV1 } of fields ?? []) {
      assert.deepEqual(fieldsV1, { "f:metadata": { "f:annotations": { [`f:${statusAnnotation}`]: {} } } });
    }
  }
  assert.deepEqual(await kube.get(sidecarSets, untouched.metadata), untouched);
});

test("entries that are forged in Kruise's list copy nothing", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 4);
  const [vault, team, forged, other] = namespaces;
  const source = `${vault}/pull`;
  await createPullSecret(kube, source);
  const set = await storeSet(t, source);
  const another = await storeSet(t, undefined);
  await createInjectedPod(t, kube, `${team}/web`, { labels: labelsFor(set) });
  const annotations = {
    [injectedListAnnotation]: set.metadata.name,
    [pullSecretsAnnotation]: `${source}=${literalName(source)}`,
  };
  const spec = { imagePullSecrets: [{ name: literalName(source) }] };
  const labels = { ...labelsFor(another), [injectedLabel]: "true" };
  const created = await createPod(t, kube, `${forged}/web`, { labels, annotations, spec });
  const listed = created.metadata.annotations?.[injectedListAnnotation]?.split(",");
  assert.deepEqual(listed?.sort(), [set.metadata.name, another.metadata.name].sort(), "Kruise keeps what is forged");
  assert.deepEqual(pullSecretsOf(created), [literalName(source)]);

  // Told after the forged one, and then a pass over the source.
  await createInjectedPod(t, kube, `${other}/web`, { labels: labelsFor(set) });
  const told = await untilTold(set, "has both copies", ({ imagePullSecrets }) => imagePullSecrets[0]?.copies === 2);
  assert.deepEqual([told.pullSecrets, told.imagePullSecrets[0]?.state], ["1/1", "Copied"]);
  await deleteSecret(kube, `${team}/${literalName(source)}`);
  await untilPullSecret(kube, `${team}/${literalName(source)}`);
  assert.equal(await getSecret(kube, `${forged}/${literalName(source)}`), undefined);
});

const badAnnotations = [
  { value: "a/b/c", words: /latchkey\.dev\/image-pull-secrets: "a\/b\/c" does not name a Secret/ },
  { value: "a/b,a/b", words: /"a\/b" is there twice/ },
  { value: "a/b,,c/d", words: /an entry is empty/ },
  { value: "A/b", words: /"A\/b" does not name a Secret/ },
  { value: Array.from({ length: 17 }, (_, index) => `a/b${index}`).join(), words: /17 entries are more than 16/ },
] as const;

test("an annotation that says nothing is refused, whichever version it is written in", async (t) => {
  const kube = await own.kube;
  const good = await storeSet(t, undefined);
  for (const { value, words } of badAnnotations) {
    const annotations = { [referencesAnnotation]: value };
    await assertRefused(storeSidecarSet(t, kube, { annotations }), 422, words);
    await assertRefused(changeSidecarSet(kube, good, { metadata: { annotations } }), 422, words);
    for (const version of ["v1alpha1", "v1beta1"] as const) {
      const draft = sidecarSet(uniqueName("set"), { annotations });
      await assertRefused(kube.create(inVersion(version), draft, { dryRun: true }), 422, words);
    }
  }
  await changeSidecarSet(kube, good, { metadata: { annotations: { [referencesAnnotation]: "" } } });
});

test("who names a Secret must be able to read it, and so must who sends it further", async (t) => {
  const { namespaces } = await testNamespaces(t, 1);
  const [vault] = namespaces;
  const verbs = ["create", "get", "list", "watch", "update", "patch", "delete"];
  const mayWrite: Right = { verbs, group: "apps.kruise.io", resource: "sidecarsets" };
  const user = await createUser(t, mayWrite);
  const words = new RegExp(`user "${user.name}" may not get Secret ${vault}/pull`);
  const annotations = { [referencesAnnotation]: `${vault}/pull` };
  await assertRefused(storeSidecarSet(t, user.kube, { annotations }), 403, words);
  const plain = await storeSidecarSet(t, user.kube);
  await assertRefused(changeSidecarSet(user.kube, plain, { metadata: { annotations } }), 403, words);

  const set = await storeSet(t, `${vault}/pull`);
  const wider = { selector: { matchLabels: { app: "another" } } };
  await assertRefused(changeSidecarSet(user.kube, set, { spec: wider }), 403, words);
  const narrower = { selector: { matchLabels: { tier: "web" } } };
  await changeSidecarSet(user.kube, set, { spec: narrower });
  await changeSidecarSet(user.kube, set, { metadata: { annotations: { [referencesAnnotation]: null } } });

  await user.grant({ verbs: ["get"], resource: "secrets", namespace: vault, name: "pull" });
  await changeSidecarSet(user.kube, set, { metadata: { annotations } });
});

test("without a namespace the source is in default, and no plain name is added while it is missing", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [team] = namespaces;
  const source = `default/${uniqueName("pull")}`;
  t.after(() => deleteSecret(kube, source));
  const set = await storeSet(t, at(source).name);
  const created = await createInjectedPod(t, kube, `${team}/web`, { labels: labelsFor(set) });
  assert.deepEqual(pullSecretsOf(created), [literalName(source)]);
  await untilTold(set, "misses its source", stateIs("SourceMissing"));
  await createPullSecret(kube, source);
  await untilPullSecret(kube, `${team}/${literalName(source)}`);
});

test("a copy's name that stands in Kruise's own field is there once", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createPullSecret(kube, `${vault}/pull`);
  const imagePullSecrets = [{ name: `${vault}-pull` }, { name: "of-kruise" }];
  const set = await storeSet(t, `${vault}/pull`, { spec: { imagePullSecrets } });
  const created = await createInjectedPod(t, kube, `${team}/web`, { labels: labelsFor(set) });
  assert.deepEqual(pullSecretsOf(created), [`${vault}-pull`, "of-kruise"]);
  await untilPullSecret(kube, `${team}/${vault}-pull`);
});

test("a dry run writes nothing, a namespace that opted out and an account that lists its Secrets get no name", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createPullSecret(kube, `${vault}/pull`);
  const set = await storeSet(t, `${vault}/pull`);
  const told = new EventsOf(t, kube, set);
  const labels = labelsFor(set);
  const out = uniqueName("out");
  t.after(() => kube.delete(namespaceKind, { name: out }));
  await kube.create(namespaceKind, { metadata: { name: out, labels: { "latchkey.dev/inject": "false" } } });
  const account = { name: "strict", annotations: { "kubernetes.io/enforce-mountable-secrets": "true" } };
  await kube.create(serviceAccounts, { metadata: { ...account, namespace: team } });
  const spec = { serviceAccountName: "strict" };

  // The first one tells that the API server asks by now.
  const probe = await storeSet(t, `${vault}/other`);
  await createInjectedPod(t, kube, `${team}/probe`, { labels: labelsFor(probe) });
  const strict = await createPod(t, kube, `${team}/strict`, { labels, spec });
  const opted = await createPod(t, kube, `${out}/web`, { labels });
  for (const created of [strict, opted]) {
    assert.deepEqual(containersOf(created), [set.metadata.name, "app"]);
    assert.deepEqual(pullSecretsOf(created), []);
    assert.equal(created.metadata.labels?.[injectedLabel], undefined);
  }
  assert.deepEqual(await told.until(1), ["Warning InjectionSkipped"]);
  const dry = await kube.create<Pod>(pods, pod(`${team}/dry`, { labels }), { dryRun: true });
  assert.deepEqual(pullSecretsOf(dry), [`${vault}-pull`]);
  for (const namespace of [team, out]) assert.equal(await getSecret(kube, `${namespace}/${vault}-pull`), undefined);
});

test("an annotation that is taken away takes the status with it, and the copy once no Pod names it", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createPullSecret(kube, `${vault}/pull`);
  const set = await storeSet(t, `${vault}/pull`);
  const created = await createInjectedPod(t, kube, `${team}/web`, { labels: labelsFor(set) });
  await untilTold(set, "is told about", () => true);
  await changeSidecarSet(kube, set, { metadata: { annotations: { [referencesAnnotation]: null } } });
  await until<SidecarSet>(kube, sidecarSets, set.metadata, "has no status", (found) => !toldOf(found));
  assert.ok(await getSecret(kube, `${team}/${vault}-pull`), "a Pod names it");
  await kube.delete(pods, created.metadata);
  await untilGone(kube, secrets, at(`${team}/${vault}-pull`));
});

test("Kruise may change its CRD at any time", async (t) => {
  const kube = await own.kube;
  await changeCrd({ serves: ["v1alpha1"], hasNamespaces: true });

  await t.test("a field that says where a pull secret is wins, and the annotation is reported", async () => {
    const { namespaces } = await testNamespaces(t, 2);
    const [vault, team] = namespaces;
    for (const name of ["field", "annotation"]) await createPullSecret(kube, `${vault}/${name}`);
    const set = await storeSet(t, `${vault}/annotation`, {
      spec: { imagePullSecrets: [{ namespace: vault, name: "field" }, { name: "plain" }] },
    });
    const created = await createInjectedPod(t, kube, `${team}/web`, { labels: labelsFor(set) });
    assert.deepEqual(pullSecretsOf(created), ["field", "plain", `${vault}-field`]);
    await untilPullSecret(kube, `${team}/${vault}-field`);
    assert.equal(await getSecret(kube, `${team}/${vault}-annotation`), undefined);
    const told = await untilTold(set, "is told about", () => true);
    assert.deepEqual(
      told.imagePullSecrets.map(({ name }) => name),
      ["field"],
    );
    assert.match(pullSecretsCondition(told)?.message ?? "", /latchkey\.dev\/image-pull-secrets is ignored/);

    const user = await createUser(t, { verbs: ["create"], group: "apps.kruise.io", resource: "sidecarsets" });
    const spec = { imagePullSecrets: [{ namespace: vault, name: "field" }] };
    const words = new RegExp(`may not get Secret ${vault}/field`);
    await assertRefused(storeSidecarSet(t, user.kube, { spec }), 403, words);
  });

  await t.test("the older version alone", () => serveIn(t, "v1alpha1"));
  await changeCrd({ serves: ["v1beta1"] });
  await t.test("the newer version alone", () => serveIn(t, "v1beta1"));
  await changeCrd({});
});

/** The whole of it in one version. */
async function serveIn(t: TestContext, version: "v1alpha1" | "v1beta1"): Promise<void> {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createPullSecret(kube, `${vault}/pull`);
  const resource = inVersion(version);
  const draft = sidecarSet(uniqueName("set"), { annotations: { [referencesAnnotation]: `${vault}/pull` } });
  const set = await whenAdmissionListens(() => kube.create<SidecarSet>(resource, draft));
  const created = await createInjectedPod(t, kube, `${team}/web`, { labels: labelsFor(set) });
  assert.deepEqual(pullSecretsOf(created), [`${vault}-pull`]);
  await untilPullSecret(kube, `${team}/${vault}-pull`);
  await untilTold(set, "is told about", () => true, resource);
  const bad = sidecarSet(uniqueName("set"), { annotations: { [referencesAnnotation]: "a/b/c" } });
  await assertRefused(kube.create(resource, bad, { dryRun: true }), 422, /does not name a Secret/);
  const status = await own.latchkey("status");
  assert.match(status.stdout, /sidecars +beside/, status.stderr);
  await kube.delete(resource, set.metadata);
}

test("uninstall takes the status away; what got in without us is reported later, and puts nothing into Pods", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createPullSecret(kube, `${vault}/pull`);
  const set = await storeSet(t, `${vault}/pull`);
  await createInjectedPod(t, kube, `${team}/web`, { labels: labelsFor(set) });
  await untilTold(set, "has its copy", stateIs("Copied"));
  const crd = await kube.get<KubeObject>(crds, kruiseCrdName);

  await operator.stop();
  const done = await own.latchkey("uninstall", "--crds=delete");
  assert.equal(done.code, 0, done.stderr);
  const left = await kube.get<SidecarSet>(sidecarSets, set.metadata);
  assert.ok(left);
  assert.equal(left.metadata.annotations?.[statusAnnotation], undefined);
  assert.deepEqual(withoutStatus(left), withoutStatus(set));
  assert.deepEqual(await kube.get<KubeObject>(crds, kruiseCrdName), crd, "not our CRD");
  const kept = await kube.list<KubeObject>(configurations.mutating);
  assert.deepEqual(
    kept.map(({ metadata }) => metadata.name),
    [kruiseConfiguration],
  );

  const bad = await storeSet(t, "a/b/c");
  const installed = await own.latchkey("crds", "--apply");
  assert.match(installed.stderr + installed.stdout, /sidecarsets\.apps\.kruise\.io/);
  operator = await own.operator();
  const told = await untilTold(bad, "is reported", ({ conditions }) => conditions.length > 0);
  const condition = pullSecretsCondition(told);
  assert.deepEqual([condition?.status, condition?.reason], ["False", "InvalidReferences"]);
  assert.match(condition?.message ?? "", /"a\/b\/c" does not name a Secret/);
  await untilTold(set, "is reported again", stateIs("Copied"));
  await createInjectedPod(t, kube, `${team}/again`, { labels: labelsFor(set) });
  const created = await createPod(t, kube, `${team}/bad`, { labels: labelsFor(bad) });
  assert.deepEqual(containersOf(created), [bad.metadata.name, "app"]);
  assert.deepEqual(pullSecretsOf(created), []);
  assert.equal(created.metadata.labels?.[injectedLabel], undefined);
});

test("forced over Kruise's CRD it refuses to start, and names the CRD", async () => {
  const refusal = /--sidecars=instead: the CRD sidecarsets\.apps\.kruise\.io was not installed by Latchkey/;
  await assert.rejects(own.operator({ replica: "forced", args: ["--sidecars=instead"] }), refusal);
  assert.equal(operator.ending, undefined);
});

test("Kruise goes and a stand-in comes, then the other way round, in one process", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createPullSecret(kube, `${vault}/pull`);
  const before = await storeSet(t, `${vault}/pull`);
  const old = await createInjectedPod(t, kube, `${team}/old`, { labels: labelsFor(before) });

  await kruise?.end();
  await removeCrd(kube);
  const installed = await own.latchkey("crds", "--apply");
  assert.equal(installed.code, 0, installed.stderr);
  await untilMode(operator, "sidecars", "instead");
  const set = await createSidecarSet(t, kube, { pullSecrets: [`${vault}/pull`] });
  const ours = await createInjectedPod(t, kube, `${team}/ours`, { labels: labelsFor(set) });
  assert.deepEqual(containersOf(ours), [set.metadata.name, "app"]);
  assert.deepEqual(pullSecretsOf(ours), [`${vault}-pull`]);
  await untilPullSecret(kube, `${team}/${vault}-pull`);
  const copy = await getSecret(kube, `${team}/${vault}-pull`);

  await installKruiseCrd(kube);
  await untilMode(operator, "sidecars", "beside");
  await kruise?.[Symbol.asyncDispose]();
  kruise = new Kruise(kube);
  await kruise.begin();
  const taken = await kube.get<SidecarSet>(sidecarSets, set.metadata);
  const after = await storeSet(t, `${vault}/pull`);
  const theirs = await createInjectedPod(t, kube, `${team}/theirs`, { labels: labelsFor(after) });
  assert.match(theirs.metadata.annotations?.[hashAnnotation] ?? "", /"hash":"kruise"/);
  assert.deepEqual(pullSecretsOf(theirs), [`${vault}-pull`]);
  await untilTold(after, "has its copy", stateIs("Copied"));
  assert.deepEqual(await kube.get<SidecarSet>(sidecarSets, set.metadata), taken, "it has no annotation: not ours");
  assert.equal((await getSecret(kube, `${team}/${vault}-pull`))?.metadata.uid, copy?.metadata.uid);
  for (const { metadata } of [old, ours, theirs]) await kube.delete(pods, metadata);
  await kube.delete(sidecarSets, after.metadata);
  await untilGone(kube, secrets, at(`${team}/${vault}-pull`));
  assert.equal(operator.ending, undefined);
});
