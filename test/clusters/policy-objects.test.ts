import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Draft, KubeObject, Resource } from "../../src/api/objects.ts";
import { removeQuietly, testNamespaces } from "../../src/testing/cluster.ts";
import { EventsOf } from "../../src/testing/events.ts";
import {
  bindingObject,
  bindings,
  changeCluster,
  createSources,
  injectionName,
  injectionObjects,
  policies,
  policyObject,
  recordObject,
  references,
  untilGiven,
} from "../../src/testing/injection.ts";
import { configMaps } from "../../src/testing/objects.ts";
import { setValues } from "../../src/testing/secrets.ts";
import { dockerConfig, literalName, untilPullSecret } from "../../src/testing/sidecars.ts";
import {
  type Cluster,
  clusters,
  createUserNamespace,
  serveCluster,
  untilCluster,
  userCluster,
} from "../../src/testing/user-clusters.ts";
import { until, untilGone } from "../../src/testing/wait.ts";

const user = userCluster();

type Written = KubeObject & { readonly spec?: Readonly<Record<string, unknown>>; readonly data?: object };
const noPatch = "[JSONPatch{op: 'test', path: '/kind', value: 'Pod'}]";

type Place = (typeof injectionObjects)[number];

async function served(t: TestContext, names: readonly string[] = ["quay"]) {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const sources = await createSources(kube, namespaces[0], ...names);
  const { cluster } = await serveCluster(t, { user, references: sources });
  await untilCluster(kube, cluster.metadata.name, "Ready", { status: "True" });
  const given = sources.map(literalName);
  await untilGiven(user.kube, "default", given);
  return { kube, sources, cluster, name: cluster.metadata.name, given };
}

async function found({ resource, ref }: Place): Promise<Written> {
  const object = await user.kube.get<Written>(resource, ref);
  assert.ok(object, `${resource.kind} ${ref.name} exists`);
  return object;
}

const contentOf = ({ spec, data }: Written) => spec ?? data;

/** Resolves once the object is as it was. */
async function untilRestored({ resource, ref }: Place, before: Written): Promise<Written> {
  const wanted = JSON.stringify(contentOf(before));
  const now = await until<Written>(user.kube, resource, ref, "is restored", (object) => {
    return object !== undefined && JSON.stringify(contentOf(object)) === wanted;
  });
  assert.ok(now);
  assert.deepEqual(now.metadata.labels, before.metadata.labels);
  assert.deepEqual(now.metadata.annotations, before.metadata.annotations);
  return now;
}

