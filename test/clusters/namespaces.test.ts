import assert from "node:assert/strict";
import { test } from "node:test";
import { namespaces as namespaceKind, secrets } from "../../src/api/objects.ts";
import { auditPosition, operatorWrites } from "../../src/testing/audit.ts";
import { uniqueName } from "../../src/testing/cluster.ts";
import { untilGiven } from "../../src/testing/injection.ts";
import { at, configMaps } from "../../src/testing/objects.ts";
import { getSecret } from "../../src/testing/secrets.ts";
import { changeSpec, copyAt, namesGiven, recordedIn, served, untilStatus } from "../../src/testing/served-clusters.ts";
import { literalName, pullSecretsOf, untilPullSecret } from "../../src/testing/sidecars.ts";
import { createUserNamespace, createUserPod, untilCluster, userCluster } from "../../src/testing/user-clusters.ts";
import { until, untilGone } from "../../src/testing/wait.ts";

const user = userCluster();
const optOut = { labels: { "latchkey.dev/inject": "false" } };
const label = (value: string | null) => ({ metadata: { labels: { "latchkey.dev/inject": value } } });

test("the injection comes first, then the copies of kube-system, then the rest", async (t) => {
  const apps = await Promise.all(Array.from({ length: 12 }, () => createUserNamespace(t, user)));
  const from = await user.position();
  const { sources } = await served(t, user, { sources: ["quay", "hub"] });
  for (const source of sources) for (const app of apps) await untilPullSecret(user.kube, copyAt(app, source));
  const writes = (await user.writes({ from })).toSorted((a, b) => (a.at < b.at ? -1 : 1));
  const order = writes.map(({ resource, namespace }) => (resource === "secrets" ? namespace : resource));
  assert.deepEqual(order.slice(0, 5), [
    "configmaps",
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
    "kube-system",
    "kube-system",
  ]);
  assert.equal(order.length, 3 + 2 * 16, "and nothing twice");
});

test("a new namespace is served at once: one create a reference, and one status", async (t) => {
  const { kube, name, vault, sources } = await served(t, user, { sources: ["quay", "hub"] });
  const summary = (wanted: string) =>
    untilStatus({ kube, name }, `says ${wanted}`, ({ namespaces }) => namespaces?.summary === wanted);
  await summary("4/4");
  const [here, home] = [await user.position(), await auditPosition(kube, vault)];
  const app = await createUserNamespace(t, user);
  for (const source of sources) await untilPullSecret(user.kube, copyAt(app, source));
  await summary("5/5");
  await untilCluster(kube, name, "Ready", { status: "True", message: /5\/5/ });

  const writes = (await user.writes({ from: here })).map(({ verb, resource, namespace }) => [
    verb,
    resource,
    namespace,
  ]);
  assert.deepEqual(
    writes,
    sources.map(() => ["create", "secrets", app]),
  );
  const told = (await operatorWrites(kube, vault, { from: home })).filter((write) => write.name === name);
  assert.ok(told.length <= 1, JSON.stringify(told));
});

test("a Pod that is created together with its namespace names the copies", async (t) => {
  const { sources } = await served(t, user);
  const literals = sources.map(literalName);
  await untilGiven(user.kube, "default", literals);
  for (let turn = 0; turn < 5; turn++) {
    const app = await createUserNamespace(t, user);
    assert.deepEqual(pullSecretsOf(await createUserPod(t, user, `${app}/web`)), literals);
  }
});

test("excluded namespaces get neither copies nor names; what was served loses its copies 3 s later", async (t) => {
  const [never, later] = [await createUserNamespace(t, user), await createUserNamespace(t, user)];
  const serving = await served(t, user, { spec: { excludedNamespaces: [never, "kube-public", "not-there"] } });
  const { kube, name, sources } = serving;
  const [source = ""] = sources;
  await untilGiven(user.kube, later, [literalName(source)]);
  assert.deepEqual(await namesGiven(user, never), []);
  assert.equal(await getSecret(user.kube, copyAt(never, source)), undefined);
  const before = await untilStatus({ kube, name }, "counts", ({ namespaces }) => namespaces?.served === 4);
  assert.deepEqual(before.namespaces, { total: 6, served: 4, excluded: 2, failed: 0, summary: "4/4" });

  const sinceMs = performance.now();
  await changeSpec(serving, { excludedNamespaces: [later, "kube-public"] });
  await untilPullSecret(user.kube, copyAt(never, source));
  await untilGiven(user.kube, never, [literalName(source)]);
  await untilGiven(user.kube, later, []);
  await untilGone(user.kube, secrets, at(copyAt(later, source)));
  assert.ok(performance.now() - sinceMs > 2_900, "not before its time");
  await untilCluster(kube, name, "Ready", { status: "True", message: /4\/4/ });
});

