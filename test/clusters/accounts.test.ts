import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type KubeObject, namespaces as namespaceKind, type Resource, secrets } from "../../src/api/objects.ts";
import { ApiProxy } from "../../src/testing/api-proxy.ts";
import { removeQuietly, testNamespaces, uniqueName } from "../../src/testing/cluster.ts";
import {
  addedAnnotation,
  changeCluster,
  createAccount,
  createSources,
  enforcing,
  listOf,
  optedOut,
  references,
  type ServiceAccount,
  through,
  untilListed,
} from "../../src/testing/injection.ts";
import { at, secret } from "../../src/testing/objects.ts";
import {
  createPullSecret,
  literalName,
  pullSecretsOf,
  serviceAccounts,
  suffixedName,
  untilPullSecret,
} from "../../src/testing/sidecars.ts";
import {
  type ClusterSpec,
  clusters,
  createUserNamespace,
  createUserPod,
  serveCluster,
  untilCluster,
  userCluster,
} from "../../src/testing/user-clusters.ts";
import { until, untilGone } from "../../src/testing/wait.ts";

const user = userCluster({ emulatedVersion: "1.33" });

async function served(
  t: TestContext,
  { names = ["quay", "hub"], spec = {} as ClusterSpec, via = user.kubeconfig } = {},
) {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [home] = namespaces;
  const sources = await createSources(kube, home, ...names);
  const { cluster } = await serveCluster(t, { user: { kubeconfig: via }, references: sources, spec });
  await untilCluster(kube, cluster.metadata.name, "Injection", { status: "True", message: "mode ServiceAccount" });
  return { kube, home, sources, cluster, name: cluster.metadata.name, given: sources.map(literalName) };
}

const addedTo = ({ metadata }: ServiceAccount) => metadata.annotations?.[addedAnnotation];

async function account(key: string): Promise<ServiceAccount> {
  const found = await user.kube.get<ServiceAccount>(serviceAccounts, at(key));
  assert.ok(found, key);
  return found;
}

function setList(key: string, names: readonly string[]): Promise<ServiceAccount> {
  const body = { imagePullSecrets: names.map((name) => ({ name })) };
  return user.kube.patch<ServiceAccount>(serviceAccounts, at(key), { type: "merge", body });
}

async function patchesOf(key: string, from: number): Promise<readonly string[]> {
  const writes = await user.writes({ from });
  return writes
    .filter(({ resource, namespace, name }) => resource === "serviceaccounts" && `${namespace}/${name}` === key)
    .map(({ verb, code }) => `${verb} ${code}`);
}

test("every account of a served namespace has the names after those of others, and says which are ours", async (t) => {
  const app = await createUserNamespace(t, user);
  const keys = { plain: `${app}/plain`, others: `${app}/others`, noted: `${app}/noted`, strict: `${app}/strict` };
  await createAccount(user.kube, keys.plain);
  await createAccount(user.kube, keys.noted, { annotations: { a: "b" } });
  await createAccount(user.kube, keys.strict, enforcing);
  const from = await user.position();
  const { name, kube, given } = await served(t);
  const [quay = "", hub = ""] = given;
  await createAccount(user.kube, keys.others, { names: ["of-others", hub, "of-others"] });

  for (const key of [keys.plain, keys.noted, keys.strict, "kube-system/default", "default/default"]) {
    const listed = await untilListed(user.kube, key, given);
    assert.equal(addedTo(listed), given.join(","), key);
  }
  assert.equal((await account(keys.noted)).metadata.annotations?.a, "b");
  const others = await untilListed(user.kube, keys.others, ["of-others", hub, "of-others", quay]);
  assert.equal(addedTo(others), quay, "what was there first is not ours");

  const later = await createUserNamespace(t, user);
  await untilListed(user.kube, `${later}/default`, given);
  assert.deepEqual(pullSecretsOf(await createUserPod(t, user, `${later}/web`)), given);
  const own = { spec: { imagePullSecrets: [{ name: "mine" }] } };
  assert.deepEqual(
    pullSecretsOf(await createUserPod(t, user, `${later}/other`, own)),
    ["mine"],
    "a limit of this mode",
  );
  const spec = { serviceAccountName: "strict" };
  assert.deepEqual(pullSecretsOf(await createUserPod(t, user, `${app}/web`, { spec })), given, "it lists them");
  await untilCluster(kube, name, "Ready", { status: "True", message: /mode ServiceAccount$/ });
  for (const key of Object.values(keys)) assert.deepEqual(await patchesOf(key, from), ["patch 200"], key);
});