test("policy, binding and record are by the book, and the record holds names only", async (t) => {
  const from = await user.position();
  const { given } = await served(t, ["quay", "hub"]);
  const [record, policy, binding] = await Promise.all(injectionObjects.map(found));
  assert.deepEqual(record?.data, { names: given.join("\n") });

  const { spec = {} } = policy as Written;
  assert.equal("paramKind" in spec, false, "names would freeze");
  assert.equal(spec.failurePolicy, "Ignore");
  assert.equal(spec.reinvocationPolicy, "IfNeeded");
  assert.deepEqual(
    (spec.mutations as { patchType: string }[]).map(({ patchType }) => patchType),
    ["JSONPatch"],
  );
  const { resourceRules } = spec.matchConstraints as { resourceRules: object };
  assert.deepEqual(resourceRules, [
    { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"], scope: "*" },
  ]);
  assert.equal(binding?.spec?.policyName, injectionName);
  assert.equal("paramRef" in (binding?.spec ?? {}), false);
  const writes = await user.writes({ from });
  assert.deepEqual(
    writes.slice(0, 3).map(({ verb, resource }) => `${verb} ${resource}`),
    ["create configmaps", `create ${policies.plural}`, `create ${bindings.plural}`],
    "before any copy",
  );
  const uids = new Set([record, policy, binding].map((each) => each?.metadata.labels?.["latchkey.dev/owner-uid"]));
  assert.equal(uids.size, 1);
});

const edits: { name: string; place: Place; change: object }[] = [
  { name: "the record is emptied", place: recordObject, change: { data: null } },
  { name: "the record has other names", place: recordObject, change: { data: { names: "theirs", "names.x": "y" } } },
  { name: "the record is said to be immutable", place: recordObject, change: { immutable: true, data: { more: "x" } } },
  {
    name: "the policy never applies",
    place: policyObject,
    change: { spec: { matchConditions: [{ name: "never", expression: "false" }] } },
  },
  { name: "the policy is strict", place: policyObject, change: { spec: { failurePolicy: "Fail" } } },
  {
    name: "the policy has other mutations",
    place: policyObject,
    change: { spec: { mutations: [{ patchType: "JSONPatch", jsonPatch: { expression: noPatch } }], variables: [] } },
  },
  {
    name: "the binding selects something else",
    place: bindingObject,
    change: { spec: { matchResources: { namespaceSelector: { matchExpressions: null, matchLabels: { a: "b" } } } } },
  },
  { name: "the binding is about another policy", place: bindingObject, change: { spec: { policyName: "theirs" } } },
];

test("whatever an admin edits or deletes is restored, and Pods have their names again", async (t) => {
  const { given, name, kube } = await served(t);
  const app = await createUserNamespace(t, user);
  for (const { name: what, place, change } of edits) {
    await t.test(what, async () => {
      const before = await found(place);
      const { resource, ref } = place;
      await user.kube.patch(resource, ref, { type: "merge", body: change });
      const after = await untilRestored(place, before);
      if (!("immutable" in change)) assert.equal(after.metadata.uid, before.metadata.uid, "in place");
      await untilGiven(user.kube, app, given);
    });
  }
  for (const place of injectionObjects) {
    await t.test(`the ${place.resource.kind} is deleted`, async () => {
      const before = await found(place);
      await user.kube.delete(place.resource, place.ref);
      await untilRestored(place, before);
      await untilGiven(user.kube, app, given);
    });
  }
  await t.test("all of them are deleted", async () => {
    const before = await Promise.all(injectionObjects.map(found));
    await Promise.all(injectionObjects.map(({ resource, ref }) => user.kube.delete(resource, ref)));
    for (const [at, place] of injectionObjects.entries()) await untilRestored(place, before[at] as Written);
    await untilGiven(user.kube, app, given);
  });
  await untilCluster(kube, name, "Ready", { status: "True" });
});

test("against somebody who edits the policy without end it is restored about once a second", async (t) => {
  const { given, sources, kube, cluster } = await served(t, ["quay", "hub"]);
  const from = await user.position();
  const seconds = 6;
  const edit = (value: string) =>
    user.kube.patch(policies, policyObject.ref, { type: "merge", body: { spec: { failurePolicy: value } } });
  const end = performance.now() + seconds * 1_000;
  while (performance.now() < end) {
    await edit("Fail");
    await sleep(100);
  }
  await until<Written>(
    user.kube,
    policies,
    policyObject.ref,
    "is restored",
    (p) => p?.spec?.failurePolicy === "Ignore",
  );
  const writes = (await user.writes({ from })).filter(({ resource }) => resource === policies.plural);
  assert.ok(writes.length >= 2 && writes.length <= seconds + 3, `${writes.length} writes`);

  await changeCluster(kube, cluster, references(...sources.toReversed()));
  await untilGiven(user.kube, "default", given.toReversed());
});

test("not even while the policy is somebody else's is the record restored without end", async (t) => {
  await createTheirs(t, policies);
  const { kube, namespaces } = await testNamespaces(t, 1);
  const sources = await createSources(kube, namespaces[0], "quay");
  const { cluster } = await serveCluster(t, { user, references: sources });
  const { name } = cluster.metadata;
  await untilCluster(kube, name, "Injection", { status: "False", reason: "Collision" });
  const from = await user.position();
  const { resourceVersion } = (await kube.get<Cluster>(clusters, { name }))?.metadata ?? {};
  const seconds = 4;
  const end = performance.now() + seconds * 1_000;
  while (performance.now() < end) {
    await user.kube.patch(configMaps, recordObject.ref, { type: "merge", body: { data: { names: "theirs" } } });
    await sleep(100);
  }
  const writes = (await user.writes({ from })).filter(({ resource }) => resource === configMaps.plural);
  assert.ok(writes.length <= seconds + 2, `${writes.length} writes`);
  assert.equal((await kube.get<Cluster>(clusters, { name }))?.metadata.resourceVersion, resourceVersion, "no news");
});

const foreign: Record<string, Draft<Written>> = {
  ConfigMap: { metadata: recordObject.ref, data: { names: "theirs" } },
  MutatingAdmissionPolicy: {
    metadata: policyObject.ref,
    spec: {
      matchConstraints: {
        resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }],
      },
      mutations: [{ patchType: "JSONPatch", jsonPatch: { expression: noPatch } }],
      failurePolicy: "Ignore",
      reinvocationPolicy: "Never",
    },
  },
  MutatingAdmissionPolicyBinding: { metadata: bindingObject.ref, spec: { policyName: "theirs" } },
};