test("a namespace opts out and in by its label", async (t) => {
  const never = await createUserNamespace(t, user, optOut);
  const { kube, name, sources } = await served(t, user);
  const [source = ""] = sources;
  const app = await createUserNamespace(t, user);
  await untilPullSecret(user.kube, copyAt(app, source));
  assert.deepEqual(await namesGiven(user, never), []);
  assert.equal(await getSecret(user.kube, copyAt(never, source)), undefined);

  const sinceMs = performance.now();
  await user.kube.patch(namespaceKind, { name: app }, { type: "merge", body: label("false") });
  await untilGiven(user.kube, app, []);
  await untilStatus({ kube, name }, "excludes two", ({ namespaces }) => namespaces?.excluded === 2);
  await untilGone(user.kube, secrets, at(copyAt(app, source)));
  assert.ok(performance.now() - sinceMs > 2_900, "not before its time");

  // Any other value is none.
  await user.kube.patch(namespaceKind, { name: app }, { type: "merge", body: label("no") });
  await untilPullSecret(user.kube, copyAt(app, source));
  await user.kube.patch(namespaceKind, { name: never }, { type: "merge", body: label(null) });
  await untilPullSecret(user.kube, copyAt(never, source));
  await untilGiven(user.kube, never, [literalName(source)]);
  const { namespaces } = await untilStatus({ kube, name }, "serves all", (status) => status.namespaces?.served === 6);
  assert.deepEqual(namespaces, { total: 6, served: 6, excluded: 0, failed: 0, summary: "6/6" });
  assert.ok(!(`names.${app}` in (await recordedIn(user))));
});

test("a namespace that is going can go: nothing is written into it, and it does not count", async (t) => {
  const { kube, name, sources } = await served(t, user);
  const [source = ""] = sources;
  const app = uniqueName("app");
  await user.kube.create(namespaceKind, { metadata: { name: app } });
  await untilPullSecret(user.kube, copyAt(app, source));
  const held = { namespace: app, name: "held" };
  await user.kube.create(configMaps, { metadata: { ...held, finalizers: ["example.com/held"] } });
  await untilStatus({ kube, name }, "counts five", ({ namespaces }) => namespaces?.summary === "5/5");

  await user.kube.delete(namespaceKind, { name: app });
  await untilGone(user.kube, secrets, at(copyAt(app, source)));
  await untilStatus({ kube, name }, "counts four", ({ namespaces }) => namespaces?.summary === "4/4");
  const from = await user.position();
  // Something else happens meanwhile, which is served.
  const other = await createUserNamespace(t, user);
  await untilPullSecret(user.kube, copyAt(other, source));
  await untilCluster(kube, name, "Ready", { status: "True", message: /5\/5/ });
  assert.deepEqual(
    (await user.writes({ from })).map(({ verb, namespace }) => [verb, namespace]),
    [["create", other]],
  );
  await user.kube.patch(configMaps, held, { type: "merge", body: { metadata: { finalizers: null } } });
  await untilGone(user.kube, namespaceKind, { name: app });

  // Made again under the name it is served again.
  t.after(() => user.kube.delete(namespaceKind, { name: app }));
  await user.kube.create(namespaceKind, { metadata: { name: app } });
  await untilPullSecret(user.kube, copyAt(app, source));
});

test("deleting many namespaces at once ends well", async (t) => {
  const { kube, name, sources } = await served(t, user);
  const [source = ""] = sources;
  const names = Array.from({ length: 8 }, () => uniqueName("app"));
  await Promise.all(names.map((each) => user.kube.create(namespaceKind, { metadata: { name: each } })));
  for (const each of names) await untilPullSecret(user.kube, copyAt(each, source));
  const from = await user.position();
  await Promise.all(names.map((each) => user.kube.delete(namespaceKind, { name: each })));
  for (const each of names) await untilGone(user.kube, namespaceKind, { name: each });
  await untilCluster(kube, name, "Ready", { status: "True" });
  await until(user.kube, namespaceKind, { name: "default" }, "exists", (found) => found !== undefined);
  const creates = (await user.writes({ from })).filter(({ verb }) => verb === "create");
  // One a namespace at most: the deletion of a copy may be heard of before that of its namespace.
  assert.ok(creates.length <= names.length, JSON.stringify(creates));
});
