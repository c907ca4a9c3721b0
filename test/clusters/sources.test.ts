import assert from "node:assert/strict";
import { test } from "node:test";
import { namespaces as namespaceKind, type Secret, secrets } from "../../src/api/objects.ts";
import { kubectl, testNamespaces } from "../../src/testing/cluster.ts";
import { untilGiven, untilRecord } from "../../src/testing/injection.ts";
import { at, base64 } from "../../src/testing/objects.ts";
import { refuseSecrets } from "../../src/testing/refusals.ts";
import { createSecret, deleteSecret, getSecret, patchSecret, setValues, theSecret } from "../../src/testing/secrets.ts";
import {
  beginServing,
  copiesIn,
  copyAt,
  forgedMarks,
  refer,
  served,
  untilEvent,
  untilStatus,
} from "../../src/testing/served-clusters.ts";
import {
  createPullSecret,
  dockerConfig,
  dockerConfigType,
  literalName,
  untilPullSecret,
} from "../../src/testing/sidecars.ts";
import { createUserNamespace, untilCluster, userCluster } from "../../src/testing/user-clusters.ts";
import { untilGone, untilMetadata, untilSecret } from "../../src/testing/wait.ts";

const user = userCluster();
const veto = (value: "true" | null) => ({ metadata: { annotations: { "latchkey.dev/no-copy": value } } });

const isFollowed = (fields: Secret["metadata"]["managedFields"] = []) =>
  fields.some(({ manager }) => manager === "latchkey-pull-secrets");

test("a pull secret of the older type is copied as it is", async (t) => {
  const serving = await beginServing(t, user, { sources: [] });
  const source = `${serving.vault}/old`;
  const values = { ".dockercfg": JSON.stringify({ "registry.example.com": { auth: base64("robot:s3cret") } }) };
  await createSecret(serving.kube, source, values, { type: "kubernetes.io/dockercfg" });
  await refer(serving, [source]);
  await untilSecret(user.kube, copyAt("default", source), values, { type: "kubernetes.io/dockercfg" });
  await untilCluster(serving.kube, serving.name, "Ready", { status: "True" });
});

test("a Secret of another type is copied nowhere and given to nobody, and the others are", async (t) => {
  const serving = await beginServing(t, user, { sources: ["quay"] });
  const { kube, vault, name, sources } = serving;
  const [quay = ""] = sources;
  const opaque = `${vault}/password`;
  await createSecret(kube, opaque, dockerConfig("robot"));
  await refer(serving, [opaque, quay]);
  const message = `Secret ${opaque} is of type Opaque, which is no pull secret`;
  const told = await untilCluster(kube, name, "PullSecretsReady", {
    status: "False",
    reason: "SourceTypeRejected",
    message,
  });
  await untilCluster(kube, name, "Ready", { status: "False", reason: "SourceTypeRejected", message });
  assert.deepEqual(told.status?.imagePullSecrets?.[0], {
    ...{ ...at(opaque), copyName: literalName(opaque), state: "SourceTypeRejected", copies: 0 },
  });
  await untilPullSecret(user.kube, copyAt("kube-public", quay));
  await untilGiven(user.kube, "default", [literalName(quay)]);
  await untilRecord(user.kube, "keeps the line of each reference", ({ names }) => names === `\n${literalName(quay)}`);
  assert.ok(![...(await copiesIn(user)).keys()].some((key) => key.endsWith(literalName(opaque))));

  // A type cannot be changed: somebody makes it anew, and it is served at once.
  await deleteSecret(kube, opaque);
  await createPullSecret(kube, opaque);
  await untilPullSecret(user.kube, copyAt("default", opaque));
  await untilCluster(kube, name, "Ready", { status: "True" });
  await untilGiven(user.kube, "default", [literalName(opaque), literalName(quay)]);
});

test("a source that is itself a copy is not copied again, and the original is named", async (t) => {
  const serving = await beginServing(t, user, { sources: ["quay"] });
  const { kube, vault, name, sources } = serving;
  const [quay = ""] = sources;
  const original = "somewhere/original";
  const copy = `${vault}/somewhere-original`;
  const marks = forgedMarks(copy, original, "00000000-0000-4000-8000-000000000000");
  await createSecret(kube, copy, dockerConfig("robot"), { type: dockerConfigType, ...marks });
  await refer(serving, [quay, copy]);
  await untilCluster(kube, name, "PullSecretsReady", {
    status: "False",
    reason: "SourceIsACopy",
    message: new RegExp(`${copy} is itself a copy of ${original}`),
  });
  await untilGiven(user.kube, "default", [literalName(quay)]);
  assert.equal(await getSecret(user.kube, copyAt("default", copy)), undefined);
});

