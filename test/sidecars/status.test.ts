import assert from "node:assert/strict";
import { test } from "node:test";
import { namespaces as namespaceKind } from "../../src/api/objects.ts";
import { auditPosition, operatorWrites } from "../../src/testing/audit.ts";
import { kubectl, removeQuietly, testNamespaces, uniqueName } from "../../src/testing/cluster.ts";
import { EventsOf } from "../../src/testing/events.ts";
import { sampleIn, scrape } from "../../src/testing/metrics.ts";
import { at } from "../../src/testing/objects.ts";
import { refuseSecrets } from "../../src/testing/refusals.ts";
import { createSecret, deleteSecret, patchSecret } from "../../src/testing/secrets.ts";
import {
  changeSidecarSet,
  createInjectedPod,
  createPullSecret,
  createSidecarSet,
  type Deployment,
  deployment,
  deployments,
  labelsFor,
  literalName,
  pods,
  type SidecarSet,
  setPodPhase,
  sidecarSets,
  suffixedName,
  untilPullSecret,
  untilSetCondition,
  untilSidecarSet,
} from "../../src/testing/sidecars.ts";
import { conditionIn, until, untilGone } from "../../src/testing/wait.ts";

const inShort = (set: SidecarSet, type: string) => {
  const condition = conditionIn(set, type);
  return condition && [condition.status, condition.reason, condition.message];
};

const countersOf = ({ status }: SidecarSet) =>
  [status?.matchedPods, status?.updatedPods, status?.readyPods, status?.updatedReadyPods].join("/");

test("kubectl get shows exactly the columns of the spec", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createPullSecret(kube, `${vault}/pull`);
  const set = await createSidecarSet(t, kube, { pullSecrets: [`${vault}/pull`, `${vault}/missing`] });
  await createInjectedPod(t, kube, `${team}/web`, { labels: labelsFor(set) });
  await untilSidecarSet(kube, set.metadata.name, "counts its Pod", ({ status }) => status?.matchedPods === 1);

  const table = async (...flags: readonly string[]) => {
    const { stdout } = await kubectl(["get", "sidecarsets", set.metadata.name, ...flags]);
    return stdout
      .trimEnd()
      .split("\n")
      .map((line) => line.split(/\s{2,}/));
  };
  const [header = [], row = []] = await table();
  assert.deepEqual(header, ["NAME", "MATCHED", "UPDATED", "READY", "PULLSECRETS", "AGE"]);
  assert.deepEqual(row.slice(0, 5), [set.metadata.name, "1", "1", "0", "1/2"]);
  const [wideHeader = [], wideRow = []] = await table("-o", "wide");
  assert.deepEqual(wideHeader.slice(6), ["ACCEPTED", "REASON"]);
  assert.deepEqual(wideRow.slice(6), ["True", "SourceMissing"]);
});

test("all conditions, for the generation they are about", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createPullSecret(kube, `${vault}/pull`);
  const set = await createSidecarSet(t, kube, { pullSecrets: [`${vault}/pull`] });
  await createInjectedPod(t, kube, `${team}/web`, { labels: labelsFor(set) });
  const changed = await changeSidecarSet(kube, set, { spec: { updateStrategy: { type: "NotUpdate" } } });
  assert.equal(changed.metadata.generation, 2);
  const seen = await untilSetCondition(kube, changed, "Ready", { message: "1 Pod in 1 namespace, 1 copy" });
  assert.equal(seen.status?.observedGeneration, 2);
  assert.deepEqual(
    seen.status?.conditions?.map(({ type, status, reason, observedGeneration }) => [
      type,
      status,
      reason,
      observedGeneration,
    ]),
    [
      ["Ready", "True", "Injecting", 2],
      ["Accepted", "True", "Valid", 2],
      ["PullSecretsReady", "True", "AllCopied", 2],
      ["Updated", "Unknown", "NotAvailable", 2],
    ],
  );
  assert.deepEqual(seen.status?.imagePullSecrets, [
    { namespace: vault, name: "pull", copyName: `${vault}-pull`, state: "Copied", copies: 1, suffixed: 0 },
  ]);
});

