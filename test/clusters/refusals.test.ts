import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { events, namespaces as namespaceKind, type Resource, secrets } from "../../src/api/objects.ts";
import type { Kube } from "../../src/kube/client.ts";
import { removeQuietly, testEnvironment, uniqueName } from "../../src/testing/cluster.ts";
import { untilGiven } from "../../src/testing/injection.ts";
import { at } from "../../src/testing/objects.ts";
import { refuseSecrets } from "../../src/testing/refusals.ts";
import { deleteSecret, getSecret, setValues, theSecret } from "../../src/testing/secrets.ts";
import {
  beginServing,
  copyAt,
  refer,
  type ServedCluster,
  served,
  untilStatus,
} from "../../src/testing/served-clusters.ts";
import { createPullSecret, dockerConfig, literalName, untilPullSecret } from "../../src/testing/sidecars.ts";
import { clusters, createUserNamespace, untilCluster, userCluster } from "../../src/testing/user-clusters.ts";
import { untilGone } from "../../src/testing/wait.ts";

const user = userCluster();
const quotas: Resource = {
  group: "",
  version: "v1",
  plural: "resourcequotas",
  kind: "ResourceQuota",
  namespaced: true,
};

/** Room for no further Secret. Nobody runs the controller of quotas here: its part is done by hand. */
async function forbidSecrets(kube: Kube, namespace: string): Promise<void> {
  const ref = { namespace, name: "no-secrets" };
  const hard = { "count/secrets": "0" };
  await kube.create(quotas, { metadata: ref, spec: { hard } } as never);
  const body = { status: { hard, used: hard } };
  await kube.patch(quotas, ref, { type: "merge", body }, { subresource: "status" });
  await untilRefused(kube, namespace, /exceeded quota/);
}

/** The API server learns of quotas and policies a moment after they are written. */
async function untilRefused(kube: Kube, namespace: string, words = /./): Promise<void> {
  for (const deadline = performance.now() + 60_000; performance.now() < deadline; await sleep(100)) {
    const trying = kube.create(secrets, { metadata: { namespace, name: "probe" } }, { dryRun: true });
    const refusal = await trying.then(
      () => "",
      (error: Error) => error.message,
    );
    if (words.test(refusal)) return;
  }
  throw new Error(`Secrets in ${namespace} are not refused`);
}

const touch = (namespace: string) =>
  user.kube.patch(
    namespaceKind,
    { name: namespace },
    { type: "merge", body: { metadata: { annotations: { seen: "yes" } } } },
  );

const refused = { status: "False", reason: "TargetRefused" } as const;

test("a quota in one namespace stops no other, and is tried again when the namespace changes", async (t) => {
  const [full, other] = [await createUserNamespace(t, user), await createUserNamespace(t, user)];
  await forbidSecrets(user.kube, full);
  const { kube, name, sources } = await beginServing(t, user);
  const [source = ""] = sources;
  await untilPullSecret(user.kube, copyAt(other, source));
  const { status } = await untilCluster(kube, name, "PullSecretsReady", { ...refused, message: /exceeded quota/ });
  await untilCluster(kube, name, "Ready", { ...refused, message: new RegExp(`${full}: .*exceeded quota`) });
  assert.deepEqual(
    status?.failures?.map(({ message: _, ...rest }) => rest),
    [{ namespace: full, source, reason: "TargetRefused" }],
  );
  assert.match(status?.failures?.[0]?.message ?? "", /exceeded quota: no-secrets/);
  assert.deepEqual(status?.namespaces, { total: 6, served: 6, excluded: 0, failed: 1, summary: "5/6" });
  assert.deepEqual(status?.imagePullSecrets, [
    { ...at(source), copyName: literalName(source), state: "TargetRefused", copies: 5 },
  ]);
  await untilGiven(user.kube, full, [literalName(source)]);

  await user.kube.delete(quotas, { namespace: full, name: "no-secrets" });
  await untilGone(user.kube, quotas, { namespace: full, name: "no-secrets" });
  await touch(full);
  await untilPullSecret(user.kube, copyAt(full, source));
  const healed = await untilCluster(kube, name, "Ready", { status: "True", reason: "Served" });
  assert.equal(healed.status?.failures, undefined);
});