for (const { resource, ref } of injectionObjects) {
  test(`a ${resource.kind} of that name that is not ours is left alone and named, copies are made, and it heals`, async (t) => {
    const theirs = await createTheirs(t, resource);
    const { kube, namespaces } = await testNamespaces(t, 1);
    const [source = ""] = await createSources(kube, namespaces[0], "quay");
    const { cluster } = await serveCluster(t, { user, references: [source] });
    const told = new EventsOf(t, kube, cluster);
    const { name } = cluster.metadata;
    const message = new RegExp(`${resource.kind} .*${injectionName} is not ours`);

    await untilCluster(kube, name, "Injection", { status: "False", reason: "Collision", message });
    await untilCluster(kube, name, "PullSecretsReady", { status: "True" });
    await untilCluster(kube, name, "Ready", { status: "False", reason: "Collision", message });
    const app = await createUserNamespace(t, user);
    await untilPullSecret(user.kube, `${app}/${literalName(source)}`);
    assert.deepEqual(await user.kube.get(resource, ref), theirs);
    assert.ok((await told.until(1)).includes("Warning Collision"));

    await user.kube.delete(resource, ref);
    await untilCluster(kube, name, "Ready", { status: "True" });
    await untilGiven(user.kube, app, [literalName(source)]);
  });
}

async function createTheirs(t: TestContext, resource: Resource, meta: object = {}): Promise<Written> {
  const draft = foreign[resource.kind] as Draft<Written>;
  t.after(() => removeQuietly(() => user.kube.delete(resource, { name: injectionName, ...draft.metadata })));
  return user.kube.create<Written>(resource, { ...draft, metadata: { ...draft.metadata, ...meta } });
}

test("an object of another installation is named as such, and outlives the Cluster", async (t) => {
  const meta = {
    labels: { "app.kubernetes.io/managed-by": "latchkey", "latchkey.dev/owner-uid": "another-one" },
    annotations: { "latchkey.dev/owner": "Installation", "latchkey.dev/self": `kube-system/${injectionName}` },
  };
  const theirs = await createTheirs(t, configMaps, meta);
  const { kube, namespaces } = await testNamespaces(t, 1);
  const sources = await createSources(kube, namespaces[0], "quay");
  const { cluster } = await serveCluster(t, { user, references: sources });
  const { name } = cluster.metadata;
  await untilCluster(kube, name, "Injection", {
    reason: "Collision",
    message: /belongs to .* installation another-one/,
  });
  await kube.delete(clusters, { name });
  await untilGone(kube, clusters, { name });
  assert.deepEqual(await user.kube.get(configMaps, recordObject.ref), theirs);
});