test("a SidecarSet without references is in order at once", async (t) => {
  const { kube } = await testNamespaces(t, 1);
  const set = await createSidecarSet(t, kube);
  const seen = await untilSetCondition(kube, set, "Ready", {
    status: "True",
    message: "0 Pods in 0 namespaces, 0 copies",
  });
  assert.deepEqual(inShort(seen, "PullSecretsReady")?.slice(0, 2), ["True", "NoReferences"]);
  assert.equal(seen.status?.pullSecrets, "0/0");
});

test("paused: Ready says so, whatever else is wrong", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [vault] = namespaces;
  const spec = { injectionStrategy: { paused: true } };
  const set = await createSidecarSet(t, kube, { pullSecrets: [`${vault}/pull`], spec });
  const message = `injection is paused; Secret ${vault}/pull does not exist; 0 Pods wait for it`;
  await untilSetCondition(kube, set, "Ready", { status: "False", reason: "Paused", message });
  const changed = await changeSidecarSet(kube, set, { spec: { injectionStrategy: { paused: false } } });
  await untilSetCondition(kube, changed, "Ready", { status: "False", reason: "SourceMissing" });
});

test("a source that is missing, appears, goes and comes back, with an event for each loss", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  const source = `${vault}/pull`;
  const set = await createSidecarSet(t, kube, { pullSecrets: [source] });
  const told = new EventsOf(t, kube, set);
  await untilSetCondition(kube, set, "PullSecretsReady", {
    status: "False",
    reason: "SourceMissing",
    message: `Secret ${source} does not exist; 0 Pods wait for it`,
  });
  for (const name of ["one", "two"]) await createInjectedPod(t, kube, `${team}/${name}`, { labels: labelsFor(set) });
  await untilSetCondition(kube, set, "PullSecretsReady", {
    message: `Secret ${source} does not exist; 2 Pods wait for it`,
  });
  await createPullSecret(kube, source);
  await untilSetCondition(kube, set, "PullSecretsReady", {
    status: "True",
    reason: "AllCopied",
    message: "1 copy of 1 Secret",
  });
  await untilSetCondition(kube, set, "Ready", { status: "True", message: "2 Pods in 1 namespace, 1 copy" });

  await deleteSecret(kube, source);
  await untilSetCondition(kube, set, "PullSecretsReady", { status: "False", reason: "SourceMissing" });
  await createPullSecret(kube, source, "second");
  await untilSetCondition(kube, set, "PullSecretsReady", { status: "True", reason: "AllCopied" });
  await deleteSecret(kube, source);
  assert.deepEqual(await told.until(3), ["Warning SourceMissing", "Warning SourceDeleted", "Warning SourceDeleted"]);
  assert.match(told.messages[1] ?? "", new RegExp(source));
});

test("Local until the Secret of the default namespace exists", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [team] = namespaces;
  const name = uniqueName("pull");
  const set = await createSidecarSet(t, kube, { pullSecrets: [name] });
  const message = `Secret default/${name} does not exist; Pods also name ${name} of their own namespace`;
  const seen = await untilSetCondition(kube, set, "PullSecretsReady", { status: "Unknown", reason: "Local", message });
  assert.deepEqual(inShort(seen, "Ready")?.slice(0, 2), ["True", "Injecting"]);
  assert.equal(seen.status?.pullSecrets, "1/1");
  assert.equal(seen.status?.imagePullSecrets?.[0]?.namespace, "", "as written");
  await createInjectedPod(t, kube, `${team}/web`, { labels: labelsFor(set) });

  t.after(() => removeQuietly(() => deleteSecret(kube, `default/${name}`)));
  await createPullSecret(kube, `default/${name}`);
  const copied = await untilSetCondition(kube, set, "PullSecretsReady", { status: "True", reason: "AllCopied" });
  assert.equal(copied.status?.imagePullSecrets?.[0]?.copyName, `default-${name}`);
});

