import assert from "node:assert/strict";
import { test } from "node:test";
import { namespaces as namespaceKind, secrets } from "../../src/api/objects.ts";
import { createNamespace, uniqueName } from "../../src/testing/cluster.ts";
import { untilGiven, untilRecord } from "../../src/testing/injection.ts";
import { at } from "../../src/testing/objects.ts";
import { createSecret, deleteSecret, getSecret, theSecret } from "../../src/testing/secrets.ts";
import {
  beginServing,
  copiesIn,
  copyAt,
  hashOf,
  installationOf,
  namesGiven,
  recordedIn,
  refer,
  served,
  untilEvent,
  untilStatus,
} from "../../src/testing/served-clusters.ts";
import {
  createPullSecret,
  dockerConfigType,
  literalName,
  suffixedName,
  untilPullSecret,
} from "../../src/testing/sidecars.ts";
import { createUserNamespace, untilCluster, userCluster } from "../../src/testing/user-clusters.ts";
import { untilGone } from "../../src/testing/wait.ts";

const user = userCluster();
const system = ["kube-system", "kube-public", "kube-node-lease", "default"];

test("a copy has the literal name in every namespace, and says whose it is and nothing of who asked", async (t) => {
  const app = await createUserNamespace(t, user);
  const { kube, sources, vault, events, name } = await served(t, user);
  const [source = ""] = sources;
  // The namespace of the source has a namesake here: it is served like any other.
  t.after(() => user.kube.delete(namespaceKind, { name: vault }));
  await user.kube.create(namespaceKind, { metadata: { name: vault } });
  const installation = await installationOf(kube);

  for (const namespace of [...system, app, vault]) {
    const { metadata, data, type } = await untilPullSecret(user.kube, copyAt(namespace, source));
    const { labels, annotations: { "latchkey.dev/fingerprint": print, ...annotations } = {} } = metadata;
    assert.deepEqual(labels, {
      "app.kubernetes.io/managed-by": "latchkey",
      "latchkey.dev/owner-uid": installation,
      "latchkey.dev/source-hash": hashOf(source),
    });
    assert.deepEqual(annotations, {
      "latchkey.dev/owner": "Installation",
      "latchkey.dev/source": source,
      "latchkey.dev/self": `${namespace}/${literalName(source)}`,
    });
    assert.ok(print);
    assert.equal(metadata.ownerReferences, undefined);
    assert.equal(metadata.finalizers, undefined);
    assert.equal(type, dockerConfigType);
    assert.deepEqual(Object.keys(data ?? {}), [".dockerconfigjson"]);
  }
  const status = await untilStatus({ kube, name }, "counts them", ({ namespaces }) => namespaces?.summary === "6/6");
  assert.deepEqual(status.namespaces, { total: 6, served: 6, excluded: 0, failed: 0, summary: "6/6" });
  const entry = { ...at(source), copyName: literalName(source), state: "Copied", copies: 6 };
  assert.deepEqual(status.imagePullSecrets, [entry]);
  assert.equal(status.failures, undefined);
  assert.deepEqual(await events.until(1), ["Normal Served"]);
  assert.match(events.messages[0] ?? "", /^1 reference in \d\/\d namespaces, mode Policy$/);
});