test("a refusal is tried again ever more rarely, and heals by itself", async (t) => {
  const app = await createUserNamespace(t, user);
  const tries: number[] = [];
  const { stop } = await refuseSecrets(t, user.kube, [app], ({ object, username }) => {
    if (!username.includes("latchkey")) return undefined;
    tries.push(performance.now());
    return `no ${object.metadata.name} here`;
  });
  const { kube, name, sources } = await beginServing(t, user);
  const [source = ""] = sources;
  await untilCluster(kube, name, "PullSecretsReady", {
    ...refused,
    message: new RegExp(`no ${literalName(source)} here`),
  });
  while (tries.length < 4) await sleep(50);
  const gaps = tries.slice(1).map((atMs, index) => atMs - (tries[index] ?? 0));
  assert.ok(
    gaps.every((gap) => gap > 300),
    `${gaps}`,
  );
  assert.ok((gaps.at(-1) ?? 0) > (gaps[0] ?? 0), `${gaps}`);
  await stop();
  await untilPullSecret(user.kube, copyAt(app, source));
  await untilCluster(kube, name, "Ready", { status: "True" });
});

test("a webhook that does not answer is named, for a copy that is to be made and for one that is to be changed", async (t) => {
  const [app, other] = [await createUserNamespace(t, user), await createUserNamespace(t, user)];
  const silent = await refuseSecrets(t, user.kube, [app], () => undefined);
  const { kube, name, sources } = await beginServing(t, user);
  const [source = ""] = sources;
  await untilCluster(kube, name, "Ready", { status: "True" });
  await silent.die();
  await setValues(kube, source, dockerConfig("robot", "two"));
  await untilPullSecret(user.kube, copyAt(other, source), "two");
  const message = new RegExp(`^${app}: .*failed calling webhook "refusals.example.com"`);
  const told = await untilCluster(kube, name, "PullSecretsReady", { ...refused, message });
  assert.deepEqual(
    told.status?.failures?.map(({ message: _, ...rest }) => rest),
    [{ namespace: app, source, reason: "TargetRefused" }],
  );
  await deleteSecret(user.kube, copyAt(other, source));
  await untilPullSecret(user.kube, copyAt(other, source), "two");

  await silent.stop();
  await untilPullSecret(user.kube, copyAt(app, source), "two");
  await untilCluster(kube, name, "Ready", { status: "True" });
});

test("of many refusals ten are named, and all are counted", async (t) => {
  const names = await Promise.all(Array.from({ length: 12 }, () => createUserNamespace(t, user)));
  const other = await createUserNamespace(t, user);
  const { stop } = await refuseSecrets(t, user.kube, names, ({ username }) =>
    username.includes("latchkey") ? "the vault is closed" : undefined,
  );
  const { kube, name, sources } = await beginServing(t, user, { sources: ["quay", "hub"] });
  const [quay = "", hub = ""] = sources;
  const status = await untilStatus({ kube, name }, "counts twelve", ({ namespaces, failures }) => {
    return namespaces?.failed === 12 && failures?.length === 10;
  });
  assert.equal(status.namespaces?.summary, "5/17");
  for (const failure of status.failures ?? []) {
    assert.ok(names.includes(failure.namespace));
    assert.equal(failure.reason, "TargetRefused");
    assert.match(failure.message, /the vault is closed/);
  }
  await untilCluster(kube, name, "PullSecretsReady", { ...refused, message: /and 2 more$/ });
  for (const source of [quay, hub]) await untilPullSecret(user.kube, copyAt(other, source));
  await stop();
  await Promise.all(names.map(touch));
  for (const each of names) await untilPullSecret(user.kube, copyAt(each, hub));
  await untilCluster(kube, name, "Ready", { status: "True", message: /17\/17/ });
});

const validating = (plural: string, kind: string): Resource => ({
  ...{ group: "admissionregistration.k8s.io", version: "v1", plural, kind, namespaced: false },
});
const policies = validating("validatingadmissionpolicies", "ValidatingAdmissionPolicy");
const bindings = validating("validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding");