test("sources that are not copied: each says why, once", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/opaque`);
  await createPullSecret(kube, `${vault}/pull`);
  await createPullSecret(kube, `${vault}/vetoed`, "s3cret", { annotations: { "latchkey.dev/no-copy": "true" } });
  const first = await createSidecarSet(t, kube, { pullSecrets: [`${vault}/pull`] });
  await createInjectedPod(t, kube, `${team}/web`, { labels: labelsFor(first) });
  await untilPullSecret(kube, `${team}/${vault}-pull`);

  const references = [`${vault}/opaque`, `${team}/${vault}-pull`, `${vault}/vetoed`];
  const set = await createSidecarSet(t, kube, { pullSecrets: references });
  const told = new EventsOf(t, kube, set);
  const seen = await untilSetCondition(kube, set, "PullSecretsReady", {
    status: "False",
    reason: "SourceTypeRejected",
    message: [
      `Secret ${vault}/opaque is of type Opaque, which is no pull secret's`,
      `Secret ${team}/${vault}-pull is itself a copy of ${vault}/pull`,
      `Secret ${vault}/vetoed must not be copied: it has the annotation latchkey.dev/no-copy`,
    ].join("; "),
  });
  assert.deepEqual(
    seen.status?.imagePullSecrets?.map(({ state }) => state),
    ["SourceTypeRejected", "SourceIsACopy", "SourceVetoed"],
  );
  assert.equal(seen.status?.pullSecrets, "0/3");
  // All found by one pass, and told side by side.
  assert.deepEqual((await told.until(3)).toSorted(), [
    "Warning SourceIsACopy",
    "Warning SourceTypeRejected",
    "Warning SourceVetoed",
  ]);

  await patchSecret(kube, `${vault}/vetoed`, { metadata: { annotations: { "latchkey.dev/no-copy": null } } });
  await untilSidecarSet(
    kube,
    set.metadata.name,
    "has one reference in order",
    ({ status }) => status?.pullSecrets === "1/3",
  );
  await patchSecret(kube, `${vault}/vetoed`, { metadata: { annotations: { "latchkey.dev/no-copy": "true" } } });
  assert.equal((await told.until(4))[3], "Warning SourceVetoed", "vetoed again, told again");
});

test("foreign Secrets under one and both names", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 3);
  const [vault, once, twice] = namespaces;
  const source = `${vault}/pull`;
  await createPullSecret(kube, source);
  await createSecret(kube, `${once}/${literalName(source)}`);
  await createSecret(kube, `${twice}/${literalName(source)}`);
  await createSecret(kube, `${twice}/${suffixedName(source)}`);
  const set = await createSidecarSet(t, kube, { pullSecrets: [source] });
  const told = new EventsOf(t, kube, set);
  await createInjectedPod(t, kube, `${once}/web`, { labels: labelsFor(set) });
  const suffixed = await untilSetCondition(kube, set, "PullSecretsReady", {
    status: "True",
    message: `1 copy of 1 Secret; 1 namespace uses ${suffixedName(source)}`,
  });
  assert.deepEqual(suffixed.status?.imagePullSecrets?.[0], {
    namespace: vault,
    name: "pull",
    copyName: literalName(source),
    state: "Copied",
    copies: 1,
    suffixed: 1,
  });
  assert.deepEqual(await told.until(1), ["Normal NameSuffixed"]);

  // Admission left the name out: the status tells why.
  await createInjectedPod(t, kube, `${twice}/web`, { labels: labelsFor(set) });
  const message = `${twice}: ${literalName(source)} and ${suffixedName(source)} are held by Secrets that are not ours`;
  await untilSetCondition(kube, set, "PullSecretsReady", {
    status: "False",
    reason: "Collision",
    message: new RegExp(message),
  });
  assert.deepEqual(await told.until(2), ["Normal NameSuffixed", "Warning Collision"]);
  const changed = await changeSidecarSet(kube, set, { spec: { updateStrategy: { type: "NotUpdate" } } });
  await untilSetCondition(kube, changed, "PullSecretsReady", { status: "False", reason: "Collision" });

  await deleteSecret(kube, `${twice}/${literalName(source)}`);
  await kube.patch(
    namespaceKind,
    { name: twice },
    { type: "merge", body: { metadata: { annotations: { touched: "yes" } } } },
  );
  await untilSetCondition(kube, changed, "PullSecretsReady", { status: "True", reason: "AllCopied" });
});