test("only what we added is removed: with its reference, when a namespace opts out, with the Cluster", async (t) => {
  const [app, other] = [await createUserNamespace(t, user), await createUserNamespace(t, user)];
  const { kube, cluster, name, given, sources } = await served(t, { names: ["quay", "hub", "acr"] });
  const [quay = "", hub = "", acr = ""] = given;
  const key = `${app}/builder`;
  await createAccount(user.kube, key, { names: ["of-others", hub], annotations: { a: "b" } });
  await untilListed(user.kube, key, ["of-others", hub, quay, acr]);
  await untilListed(user.kube, `${other}/default`, given);

  const [first = "", , third = ""] = sources;
  await changeCluster(kube, cluster, references(third, first));
  await untilListed(user.kube, key, ["of-others", hub, acr, quay]);
  assert.equal(addedTo(await account(key)), `${acr},${quay}`);
  await untilListed(user.kube, `${app}/default`, [acr, quay]);

  const opt = (value: string | null) => {
    const body = { metadata: { labels: { "latchkey.dev/inject": value } } };
    return user.kube.patch(namespaceKind, { name: app }, { type: "merge", body });
  };
  await opt("false");
  assert.deepEqual((await untilListed(user.kube, key, ["of-others", hub])).metadata.annotations, { a: "b" });
  assert.equal(addedTo(await untilListed(user.kube, `${app}/default`, [])), undefined);
  await opt(null);
  await untilListed(user.kube, key, ["of-others", hub, acr, quay]);
  await changeCluster(kube, cluster, { excludedNamespaces: [other] });
  await untilListed(user.kube, `${other}/default`, []);

  await kube.delete(clusters, { name });
  await untilGone(kube, clusters, { name });
  assert.deepEqual(listOf(await account(key)), ["of-others", hub]);
  assert.deepEqual((await account(key)).metadata.annotations, { a: "b" });
  for (const each of await user.kube.list<ServiceAccount>(serviceAccounts)) assert.equal(addedTo(each), undefined);
});

test("accounts of namespaces that are not served are left alone", async (t) => {
  const out = await createUserNamespace(t, user, optedOut);
  const excluded = await createUserNamespace(t, user);
  const from = await user.position();
  const { given } = await served(t, { spec: { excludedNamespaces: [excluded] } });
  await untilListed(user.kube, "default/default", given);
  for (const namespace of [out, excluded]) {
    await createAccount(user.kube, `${namespace}/builder`);
    assert.deepEqual(await patchesOf(`${namespace}/builder`, from), []);
    assert.deepEqual(await patchesOf(`${namespace}/default`, from), []);
  }
});

test("names follow what becomes of their sources, each account written once for each change", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [home] = namespaces;
  const [good, missing, opaque] = [`${home}/good`, `${home}/missing`, `${home}/opaque`];
  const app = await createUserNamespace(t, user);
  await createAccount(user.kube, `${app}/builder`);
  await createPullSecret(kube, good);
  await kube.create(secrets, secret(opaque));
  const from = await user.position();
  const { cluster } = await serveCluster(t, { user, references: [opaque, missing, good] });
  const { name } = cluster.metadata;
  await untilCluster(kube, name, "Injection", { status: "True" });
  assert.deepEqual(listOf(await account(`${app}/builder`)), [missing, good].map(literalName));
  assert.deepEqual(
    await patchesOf(`${app}/builder`, from),
    ["patch 200"],
    "never with the name of what is no pull secret",
  );

  const [bad] = [`${home}/bad`];
  await kube.create(secrets, secret(bad));
  await changeCluster(kube, cluster, references(opaque, missing, good, bad));
  await createPullSecret(kube, missing);
  await untilPullSecret(user.kube, `${app}/${literalName(missing)}`);
  await untilCluster(kube, name, "PullSecretsReady", { reason: "SourceTypeRejected", message: new RegExp(bad) });
  assert.deepEqual(await patchesOf(`${app}/builder`, from), ["patch 200"]);

  await kube.delete(secrets, at(opaque));
  await createPullSecret(kube, opaque);
  await untilListed(user.kube, `${app}/builder`, [opaque, missing, good].map(literalName));
  assert.deepEqual(await patchesOf(`${app}/builder`, from), ["patch 200", "patch 200"]);
});

