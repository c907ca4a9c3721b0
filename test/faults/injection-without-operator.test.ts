import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { ApiProxy, type Seen } from "../../src/testing/api-proxy.ts";
import { testNamespaces } from "../../src/testing/cluster.ts";
import {
  addedAnnotation,
  bindingObject,
  changeCluster,
  createSources,
  injectionObjects,
  policyObject,
  recordObject,
  references,
  through,
  untilGiven,
  untilListed,
  untilRecord,
} from "../../src/testing/injection.ts";
import { at } from "../../src/testing/objects.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import { PodStream } from "../../src/testing/pod-stream.ts";
import { literalName, pullSecretsOf, serviceAccounts, untilPullSecret } from "../../src/testing/sidecars.ts";
import {
  clusters,
  createUserNamespace,
  serveCluster,
  type UserCluster,
  untilCluster,
  userCluster,
} from "../../src/testing/user-clusters.ts";
import { untilGone } from "../../src/testing/wait.ts";
import type { Operator } from "../../tools/local/operator.ts";

const own = ownPlane();
const user = userCluster();
const old = userCluster({ emulatedVersion: "1.33" });

let operator: Operator | undefined;

async function live(): Promise<Operator> {
  operator ??= await own.operator();
  return operator;
}

async function die(): Promise<void> {
  await operator?.kill();
  operator = undefined;
}

interface Serving {
  readonly names?: readonly string[];
  /** The operator's way there. */
  readonly via?: string;
}

async function served(t: TestContext, there: UserCluster, { names = ["quay", "hub"], via }: Serving = {}) {
  await live();
  const { kube, namespaces } = await testNamespaces(t, 1);
  const sources = await createSources(kube, namespaces[0], ...names);
  const { cluster } = await serveCluster(t, { user: { kubeconfig: via ?? there.kubeconfig }, references: sources });
  const { name } = cluster.metadata;
  return { kube, sources, cluster, name, given: sources.map(literalName) };
}

/** A namespace that comes now has everything: then the operator has looked at whatever was there before. */
async function lookedAround(t: TestContext, there: UserCluster, given: readonly string[]): Promise<string> {
  const marker = await createUserNamespace(t, there);
  for (const name of given) await untilPullSecret(there.kube, `${marker}/${name}`);
  await untilGiven(there.kube, marker, given);
  return marker;
}

test("every Pod has its names while the operator is killed, is away, and comes back", async (t) => {
  const { kube, name, given, sources, cluster } = await served(t, user);
  await untilCluster(kube, name, "Ready", { status: "True" });
  const app = await createUserNamespace(t, user);
  await untilGiven(user.kube, app, given);
  const stream = await PodStream.start(user.kube, app, {});
  t.after(() => stream.stop());

  await stream.more(5);
  for (let round = 1; round <= 2; round++) {
    await die();
    await stream.more(20);
    const unseen = await createUserNamespace(t, user);
    await untilGiven(user.kube, unseen, given);
    await live();
    await untilPullSecret(user.kube, `${unseen}/${given[0]}`);
    await stream.more(5);
  }
  await stream.stop();
  assert.deepEqual(stream.refusals, []);
  assert.deepEqual(new Set(stream.created.map((pod) => pullSecretsOf(pod).join())), new Set([given.join()]));

  await die();
  await changeCluster(kube, cluster, references(...sources.slice(0, 1)));
  await live();
  await untilGiven(user.kube, app, given.slice(0, 1));
});

test("what was deleted or edited while the operator was away is restored when it is back", async (t) => {
  const { kube, name, given } = await served(t, user);
  await untilCluster(kube, name, "Ready", { status: "True" });
  const app = await createUserNamespace(t, user);
  await untilGiven(user.kube, app, given);
  const harms = [
    () => user.kube.delete(policyObject.resource, policyObject.ref),
    () => user.kube.delete(bindingObject.resource, bindingObject.ref),
    () => {
      const body = { data: { names: "theirs", "names.default": "theirs" } };
      return user.kube.patch(recordObject.resource, recordObject.ref, { type: "merge", body });
    },
  ];
  await die();
  for (const harm of harms) await harm();
  await untilGiven(user.kube, app, []);
  await live();
  await untilGiven(user.kube, app, given);
  await untilRecord(user.kube, "is restored", (data) => isDeepStrictEqual(data, { names: given.join("\n") }));
});

