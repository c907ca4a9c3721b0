import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { namespaces as namespaceKind, secrets } from "../../src/api/objects.ts";
import type { Kube } from "../../src/kube/client.ts";
import { testNamespaces } from "../../src/testing/cluster.ts";
import { EventsOf } from "../../src/testing/events.ts";
import {
  addedAnnotation,
  changeCluster,
  createAccount,
  createSources,
  injectionObjects,
  listOf,
  references,
  type ServiceAccount,
  untilGiven,
  untilListed,
} from "../../src/testing/injection.ts";
import { sampleIn, scrape } from "../../src/testing/metrics.ts";
import { at } from "../../src/testing/objects.ts";
import { PodStream } from "../../src/testing/pod-stream.ts";
import { patchSecret } from "../../src/testing/secrets.ts";
import {
  dockerConfig,
  literalName,
  pullSecretsOf,
  serviceAccounts,
  untilPullSecret,
} from "../../src/testing/sidecars.ts";
import {
  type Cluster,
  type ClusterSpec,
  clusters,
  createUserNamespace,
  serveCluster,
  type UserCluster,
  untilCluster,
  userCluster,
} from "../../src/testing/user-clusters.ts";
import { untilGone } from "../../src/testing/wait.ts";

const user = userCluster();
const old = userCluster({ emulatedVersion: "1.33" });

type Mode = NonNullable<ClusterSpec["injection"]>["mode"];
const inMode = (mode: Mode): ClusterSpec => ({ injection: { mode } as { mode: NonNullable<Mode> } });

async function served(t: TestContext, there: UserCluster, { mode = "Auto" as Mode, names = ["quay", "hub"] } = {}) {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const sources = await createSources(kube, namespaces[0], ...names);
  const { cluster } = await serveCluster(t, { user: there, references: sources, spec: inMode(mode) });
  const { name } = cluster.metadata;
  const status = await untilCluster(kube, name, "Injection", { reason: /^(?!Progressing)/ });
  return { kube, sources, cluster, name, status, given: sources.map(literalName) };
}

/** Changes the mode and waits until it is told that the change is done. */
async function changeMode(kube: Kube, cluster: Cluster, mode: Mode): Promise<Cluster> {
  const { metadata } = await changeCluster(kube, cluster, inMode(mode));
  const { name, generation } = metadata;
  return untilCluster(kube, name, "Injection", { reason: /^(Active|Disabled)$/, ...(generation && { generation }) });
}

/** Those of namespaces that are to stay. */
async function accountsOf({ kube }: UserCluster): Promise<readonly ServiceAccount[]> {
  const all = await kube.list(namespaceKind);
  const going = all.filter(({ metadata }) => metadata.deletionTimestamp).map(({ metadata }) => metadata.name);
  const accounts = await kube.list<ServiceAccount>(serviceAccounts);
  return accounts.filter(({ metadata }) => !going.includes(metadata.namespace ?? ""));
}

const objectsIn = async ({ kube }: UserCluster) =>
  (await Promise.all(injectionObjects.map(({ resource, ref }) => kube.get(resource, ref)))).filter(Boolean).length;

async function untilNoObjects({ kube }: UserCluster): Promise<void> {
  for (const { resource, ref } of injectionObjects) await untilGone(kube, resource, ref);
}

const modeIn = async (name: string) => {
  const metrics = await scrape();
  return ["Policy", "ServiceAccount", "None"].filter((mode) =>
    sampleIn(metrics, "latchkey_injection_mode", { cluster: name, mode }),
  );
};

test("Auto is Policy where the API server has it, else ServiceAccount", async (t) => {
  const [newer, older] = await Promise.all([served(t, user), served(t, old)]);
  for (const [mode, { kube, name }] of [
    ["Policy", newer],
    ["ServiceAccount", older],
  ] as const) {
    const { status } = await untilCluster(kube, name, "Ready", {
      status: "True",
      message: new RegExp(`mode ${mode}$`),
    });
    assert.equal(status?.injection?.mode, mode);
    await untilCluster(kube, name, "Injection", { status: "True", reason: "Active", message: `mode ${mode}` });
    assert.deepEqual(await modeIn(name), [mode]);
  }
  assert.equal(await objectsIn(user), 3);
  assert.deepEqual((await accountsOf(user)).flatMap(listOf), [], "accounts are none of this mode's business");
  await untilListed(old.kube, "default/default", older.given);

  await newer.kube.delete(clusters, { name: newer.name });
  await untilGone(newer.kube, clusters, { name: newer.name });
  for (const signal = AbortSignal.timeout(60_000); (await modeIn(newer.name)).length > 0; ) {
    await sleep(50, undefined, { signal });
  }
});