test("a collision that comes after the Pod is reported, and is over when the name is free again", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  const source = `${vault}/pull`;
  const set = await createSidecarSet(t, kube, { pullSecrets: [source] });
  const told = new EventsOf(t, kube, set);
  await createInjectedPod(t, kube, `${team}/web`, { labels: labelsFor(set) });
  for (const name of [literalName(source), suffixedName(source)]) await createSecret(kube, `${team}/${name}`);
  await createPullSecret(kube, source);
  await untilSetCondition(kube, set, "PullSecretsReady", {
    status: "False",
    reason: "Collision",
    message: `${team}: ${literalName(source)} and ${suffixedName(source)} are held by Secrets that are not ours`,
  });
  assert.deepEqual(await told.until(2), ["Warning SourceMissing", "Warning Collision"]);
  await deleteSecret(kube, `${team}/${literalName(source)}`);
  // Foreign Secrets are not watched: any change of the namespace has them looked at again.
  await kube.patch(
    namespaceKind,
    { name: team },
    { type: "merge", body: { metadata: { labels: { touched: "yes" } } } },
  );
  await untilSetCondition(kube, set, "PullSecretsReady", { status: "True", reason: "AllCopied" });
});

test("a copy that a webhook refuses is told with its words, and no other namespace suffers", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 3);
  const [vault, refused, team] = namespaces;
  const source = `${vault}/pull`;
  const refusals = await refuseSecrets(t, kube, [refused], ({ object }) =>
    object.metadata.name === literalName(source) ? "not in this namespace" : undefined,
  );
  await createPullSecret(kube, source);
  const set = await createSidecarSet(t, kube, { pullSecrets: [source] });
  for (const namespace of [refused, team]) {
    await createInjectedPod(t, kube, `${namespace}/web`, { labels: labelsFor(set) });
  }
  await untilSetCondition(kube, set, "PullSecretsReady", {
    status: "False",
    reason: "CopyRefused",
    message: new RegExp(`^${refused}: .*not in this namespace`),
  });
  await untilSidecarSet(
    kube,
    set.metadata.name,
    "counts a copy",
    ({ status }) => status?.imagePullSecrets?.[0]?.copies === 1,
  );
  await refusals.stop();
  await kube.patch(
    namespaceKind,
    { name: refused },
    { type: "merge", body: { metadata: { labels: { touched: "yes" } } } },
  );
  await untilSetCondition(kube, set, "PullSecretsReady", { status: "True", message: "2 copies of 1 Secret" });
});