test("the owner of a source has the last word: a veto deletes all copies, and its end brings them back", async (t) => {
  const { kube, name, sources } = await served(t, user, { sources: ["quay", "hub"] });
  const [quay = "", hub = ""] = sources;
  await untilGiven(user.kube, "default", [literalName(quay), literalName(hub)]);
  await patchSecret(kube, quay, veto("true"));
  for (const namespace of ["kube-system", "default"]) await untilGone(user.kube, secrets, at(copyAt(namespace, quay)));
  const told = await untilCluster(kube, name, "PullSecretsReady", {
    status: "False",
    reason: "SourceVetoed",
    message: new RegExp(quay),
  });
  assert.equal(told.status?.imagePullSecrets?.[0]?.state, "SourceVetoed");
  await untilGiven(user.kube, "default", [literalName(hub)]);
  await untilPullSecret(user.kube, copyAt("default", hub));

  await patchSecret(kube, quay, veto(null));
  await untilPullSecret(user.kube, copyAt("default", quay));
  await untilGiven(user.kube, "default", [literalName(quay), literalName(hub)]);
  await untilCluster(kube, name, "Ready", { status: "True" });
});

test("a source is labelled for as long as somebody references it, and nobody else's label is touched", async (t) => {
  const serving = await served(t, user);
  const { kube, sources, vault } = serving;
  const [quay = ""] = sources;
  const hub = `${vault}/hub`;
  const labels = { "latchkey.dev/source": "true", team: "a" };
  await createPullSecret(kube, hub, "s3cret", { labels });
  await refer(serving, [quay, hub]);
  await untilMetadata(kube, hub, "is followed", ({ metadata }) => isFollowed(metadata.managedFields));
  const labelled = await untilMetadata(kube, quay, "is labelled", ({ metadata }) => metadata.labels !== undefined);
  assert.deepEqual(labelled.metadata.labels, { "latchkey.dev/source": "true" });
  const owner = labelled.metadata.managedFields?.find(({ manager }) => manager === "latchkey-pull-secrets");
  assert.deepEqual(owner?.operation, "Apply");
  assert.deepEqual(Object.keys(owner?.fieldsV1 ?? {}), ["f:metadata"]);

  await refer(serving, []);
  for (const source of [quay, hub]) {
    await untilMetadata(kube, source, "is let go", ({ metadata }) => !isFollowed(metadata.managedFields));
  }
  assert.equal((await theSecret(kube, quay)).metadata.labels, undefined);
  assert.deepEqual((await theSecret(kube, hub)).metadata.labels, labels);
});

test("a source that may not be labelled is followed all the same", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const source = `${namespaces[0]}/quay`;
  await createPullSecret(kube, source);
  await refuseSecrets(t, kube, [namespaces[0]], ({ username, object }) =>
    username.includes("latchkey") && object.metadata.name === "quay" ? "leave it alone" : undefined,
  );
  await served(t, user, { sources: [], references: [source] });
  await untilPullSecret(user.kube, copyAt("default", source));
  await setValues(kube, source, dockerConfig("robot", "two"));
  await untilPullSecret(user.kube, copyAt("default", source), "two");
});

test("a source that is missing at first is given to Pods by its name, and copied once it is there", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const source = `${namespaces[0]}/later`;
  const serving = await beginServing(t, user, { sources: [], references: [source] });
  const message = `Secret ${source} does not exist`;
  const told = await untilCluster(kube, serving.name, "PullSecretsReady", {
    status: "False",
    reason: "SourceMissing",
    message,
  });
  await untilCluster(kube, serving.name, "Ready", { status: "False", reason: "SourceMissing", message });
  assert.equal(told.status?.imagePullSecrets?.[0]?.state, "SourceMissing");
  await untilGiven(user.kube, "default", [literalName(source)]);
  assert.deepEqual(await serving.events.until(1), ["Warning SourceMissing"]);
  assert.equal((await copiesIn(user)).size, 0);

  await createPullSecret(kube, source);
  await untilPullSecret(user.kube, copyAt("default", source));
  await untilCluster(kube, serving.name, "Ready", { status: "True" });
  assert.deepEqual(await serving.events.until(2), ["Warning SourceMissing", "Normal Served"]);
});

test("a deleted source takes its copies along, not before 3 s; made again, they come back", async (t) => {
  const { kube, name, sources, events } = await served(t, user);
  const [source = ""] = sources;
  const app = await createUserNamespace(t, user);
  await untilStatus({ kube, name }, "is complete", ({ namespaces }) => namespaces?.summary === "5/5");
  await untilPullSecret(user.kube, copyAt(app, source));
  const sinceMs = performance.now();
  await deleteSecret(kube, source);
  await untilCluster(kube, name, "PullSecretsReady", { status: "False", reason: "SourceMissing" });
  await untilGone(user.kube, secrets, at(copyAt(app, source)));
  assert.ok(performance.now() - sinceMs >= 2_900, "not before its time");
  await untilGone(user.kube, secrets, at(copyAt("kube-system", source)));
  await untilStatus({ kube, name }, "counts none", ({ imagePullSecrets }) => imagePullSecrets?.[0]?.copies === 0);
  assert.deepEqual(await events.until(2), ["Normal Served", "Warning SourceDeleted"]);
  await untilGiven(user.kube, app, [literalName(source)]);

  await createPullSecret(kube, source, "again");
  await untilPullSecret(user.kube, copyAt(app, source), "again");
  await untilCluster(kube, name, "Ready", { status: "True" });
  assert.deepEqual(await events.until(3), ["Normal Served", "Warning SourceDeleted", "Normal Served"]);
});