test("mode Policy where there is none is not available: nothing else is tried, and what is there stays", async (t) => {
  const from = await old.position();
  const { kube, name, cluster, given, sources } = await served(t, old, { mode: "Policy" });
  const unavailable = { status: "False", reason: "ModeNotAvailable", message: /mutatingadmissionpolicies/ } as const;
  await untilCluster(kube, name, "Injection", unavailable);
  await untilCluster(kube, name, "Ready", unavailable);
  await untilCluster(kube, name, "PullSecretsReady", { status: "True" });
  for (const name of given) await untilPullSecret(old.kube, `default/${name}`);
  const others = (await old.writes({ from })).filter(({ resource }) => resource !== secrets.plural);
  assert.deepEqual(others, []);

  await changeMode(kube, cluster, "ServiceAccount");
  await untilListed(old.kube, "default/default", given);
  await changeCluster(kube, cluster, inMode("Policy"));
  await untilCluster(kube, name, "Injection", unavailable);
  await untilListed(old.kube, "default/default", given);

  await changeCluster(kube, cluster, { ...inMode("Auto"), ...references(sources[0] ?? "") });
  await untilListed(old.kube, "default/default", given.slice(0, 1));
  await untilCluster(kube, name, "Ready", { status: "True" });
});

test("from mode to mode no Pod is without its names, and nothing of the former one stays", async (t) => {
  const app = await createUserNamespace(t, user);
  await createAccount(user.kube, `${app}/theirs`, { names: ["of-others"], annotations: { a: "b" } });
  const { kube, cluster, name, given, sources } = await served(t, user);
  await untilGiven(user.kube, app, given);
  const told = new EventsOf(t, kube, cluster);
  const streams = [
    await PodStream.start(user.kube, app, {}),
    await PodStream.start(user.kube, app, { spec: { serviceAccountName: "theirs" } }),
  ];
  t.after(() => Promise.all(streams.map((stream) => stream.stop())));

  await changeMode(kube, cluster, "ServiceAccount");
  await untilListed(user.kube, `${app}/theirs`, ["of-others", ...given]);
  await untilNoObjects(user);
  await Promise.all(streams.map((stream) => stream.more(15)));
  assert.deepEqual(await modeIn(name), ["ServiceAccount"]);

  await changeMode(kube, cluster, "Policy");
  assert.equal(await objectsIn(user), 3);
  const account = await untilListed(user.kube, `${app}/theirs`, ["of-others"]);
  assert.deepEqual(account.metadata.annotations, { a: "b" });
  await untilListed(user.kube, `${app}/default`, []);
  await Promise.all(streams.map((stream) => stream.more(15)));
  assert.deepEqual(
    (await accountsOf(user)).filter(({ metadata }) => metadata.annotations?.[addedAnnotation] !== undefined),
    [],
  );

  const all = streams.flatMap(({ created }) => created);
  const lacking = all.filter((pod) => given.some((each) => !pullSecretsOf(pod).includes(each)));
  assert.deepEqual(
    lacking.map(({ metadata }) => `${metadata.name} ${metadata.creationTimestamp}`),
    [],
  );
  assert.deepEqual(
    streams.flatMap(({ refusals }) => refusals),
    [],
  );
  await Promise.all(streams.map((stream) => stream.stop()));

  await changeCluster(kube, cluster, references(...sources.toReversed()));
  await untilGiven(user.kube, app, given.toReversed());

  await changeMode(kube, cluster, "None");
  await untilGiven(user.kube, app, []);
  await changeMode(kube, cluster, "Auto");
  await untilGiven(user.kube, app, given.toReversed());
  await changeCluster(kube, cluster, references(...sources));
  await untilGiven(user.kube, app, given);
  const changes = (await told.until(4)).filter((each) => each.includes("InjectionModeChanged"));
  assert.deepEqual(changes, Array(4).fill("Normal InjectionModeChanged"));
  assert.match(told.messages.join("\n"), /mode is ServiceAccount now, no longer Policy/);
});