test("of two sources whose names join alike the first has the literal name everywhere, and keeps it", async (t) => {
  const prefix = uniqueName("a");
  await createNamespace(t, prefix);
  await createNamespace(t, `${prefix}-b`);
  const [first, second] = [`${prefix}-b/c`, `${prefix}/b-c`];
  const serving = await beginServing(t, user, { sources: [], references: [first, second] });
  const { kube } = serving;
  const literal = literalName(first);
  assert.equal(literal, literalName(second));
  await createPullSecret(kube, second, "two");
  // The first one comes last, and its name is free for it all the same.
  await untilPullSecret(user.kube, `default/${suffixedName(second)}`, "two");
  assert.equal(await getSecret(user.kube, `default/${literal}`), undefined);
  await createPullSecret(kube, first, "one");
  await untilCluster(kube, serving.name, "Ready", { status: "True" });

  const app = await createUserNamespace(t, user);
  for (const namespace of [...system, app]) {
    await untilPullSecret(user.kube, `${namespace}/${literal}`, "one");
    await untilPullSecret(user.kube, `${namespace}/${suffixedName(second)}`, "two");
  }
  assert.deepEqual(await recordedIn(user), { names: `${literal}\n${suffixedName(second)}` });
  await untilGiven(user.kube, app, [literal, suffixedName(second)]);

  // Neither another order nor the end of the first takes a name from a copy that lives.
  const before = await copiesIn(user);
  await refer(serving, [second, first]);
  await untilGiven(user.kube, app, [suffixedName(second), literal]);
  assert.deepEqual(await recordedIn(user), { names: `${suffixedName(second)}\n${literal}` });
  await refer(serving, [second]);
  await untilGone(user.kube, secrets, at(`${app}/${literal}`));
  await untilGone(user.kube, secrets, at(`default/${literal}`));
  await untilGiven(user.kube, app, [suffixedName(second)]);
  assert.deepEqual(await recordedIn(user), { names: suffixedName(second) });
  const copy = await theSecret(user.kube, `${app}/${suffixedName(second)}`);
  assert.equal(copy.metadata.uid, before.get(`${app}/${suffixedName(second)}`)?.metadata.uid);
});

test("a literal name that is too long gives way to the suffixed one, everywhere", async (t) => {
  const long = `${"x".repeat(200)}.${"y".repeat(50)}`;
  const { sources, kube, name } = await served(t, user, { sources: [long] });
  const [source = ""] = sources;
  assert.ok(literalName(source).length > 253);
  assert.equal(suffixedName(source).length, 253);
  for (const namespace of system) await untilPullSecret(user.kube, `${namespace}/${suffixedName(source)}`);
  assert.deepEqual(await recordedIn(user), { names: suffixedName(source) });
  const { imagePullSecrets } = await untilStatus({ kube, name }, "has an entry", (status) => !!status.imagePullSecrets);
  assert.deepEqual(imagePullSecrets, [{ ...at(source), copyName: suffixedName(source), state: "Copied", copies: 4 }]);
});

test("a tenant's Secret under the literal name stays as it is: there the copy has the other name, for good", async (t) => {
  const [app, other] = [await createUserNamespace(t, user), await createUserNamespace(t, user)];
  const serving = await beginServing(t, user, { sources: [] });
  const { kube, vault, events } = serving;
  const source = `${vault}/quay`;
  const [literal, suffixed] = [literalName(source), suffixedName(source)];
  const theirs = await createSecret(user.kube, `${app}/${literal}`, { theirs: "yes" }, { labels: { app: "web" } });
  await createPullSecret(kube, source);
  await refer(serving, [source]);

  const copy = await untilPullSecret(user.kube, `${app}/${suffixed}`);
  await untilPullSecret(user.kube, `${other}/${literal}`);
  const data = await untilRecord(user.kube, `lists ${app}`, (record) => `names.${app}` in record);
  assert.deepEqual(data, { names: literal, [`names.${app}`]: suffixed });
  await untilGiven(user.kube, app, [suffixed]);
  await untilGiven(user.kube, other, [literal]);
  const ready = await untilCluster(kube, serving.name, "Ready", { status: "True", reason: "Served" });
  assert.equal(ready.status?.imagePullSecrets?.[0]?.copyName, literal);
  assert.equal(ready.status?.imagePullSecrets?.[0]?.copies, 6);
  await untilCluster(kube, serving.name, "Injection", { status: "True", message: /1 namespace with names of its own/ });
  await untilEvent(events, "Normal NameSuffixed");
  assert.deepEqual(await theSecret(user.kube, `${app}/${literal}`), theirs);

  // The better name is free now, and running Pods name the other one.
  await deleteSecret(user.kube, `${app}/${literal}`);
  await user.kube.patch(
    namespaceKind,
    { name: app },
    { type: "merge", body: { metadata: { labels: { seen: "yes" } } } },
  );
  await deleteSecret(user.kube, `${app}/${suffixed}`);
  const again = await untilPullSecret(user.kube, `${app}/${suffixed}`);
  assert.notEqual(again.metadata.uid, copy.metadata.uid);
  assert.equal(await getSecret(user.kube, `${app}/${literal}`), undefined);
  assert.deepEqual(await namesGiven(user, app), [suffixed]);
  assert.equal(events.inShort.filter((event) => event === "Normal NameSuffixed").length, 1);
});