test("where somebody else holds the name, accounts get the one that the copy has there", async (t) => {
  const app = await createUserNamespace(t, user);
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [source = ""] = await createSources(kube, namespaces[0], "quay");
  await user.kube.create(secrets, secret(`${app}/${literalName(source)}`));
  const { cluster } = await serveCluster(t, { user, references: [source] });
  await untilPullSecret(user.kube, `${app}/${suffixedName(source)}`);
  await untilListed(user.kube, `${app}/default`, [suffixedName(source)]);
  await untilListed(user.kube, "default/default", [literalName(source)]);
  const message = "mode ServiceAccount; 1 namespace with names of its own";
  await untilCluster(kube, cluster.metadata.name, "Injection", { status: "True", message });
});

test("what others take out or add is answered: ours is back, theirs stays and comes first", async (t) => {
  const { given } = await served(t);
  const app = await createUserNamespace(t, user);
  const key = `${app}/default`;
  await untilListed(user.kube, key, given);
  await setList(key, []);
  await untilListed(user.kube, key, given);
  await setList(key, [...given, "theirs"]);
  const listed = await untilListed(user.kube, key, ["theirs", ...given]);
  assert.equal(addedTo(listed), given.join(","));
});

/** Reverts the account once it is as we want it, and waits for what is then. */
async function contest(key: string, given: readonly string[], revert: () => Promise<unknown>): Promise<void> {
  for (let round = 1; round <= 3; round++) {
    await untilListed(user.kube, key, given);
    await revert();
  }
}

test("an account that is reverted for the third time is left alone and named, the others are served", async (t) => {
  const app = await createUserNamespace(t, user);
  const [one, two, peaceful] = [`${app}/one`, `${app}/two`, `${app}/peaceful`];
  for (const key of [one, two, peaceful]) await createAccount(user.kube, key);
  const from = await user.position();
  const { kube, name, cluster, given, sources } = await served(t);

  await contest(one, given, () => setList(one, []));
  await untilCluster(kube, name, "Injection", {
    status: "True",
    reason: "ServiceAccountsContested",
    message: new RegExp(one),
  });
  // The whole account, as somebody would who applies it from a file: our mark goes as well.
  const body = { imagePullSecrets: [], metadata: { annotations: null } };
  await contest(two, given, () => user.kube.patch(serviceAccounts, at(two), { type: "merge", body }));
  const message = new RegExp(`${one}, ${two}`);
  await untilCluster(kube, name, "Injection", { status: "True", reason: "ServiceAccountsContested", message });
  await untilCluster(kube, name, "Ready", { status: "True" });

  const later = await createUserNamespace(t, user);
  await untilListed(user.kube, `${later}/default`, given);
  await setList(peaceful, []);
  await untilListed(user.kube, peaceful, given);
  for (const key of [one, two]) {
    assert.deepEqual(listOf(await account(key)), []);
    assert.deepEqual(await patchesOf(key, from), Array(3).fill("patch 200"), "the first, and two repairs");
  }

  await changeCluster(kube, cluster, references(...sources.slice(0, 1)));
  await untilListed(user.kube, peaceful, given.slice(0, 1));
  await untilCluster(kube, name, "Injection", { reason: "ServiceAccountsContested", message });
  await user.kube.delete(serviceAccounts, at(one));
  await user.kube.delete(serviceAccounts, at(two));
  await untilCluster(kube, name, "Injection", { status: "True", reason: "Active" });
});

test("somebody who puts the list in another order without end is not answered without end", async (t) => {
  const app = await createUserNamespace(t, user);
  const key = `${app}/sorted`;
  await createAccount(user.kube, key, { names: ["zzz"] });
  const from = await user.position();
  const { kube, name, given } = await served(t);
  await contest(key, ["zzz", ...given], () => setList(key, [...given, "zzz"]));
  await untilCluster(kube, name, "Injection", {
    status: "True",
    reason: "ServiceAccountsContested",
    message: /sorted/,
  });
  assert.deepEqual(listOf(await account(key)), [...given, "zzz"]);
  assert.deepEqual(await patchesOf(key, from), Array(3).fill("patch 200"));
});

test("a write that comes too late is made again, and nothing of the other writer's is lost", async (t) => {
  const proxy = await ApiProxy.start({ server: user.plane.server, ca: user.plane.admin.ca });
  const { given } = await served(t, { via: through(proxy, user) });
  // After the Cluster, which is cleaned up through it.
  t.after(() => proxy[Symbol.asyncDispose]());
  const app = await createUserNamespace(t, user);
  await untilListed(user.kube, `${app}/default`, given);

  const key = `${app}/busy`;
  const from = await user.position();
  const rule = proxy.fault(({ method, path }) =>
    method === "PATCH" && path.includes("/serviceaccounts/busy") ? { kind: "hold" } : undefined,
  );
  await createAccount(user.kube, key);
  await rule.reached(1);
  await setList(key, ["theirs"]);
  rule.lift();
  await untilListed(user.kube, key, ["theirs", ...given]);
  assert.deepEqual(await patchesOf(key, from), ["patch 409", "patch 200"]);
});