test("so does its namespace", async (t) => {
  const { kube, name, sources } = await served(t, user);
  const [source = ""] = sources;
  await kube.delete(namespaceKind, { name: at(source).namespace });
  await untilGone(user.kube, secrets, at(copyAt("default", source)));
  await untilCluster(kube, name, "PullSecretsReady", { status: "False", reason: "SourceMissing" });
});

test("a source that is replaced within 3 s is an update in place, and no news", async (t) => {
  const { kube, sources, events, name } = await served(t, user);
  const [source = ""] = sources;
  const before = await copiesIn(user);
  const { namespace, name: called } = at(source);
  const args = ["create", "secret", "docker-registry", called, "-n", namespace, "--docker-server=registry.example.com"];
  const dry = [...args, "--docker-username=robot", "--docker-password=second", "--dry-run=client", "-o", "json"];
  const { stdout } = await kubectl(dry);
  const replaced = await kubectl(["replace", "--force", "-f", "-"], { input: stdout });
  assert.equal(replaced.code, 0, replaced.stderr);
  const { data } = await theSecret(kube, source);
  for (const [key, { metadata }] of before) {
    const copy = await untilMetadata(
      user.kube,
      key,
      "is updated",
      (seen) => seen.data?.[".dockerconfigjson"] === data?.[".dockerconfigjson"],
    );
    assert.equal(copy.metadata.uid, metadata.uid);
  }

  // Longer, but not long enough.
  await deleteSecret(kube, source);
  await untilCluster(kube, name, "PullSecretsReady", { status: "False", reason: "SourceMissing" });
  await createPullSecret(kube, source, "third");
  for (const [key, { metadata }] of before) {
    assert.equal((await untilPullSecret(user.kube, key, "third")).metadata.uid, metadata.uid);
  }
  await untilCluster(kube, name, "Ready", { status: "True" });
  assert.ok(!events.inShort.includes("Warning SourceDeleted"), "no copy was deleted");
});

test("with onSourceDeleted: Retain copies and injection outlive the source", async (t) => {
  const { kube, sources, name, events } = await served(t, user, {
    sources: ["quay", "hub"],
    spec: { onSourceDeleted: "Retain" },
  });
  const [quay = "", hub = ""] = sources;
  const before = await copiesIn(user);
  await deleteSecret(kube, quay);
  await untilCluster(kube, name, "PullSecretsReady", { status: "False", reason: "SourceMissing" });
  await untilEvent(events, "Warning SourceMissing");
  // Hand edits are not undone: there is nothing to restore from.
  await setValues(kube, hub, dockerConfig("robot", "second"));
  const app = await createUserNamespace(t, user);
  await untilPullSecret(user.kube, copyAt(app, hub), "second");
  await untilGiven(user.kube, app, [literalName(quay), literalName(hub)]);
  // Longer than copies would have lived: nothing else tells that they stay.
  await new Promise((resolve) => setTimeout(resolve, 4_000));
  for (const [key, { metadata }] of before) {
    assert.equal((await theSecret(user.kube, key)).metadata.uid, metadata.uid);
  }
  assert.equal(await getSecret(user.kube, copyAt(app, quay)), undefined);

  await createPullSecret(kube, quay, "again");
  for (const [key] of [...before].filter(([each]) => each.endsWith(literalName(quay)))) {
    const { metadata } = await untilPullSecret(user.kube, key, "again");
    assert.equal(metadata.uid, before.get(key)?.metadata.uid);
  }
  await untilPullSecret(user.kube, copyAt(app, quay), "again");
  await untilCluster(kube, name, "Ready", { status: "True" });
});

test("a source of another type is copied anew under the same name", async (t) => {
  const { kube, sources, name } = await served(t, user);
  const [source = ""] = sources;
  const before = await untilPullSecret(user.kube, copyAt("default", source));
  const values = { ".dockercfg": JSON.stringify({ "registry.example.com": { auth: base64("robot:old") } }) };
  await deleteSecret(kube, source);
  await createSecret(kube, source, values, { type: "kubernetes.io/dockercfg" });
  const after = await untilSecret(user.kube, copyAt("default", source), values, { type: "kubernetes.io/dockercfg" });
  assert.notEqual(after.metadata.uid, before.metadata.uid);
  await untilCluster(kube, name, "Ready", { status: "True" });
  assert.deepEqual((await untilRecord(user.kube, "is as before", () => true)).names, literalName(source));
});