test("where both names are held there is neither copy nor injection, until one gets free", async (t) => {
  const [app, other] = [await createUserNamespace(t, user), await createUserNamespace(t, user)];
  const serving = await beginServing(t, user, { sources: ["hub"] });
  const { kube, vault, sources, events, name } = serving;
  const [hub = ""] = sources;
  const source = `${vault}/quay`;
  const [literal, suffixed] = [literalName(source), suffixedName(source)];
  const theirs = [
    await createSecret(user.kube, `${app}/${literal}`, { theirs: "one" }),
    await createSecret(user.kube, `${app}/${suffixed}`, { theirs: "two" }),
  ];
  await createPullSecret(kube, source);
  await refer(serving, [source, hub]);

  const message = `${app}: ${literal} and ${suffixed} are held by Secrets that are not ours`;
  const told = await untilCluster(kube, name, "PullSecretsReady", { status: "False", reason: "Collision", message });
  await untilCluster(kube, name, "Ready", { status: "False", reason: "Collision", message });
  assert.deepEqual(told.status?.failures, [{ namespace: app, source, reason: "Collision", message }]);
  assert.equal(told.status?.namespaces?.failed, 1);
  assert.equal(told.status?.namespaces?.summary, "5/6");
  assert.deepEqual(
    told.status?.imagePullSecrets?.map(({ state, copies }) => ({ state, copies })),
    [
      { state: "Collision", copies: 5 },
      { state: "Copied", copies: 6 },
    ],
  );
  await untilEvent(events, "Warning Collision");
  await untilPullSecret(user.kube, `${other}/${literal}`);
  await untilGiven(user.kube, other, [literal, literalName(hub)]);
  await untilGiven(user.kube, app, [literalName(hub)]);
  assert.equal((await recordedIn(user))[`names.${app}`], `\n${literalName(hub)}`);
  assert.deepEqual(
    [await theSecret(user.kube, `${app}/${literal}`), await theSecret(user.kube, `${app}/${suffixed}`)],
    theirs,
  );

  // By back-off, for nobody tells that a foreign Secret has gone.
  await deleteSecret(user.kube, `${app}/${suffixed}`);
  await untilPullSecret(user.kube, `${app}/${suffixed}`);
  await untilCluster(kube, name, "Ready", { status: "True" });
  await untilGiven(user.kube, app, [suffixed, literalName(hub)]);
  assert.deepEqual(await theSecret(user.kube, `${app}/${literal}`), theirs[0]);
});

test("a change of its namespace has a freed name noticed at once", async (t) => {
  const app = await createUserNamespace(t, user);
  const serving = await beginServing(t, user, { sources: [] });
  const { kube, vault, name } = serving;
  const source = `${vault}/quay`;
  const [literal, suffixed] = [literalName(source), suffixedName(source)];
  for (const held of [literal, suffixed]) await createSecret(user.kube, `${app}/${held}`, { theirs: "yes" });
  await createPullSecret(kube, source);
  await refer(serving, [source]);
  await untilCluster(kube, name, "PullSecretsReady", { status: "False", reason: "Collision" });
  await deleteSecret(user.kube, `${app}/${literal}`);
  await user.kube.patch(
    namespaceKind,
    { name: app },
    { type: "merge", body: { metadata: { annotations: { seen: "yes" } } } },
  );
  await untilPullSecret(user.kube, `${app}/${literal}`);
  await untilCluster(kube, name, "Ready", { status: "True" });
  await untilGiven(user.kube, app, [literal]);
});