async function refuseByPolicy(t: TestContext, namespace: string, words: string): Promise<() => Promise<void>> {
  const name = uniqueName("no-secrets");
  const stop = async () => {
    for (const kind of [bindings, policies]) await removeQuietly(() => user.kube.delete(kind, { name }));
  };
  t.after(stop);
  const resourceRules = [
    { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE", "UPDATE"], resources: ["secrets"] },
  ];
  const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": namespace } };
  const spec = {
    matchConstraints: { resourceRules },
    validations: [{ expression: "false", messageExpression: words }],
  };
  await user.kube.create(policies, { metadata: { name }, spec } as never);
  const binding = { policyName: name, validationActions: ["Deny"], matchResources: { namespaceSelector } };
  await user.kube.create(bindings, { metadata: { name }, spec: binding } as never);
  await untilRefused(user.kube, namespace);
  return stop;
}

test("a policy of the cluster's owner that refuses an update leaves the old copy, and says so", async (t) => {
  const app = await createUserNamespace(t, user);
  const { kube, name, sources } = await served(t, user);
  const [source = ""] = sources;
  const before = await untilPullSecret(user.kube, copyAt(app, source));
  const stop = await refuseByPolicy(t, app, "'only by ticket'");
  await setValues(kube, source, dockerConfig("robot", "second"));
  await untilPullSecret(user.kube, copyAt("default", source), "second");
  const { status } = await untilCluster(kube, name, "PullSecretsReady", { ...refused, message: /only by ticket/ });
  assert.equal(status?.namespaces?.failed, 1);
  assert.equal(status?.imagePullSecrets?.[0]?.copies, 5, "there it is, but old");
  assert.deepEqual(await theSecret(user.kube, copyAt(app, source)), before);
  await stop();
  await touch(app);
  const after = await untilPullSecret(user.kube, copyAt(app, source), "second");
  assert.equal(after.metadata.uid, before.metadata.uid);
  await untilCluster(kube, name, "Ready", { status: "True" });
});

/** Everything that is told about a Cluster, and what the operator has written into its log. */
async function toldOf({ kube, name, cluster }: ServedCluster): Promise<string> {
  const object = await kube.get(clusters, { name });
  const selection = { namespace: "default", fieldSelector: `involvedObject.uid=${cluster.metadata.uid}` };
  const spoken = await kube.list(events, selection);
  return JSON.stringify([object, spoken]) + (await readFile(testEnvironment("LATCHKEY_TEST_OPERATOR_LOG"), "utf8"));
}

test("whoever refuses a copy may quote the credential: nobody reads it in what we tell", async (t) => {
  const [byWebhook, byPolicy] = [await createUserNamespace(t, user), await createUserNamespace(t, user)];
  const token = uniqueName("t0ken");
  const quote = (text: string) => {
    const config = Buffer.from(text, "base64").toString();
    const { auths } = JSON.parse(config) as { auths: Record<string, { auth: string }> };
    const auth = Object.values(auths)[0]?.auth ?? "";
    return [text, config, auth, Buffer.from(auth, "base64").toString(), token].join(" and ");
  };
  await refuseSecrets(t, user.kube, [byWebhook], ({ object, username }) => {
    const value = object.data?.[".dockerconfigjson"];
    return username.includes("latchkey") && value ? `I do not like ${quote(value)}` : undefined;
  });
  const words = "'do not like ' + (has(object.data) ? string(object.data['.dockerconfigjson']) : '')";
  await refuseByPolicy(t, byPolicy, words);
  const serving = await beginServing(t, user, { sources: [] });
  const { kube, vault, name } = serving;
  const source = `${vault}/quay`;
  await createPullSecret(kube, source, token);
  await refer(serving, [source]);
  const { status } = await untilCluster(kube, name, "PullSecretsReady", {
    ...refused,
    message: /I do not like \[redacted\]/,
  });
  await untilStatus({ kube, name }, "names both", ({ failures }) => failures?.length === 2);
  assert.ok(status?.failures);
  await untilPullSecret(user.kube, copyAt("default", source), token);
  const told = await toldOf(serving);
  const config = dockerConfig("robot", token)[".dockerconfigjson"] ?? "";
  const forms = [token, `robot:${token}`, config];
  for (const form of [...forms, ...forms.map((each) => Buffer.from(each).toString("base64"))]) {
    assert.ok(!told.includes(form), "the credential is told");
  }
});

test("a deletion that is refused stops no other, and is done once it may be", async (t) => {
  const app = await createUserNamespace(t, user);
  const { kube, name, sources } = await served(t, user);
  const [source = ""] = sources;
  await untilPullSecret(user.kube, copyAt(app, source));
  const { stop } = await refuseSecrets(t, user.kube, [app], ({ operation, username }) =>
    operation === "DELETE" && username.includes("latchkey") ? "not on a Friday" : undefined,
  );
  await deleteSecret(kube, source);
  for (const namespace of ["kube-system", "default"])
    await untilGone(user.kube, secrets, at(copyAt(namespace, source)));
  await untilStatus(
    { kube, name },
    "counts the one that is left",
    ({ imagePullSecrets }) => imagePullSecrets?.[0]?.copies === 1,
  );
  assert.ok(await getSecret(user.kube, copyAt(app, source)));
  await stop();
  await untilGone(user.kube, secrets, at(copyAt(app, source)));
  await untilStatus({ kube, name }, "counts none", ({ imagePullSecrets }) => imagePullSecrets?.[0]?.copies === 0);
});