for (const [mode, there] of [
  ["Policy", user],
  ["ServiceAccount", old],
] as const) {
  test(`mode ${mode}: an operator that is started anew writes nothing`, async (t) => {
    const { kube, name, given } = await served(t, there);
    await untilCluster(kube, name, "Ready", { status: "True", message: new RegExp(`mode ${mode}`) });
    const app = await lookedAround(t, there, given);
    await untilCluster(kube, name, "Ready", { status: "True" });
    await die();
    const from = await there.position();
    await live();
    const marker = await lookedAround(t, there, given);
    const writes = (await there.writes({ from })).filter(({ namespace }) => namespace !== marker);
    assert.deepEqual(writes, []);
    await untilGiven(there.kube, app, given);
  });
}

test("mode ServiceAccount: what is ours in accounts is still known after a restart", async (t) => {
  const { kube, name, cluster, given, sources } = await served(t, old);
  const app = await createUserNamespace(t, old);
  const key = `${app}/default`;
  await untilListed(old.kube, key, given);
  const body = { imagePullSecrets: [...given, "theirs"].map((each) => ({ name: each })) };
  await die();
  await old.kube.patch(serviceAccounts, at(key), { type: "merge", body });
  await old.kube.patch(serviceAccounts, at("default/default"), { type: "merge", body: { imagePullSecrets: [] } });
  await changeCluster(kube, cluster, references(...sources.slice(1)));

  await live();
  const listed = await untilListed(old.kube, key, ["theirs", ...given.slice(1)]);
  assert.equal(listed.metadata.annotations?.[addedAnnotation], given[1]);
  await untilListed(old.kube, "default/default", given.slice(1));

  await die();
  await kube.delete(clusters, { name });
  await live();
  await untilGone(kube, clusters, { name });
  const left = await untilListed(old.kube, key, ["theirs"]);
  assert.equal(left.metadata.annotations?.[addedAnnotation], undefined);
});

const written = (method: string, plural: string) => (request: Seen) =>
  request.method === method && request.isWrite && request.path.includes(`/${plural}`);

test("killed in the middle of writing or removing its objects, it goes on where it was", async (t) => {
  const proxy = await ApiProxy.start({ server: user.plane.server, ca: user.plane.admin.ca });
  /** Kills the operator once such a request is under way, which arrives or not. */
  const dieAt = async (of: (request: Seen) => boolean, isCarriedOut: boolean, act?: () => Promise<unknown>) => {
    const rule = proxy.fault((request) => (of(request) ? { kind: "hold" } : undefined));
    await act?.();
    await live();
    await rule.reached(1);
    await die();
    if (isCarriedOut) rule.lift();
    else rule.discard();
  };
  let serving: Awaited<ReturnType<typeof served>> | undefined;
  const begin = async () => {
    serving = await served(t, user, { via: through(proxy, user) });
    // After the Cluster, which is cleaned up through it.
    t.after(() => proxy[Symbol.asyncDispose]());
  };
  await dieAt(written("POST", "configmaps"), true, begin);
  await dieAt(written("POST", "mutatingadmissionpolicies"), false);
  await dieAt(written("POST", "mutatingadmissionpolicies"), true);
  await dieAt(written("POST", "mutatingadmissionpolicybindings"), true);
  await live();
  assert.ok(serving);
  const { kube, name, cluster, given, sources } = serving;
  await untilCluster(kube, name, "Ready", { status: "True" });
  await untilGiven(user.kube, "default", given);

  const toAccounts = () => changeCluster(kube, cluster, { injection: { mode: "ServiceAccount" } });
  await dieAt(written("PATCH", "serviceaccounts"), false, toAccounts);
  await untilGiven(user.kube, "default", given);
  await dieAt(written("DELETE", "mutatingadmissionpolicybindings"), false);
  await untilGiven(user.kube, "default", given);
  await dieAt(written("DELETE", "mutatingadmissionpolicies"), true);
  await live();
  for (const { resource, ref } of injectionObjects) await untilGone(user.kube, resource, ref);
  await untilListed(user.kube, "default/default", given);

  const toPolicy = () => changeCluster(kube, cluster, { injection: { mode: "Policy" } });
  await dieAt(written("PATCH", "serviceaccounts"), true, toPolicy);
  await live();
  await untilListed(user.kube, "default/default", []);
  await changeCluster(kube, cluster, references(...sources.toReversed()));
  await untilGiven(user.kube, "default", given.toReversed());
});