test("one account that may not be changed is told of, and keeps nobody from being served or left", async (t) => {
  const app = await createUserNamespace(t, user);
  for (const each of ["guarded", "other"]) await createAccount(user.kube, `${app}/${each}`);
  const guard = await refuseChangesOf(t, `${app}/guarded`);
  const { kube, namespaces } = await testNamespaces(t, 1);
  const sources = await createSources(kube, namespaces[0], "quay");
  const { cluster } = await serveCluster(t, { user, references: sources });
  const { name } = cluster.metadata;
  const given = sources.map(literalName);
  await untilCluster(kube, name, "Injection", { status: "False", reason: "TargetRefused", message: /guarded/ });
  await untilListed(user.kube, `${app}/other`, given);
  await untilCluster(kube, name, "PullSecretsReady", { status: "True" });

  await guard.lift();
  await user.kube.patch(serviceAccounts, at(`${app}/guarded`), {
    ...{ type: "merge", body: { metadata: { labels: { touched: "yes" } } } },
  });
  await untilListed(user.kube, `${app}/guarded`, given);
  await untilCluster(kube, name, "Ready", { status: "True" });

  const again = await refuseChangesOf(t, `${app}/guarded`);
  await kube.delete(clusters, { name });
  await untilListed(user.kube, `${app}/other`, []);
  await untilListed(user.kube, "default/default", []);
  await again.lift();
  await untilGone(kube, clusters, { name });
  await untilListed(user.kube, `${app}/guarded`, []);
});

const validating = (plural: string, kind: string): Resource => ({
  ...{ group: "admissionregistration.k8s.io", version: "v1", plural, kind, namespaced: false },
});
const validatingPolicies = validating("validatingadmissionpolicies", "ValidatingAdmissionPolicy");
const validatingBindings = validating("validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding");

/** Whoever changes the account's list is refused, from when this resolves until it is lifted. */
async function refuseChangesOf(t: TestContext, key: string) {
  const name = uniqueName("guard");
  const { namespace, name: guarded } = at(key);
  const lift = async () => {
    for (const kind of [validatingBindings, validatingPolicies]) await user.kube.delete(kind, { name });
    await untilTried(key, true);
  };
  t.after(() => removeQuietly(() => user.kube.delete(validatingBindings, { name })));
  await user.kube.create<KubeObject & { spec: object }>(validatingPolicies, {
    metadata: { name },
    spec: {
      matchConstraints: {
        resourceRules: [
          { apiGroups: [""], apiVersions: ["v1"], operations: ["UPDATE"], resources: ["serviceaccounts"] },
        ],
      },
      matchConditions: [
        { name: "guarded", expression: `object.metadata.name == '${guarded}' && request.namespace == '${namespace}'` },
      ],
      validations: [{ expression: "object.?imagePullSecrets.orValue([]) == oldObject.?imagePullSecrets.orValue([])" }],
    },
  });
  const spec = { policyName: name, validationActions: ["Deny"] };
  await user.kube.create<KubeObject & { spec: object }>(validatingBindings, { metadata: { name }, spec });
  await untilTried(key, false);
  return { lift };
}

/** The API server takes notice of policies after a moment, and tells nobody. */
async function untilTried(key: string, isAllowed: boolean): Promise<void> {
  const body = { imagePullSecrets: [{ name: "tried" }] };
  const isDone = async () => {
    const trying = user.kube.patch(serviceAccounts, at(key), { type: "merge", body }, { dryRun: true });
    return (
      (await trying.then(
        () => true,
        () => false,
      )) === isAllowed
    );
  };
  for (const signal = AbortSignal.timeout(60_000); !(await isDone()); ) await sleep(50, undefined, { signal });
}

test("an account comes and goes with its namespace, and comes again", async (t) => {
  const { given } = await served(t);
  const app = await createUserNamespace(t, user);
  await untilListed(user.kube, `${app}/default`, given);
  await user.kube.delete(namespaceKind, { name: app });
  await untilGone(user.kube, namespaceKind, { name: app });
  await user.kube.create(namespaceKind, { metadata: { name: app } });
  await untilListed(user.kube, `${app}/default`, given);
  await until(user.kube, secrets, at(`${app}/${given[0]}`), "is copied", (copy) => copy !== undefined);
});