test("a policy that lost its marks is somebody else's, until they are back", async (t) => {
  const { kube, name, given } = await served(t);
  const { labels = {} } = (await found(policyObject)).metadata;
  const mark = (owner: string | undefined) => {
    const body = { metadata: { labels: { "latchkey.dev/owner-uid": owner ?? null } } };
    return user.kube.patch(policies, policyObject.ref, { type: "merge", body });
  };
  await mark(undefined);
  await untilCluster(kube, name, "Injection", { status: "False", reason: "Collision" });
  await mark(labels["latchkey.dev/owner-uid"]);
  await untilCluster(kube, name, "Ready", { status: "True" });
  await untilGiven(user.kube, "default", given);
});

test("a Cluster that was deleted and created again gives new names, and those that change afterwards", async (t) => {
  const { kube, sources, name, cluster, given } = await served(t, ["quay", "hub"]);
  await kube.delete(clusters, { name });
  await untilGone(kube, clusters, { name });
  for (const { resource, ref } of injectionObjects) assert.equal(await user.kube.get(resource, ref), undefined);
  await untilGiven(user.kube, "default", []);
  // Longer than the API server takes to forget what no policy uses.
  await sleep(2_000);

  await kube.create<Cluster>(clusters, { metadata: { name }, spec: cluster.spec });
  await untilGiven(user.kube, "default", given);
  for (const round of [sources.slice(0, 1), sources.toReversed(), sources.slice(1), sources]) {
    await changeCluster(kube, cluster, references(...round));
    const changedAt = performance.now();
    await untilGiven(user.kube, "default", round.map(literalName));
    const tookMs = performance.now() - changedAt;
    assert.ok(tookMs < 10_000, `took ${tookMs} ms`); // 2 s, on a machine that is not busy
  }
});

test("a change of references is told when Pods get the new names, not before", async (t) => {
  const { kube, cluster, sources } = await served(t, ["quay", "hub"]);
  for (const round of [sources.toReversed(), sources.slice(1), sources, sources.slice(0, 1)]) {
    const { metadata } = await changeCluster(kube, cluster, references(...round));
    const { name, generation = 0 } = metadata;
    await untilCluster(kube, name, "Injection", { status: "True", generation });
    assert.deepEqual((await found(recordObject)).data, { names: round.map(literalName).join("\n") });
  }
});

test("without references there is nothing to give, until there is one", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [source = ""] = await createSources(kube, namespaces[0], "quay");
  const { cluster } = await serveCluster(t, { user, spec: { disableDefaultImagePullSecrets: true } });
  await untilCluster(kube, cluster.metadata.name, "Ready", { status: "True", message: /^0 references/ });
  assert.deepEqual((await found(recordObject)).data, { names: "" });
  await untilGiven(user.kube, "default", []);
  await changeCluster(kube, cluster, references(source));
  await untilGiven(user.kube, "default", [literalName(source)]);
  await changeCluster(kube, cluster, references());
  await untilGiven(user.kube, "default", []);
});

test("what is there already is not written again", async (t) => {
  const { kube, name, given, sources } = await served(t);
  const from = await user.position();
  const app = await createUserNamespace(t, user);
  await untilPullSecret(user.kube, `${app}/${given[0]}`);
  await untilGiven(user.kube, app, given);
  await untilCluster(kube, name, "Ready", { status: "True", message: / 5\/5 / });
  const writes = await user.writes({ from });
  assert.deepEqual(
    writes.map(({ verb, resource }) => `${verb} ${resource}`),
    ["create secrets"],
  );

  const rotation = await user.position();
  await setValues(kube, sources[0] ?? "", dockerConfig("robot", "rotated"));
  for (const namespace of ["default", "kube-system", app]) {
    await untilPullSecret(user.kube, `${namespace}/${given[0]}`, "rotated");
  }
  await lookedAt(t, given[0] ?? "");
  const rotated = (await user.writes({ from: rotation })).filter(({ verb }) => verb !== "create");
  assert.deepEqual(
    rotated.map(({ verb, resource }) => `${verb} ${resource}`),
    Array(5).fill("patch secrets"),
  );
});

/** A namespace that comes now has its copy: whatever was to be done before is done. */
async function lookedAt(t: TestContext, copy: string): Promise<void> {
  await untilPullSecret(user.kube, `${await createUserNamespace(t, user)}/${copy}`, "rotated");
}