test("the counters follow Pods through their lives", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [one, two] = namespaces;
  const set = await createSidecarSet(t, kube);
  const untilCounted = (counters: string) =>
    untilSidecarSet(kube, set.metadata.name, `counts ${counters}`, (seen) => countersOf(seen) === counters);
  for (const key of [`${one}/a`, `${one}/b`, `${two}/c`]) {
    await createInjectedPod(t, kube, key, { labels: labelsFor(set) });
  }
  await untilCounted("3/3/0/0");
  await setPodPhase(kube, `${one}/a`, "Running");
  await setPodPhase(kube, `${one}/b`, "Running");
  await untilCounted("3/3/2/2");
  await untilSetCondition(kube, set, "Ready", { message: "3 Pods in 2 namespaces, 0 copies" });
  await setPodPhase(kube, `${one}/b`, "Running", { isReady: false });
  await untilCounted("3/3/1/1");
  const containers = [{ name: set.metadata.name, image: "registry.example.com/sidecar:2" }];
  await changeSidecarSet(kube, set, { spec: { containers } });
  await untilCounted("3/0/1/0");
  await createInjectedPod(t, kube, `${two}/d`, { labels: labelsFor(set) });
  await untilCounted("4/1/1/0");
  await setPodPhase(kube, `${two}/d`, "Running");
  await untilCounted("4/1/2/1");
  await setPodPhase(kube, `${two}/d`, "Succeeded");
  await untilCounted("3/0/1/0");
  await kube.patch(pods, at(`${one}/a`), { type: "merge", body: { metadata: { labels: { app: "other" } } } });
  await untilCounted("2/0/0/0");
  await kube.delete(pods, at(`${two}/c`));
  await untilCounted("1/0/0/0");

  const metrics = await scrape();
  const sidecarset = set.metadata.name;
  assert.equal(sampleIn(metrics, "latchkey_sidecars_matched_pods", { sidecarset }), 1);
  assert.equal(sampleIn(metrics, "latchkey_sidecars_updated_pods", { sidecarset }), 0);
  assert.equal(sampleIn(metrics, "latchkey_sidecars_ready_pods", { sidecarset }), 0);
  await kube.delete(sidecarSets, { name: sidecarset });
  await untilGone(kube, sidecarSets, { name: sidecarset });
  for (const deadline = performance.now() + 10_000; ; ) {
    if (sampleIn(await scrape(), "latchkey_sidecars_matched_pods", { sidecarset }) === undefined) break;
    assert.ok(performance.now() < deadline, "the series of a deleted SidecarSet stays");
  }
});

test("a Deployment rolls out on nodes, and many Pods make few status writes", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createPullSecret(kube, `${vault}/pull`);
  const set = await createSidecarSet(t, kube, { pullSecrets: [`${vault}/pull`] });
  const from = await auditPosition(kube, vault);
  const startedMs = performance.now();
  const draft = deployment(`${team}/web`, {
    replicas: 20,
    labels: labelsFor(set),
    spec: { schedulerName: "default-scheduler" },
  });
  await kube.create<Deployment>(deployments, draft);
  await until<Deployment>(
    kube,
    deployments,
    at(`${team}/web`),
    "is available",
    (seen) => seen?.status?.availableReplicas === 20,
  );
  await untilSidecarSet(kube, set.metadata.name, "counts 20 ready", (seen) => countersOf(seen) === "20/20/20/20");
  const seconds = (performance.now() - startedMs) / 1000;
  const writes = await operatorWrites(kube, vault, { from });
  const statuses = writes.filter(({ name, subresource }) => name === set.metadata.name && subresource === "status");
  // Two a second, and those that tell of another situation.
  assert.ok(statuses.length <= 2 * seconds + 3, `${statuses.length} status writes in ${seconds} s`);
  assert.equal(writes.filter(({ resource, namespace }) => resource === "secrets" && namespace === team).length, 1);
});

test("a status that somebody else edits is put right", async (t) => {
  const { kube } = await testNamespaces(t, 1);
  const set = await createSidecarSet(t, kube);
  await untilSetCondition(kube, set, "Ready", { status: "True" });
  const body = { status: { matchedPods: 99, conditions: null } };
  await kube.patch(sidecarSets, { name: set.metadata.name }, { type: "merge", body }, { subresource: "status" });
  const seen = await untilSetCondition(kube, set, "Ready", { status: "True" });
  assert.equal(countersOf(seen), "0/0/0/0");
});

test("a removed reference leaves the status", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [vault] = namespaces;
  await createPullSecret(kube, `${vault}/pull`);
  const set = await createSidecarSet(t, kube, { pullSecrets: [`${vault}/pull`, `${vault}/missing`] });
  await untilSetCondition(kube, set, "PullSecretsReady", { reason: "SourceMissing" });
  const changed = await changeSidecarSet(kube, set, {
    spec: { imagePullSecrets: [{ namespace: vault, name: "pull" }] },
  });
  const seen = await untilSetCondition(kube, changed, "PullSecretsReady", { status: "True", reason: "AllCopied" });
  assert.deepEqual(
    seen.status?.imagePullSecrets?.map(({ name, state }) => [name, state]),
    [["pull", "Unused"]],
  );
});