for (const [title, there] of [
  ["Policy", user],
  ["ServiceAccount", old],
] as const) {
  test(`None after ${title}: Pods are clean at once, copies stay and are kept equal, and that is no problem`, async (t) => {
    const app = await createUserNamespace(t, there);
    const { kube, cluster, name, given, sources } = await served(t, there, { names: ["quay"] });
    await untilGiven(there.kube, app, given);
    const copy = await untilPullSecret(there.kube, `${app}/${given[0]}`);

    await changeMode(kube, cluster, "None");
    await untilCluster(kube, name, "Injection", { status: "False", reason: "Disabled" });
    const { status } = await untilCluster(kube, name, "Ready", { status: "True", message: /mode None$/ });
    assert.equal(status?.injection?.mode, "None");
    assert.deepEqual(await modeIn(name), ["None"]);
    if (title === "Policy") await untilNoObjects(there);
    assert.deepEqual((await accountsOf(there)).flatMap(listOf), []);
    await untilGiven(there.kube, app, []);

    await patchSecret(kube, sources[0] ?? "", { stringData: dockerConfig("robot", "rotated") });
    const rotated = await untilPullSecret(there.kube, `${app}/${given[0]}`, "rotated");
    assert.equal(rotated.metadata.uid, copy.metadata.uid);
    const later = await createUserNamespace(t, there);
    await untilPullSecret(there.kube, `${later}/${given[0]}`, "rotated");
    await untilGiven(there.kube, later, []);

    await changeMode(kube, cluster, "Auto");
    await untilGiven(there.kube, later, given);
    assert.equal((await there.kube.get(secrets, at(`${app}/${given[0]}`)))?.metadata.uid, copy.metadata.uid);
  });
}

test("a change of mode is told when it is done, not before", async (t) => {
  const { kube, cluster, given } = await served(t, user);
  for (const mode of ["ServiceAccount", "Policy", "None", "Policy", "ServiceAccount", "None"] as const) {
    const { status } = await changeMode(kube, cluster, mode);
    assert.equal(status?.injection?.mode, mode);
    const [objects, accounts] = [await objectsIn(user), await accountsOf(user)];
    const served = accounts.filter((account) => given.every((each) => listOf(account).includes(each)));
    if (mode === "Policy") assert.equal(objects, 3);
    if (mode === "ServiceAccount") assert.equal(served.length, accounts.length);
    if (mode === "None") assert.deepEqual([objects, served.length], [0, 0]);
    // So that the next change does not find the last one's marks still to be removed.
    await sleep(mode === "Policy" ? 2_500 : 0);
  }
});

test("modes that change faster than they can be carried out end in the last one", async (t) => {
  const app = await createUserNamespace(t, user);
  const { kube, cluster, given } = await served(t, user);
  const rounds = [
    ["ServiceAccount", "None", "Policy", "ServiceAccount"],
    ["Policy", "ServiceAccount", "None"],
    ["ServiceAccount", "Auto"],
    ["None", "ServiceAccount", "Policy", "None", "ServiceAccount", "Policy"],
  ] as const;
  for (const modes of rounds) {
    for (const mode of modes) await changeCluster(kube, cluster, inMode(mode));
    const last = modes.at(-1);
    await changeMode(kube, cluster, last);
    const hasPolicy = last === "Policy" || last === "Auto";
    await untilListed(user.kube, `${app}/default`, last === "ServiceAccount" ? given : []);
    await untilListed(user.kube, "kube-system/default", last === "ServiceAccount" ? given : []);
    if (!hasPolicy) await untilNoObjects(user);
    await untilGiven(user.kube, app, last === "None" ? [] : given);
    assert.equal(await objectsIn(user), hasPolicy ? 3 : 0);
  }
});
