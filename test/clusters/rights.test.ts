import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { type TestContext, test } from "node:test";
import { parseAllDocuments } from "yaml";
import { type Secret, secrets } from "../../src/api/objects.ts";
import { type Connected, connectCluster, writeKubeconfig } from "../../src/testing/connections.ts";
import { at, configMaps } from "../../src/testing/objects.ts";
import { deleteSecret, setValues } from "../../src/testing/secrets.ts";
import { changeSpec, copyAt, refer } from "../../src/testing/served-clusters.ts";
import { createPullSecret, dockerConfig, literalName, untilPullSecret } from "../../src/testing/sidecars.ts";
import {
  type ClusterSpec,
  createUserNamespace,
  dockerSecret,
  type UserCluster,
  untilCluster,
  userCluster,
} from "../../src/testing/user-clusters.ts";
import { conditionIn, untilGone } from "../../src/testing/wait.ts";
import { type Right, userClusterKubeconfig } from "../../tools/local/user-cluster.ts";

const user = userCluster();
/** Without policies. */
const old = userCluster({ emulatedVersion: "1.33" });
/** Without streaming lists: only here are lists asked for to fill caches. */
const listing = userCluster({ featureGates: { WatchList: false } });

const ready = { status: "True", reason: "Served" } as const;
const record = at("kube-system/latchkey-pull-secrets");
const policies = "mutatingadmissionpolicies";
const bindings = "mutatingadmissionpolicybindings";

interface Scene extends Connected {
  /** A namespace of the user cluster. */
  readonly app: string;
}

interface Case extends Right {
  readonly in: UserCluster;
  readonly spec?: ClusterSpec;
  /** What has to be there before. */
  readonly given?: (source: string, app: string) => Promise<unknown>;
  /** What has to be done before the right is missed, once all is served. */
  readonly once?: (scene: Scene) => Promise<unknown>;
  readonly tells: "PullSecretsReady" | "Injection";
  /** The namespace that is named; all that there are by default: `app` is that of the scene. */
  readonly where?: "app" | "kube-system" | "any" | "none";
  /** What goes on nevertheless. */
  readonly stillServed?: (scene: Scene) => Promise<unknown>;
  readonly healed?: (scene: Scene) => Promise<unknown>;
}

const copied = ({ app, source }: Scene) => untilPullSecret(user.kube, copyAt(app, source));
const copiedInOld = ({ app, source }: Scene) => untilPullSecret(old.kube, copyAt(app, source));
const injected = ({ kube, name }: Scene) => untilCluster(kube, name, "Injection", { status: "True", reason: "Active" });
const withAnother = async ({ kube, name, namespace, source }: Scene) => {
  await createPullSecret(kube, `${namespace}/another`);
  await refer({ kube, name }, [source, `${namespace}/another`]);
};
const anotherCopied = ({ app, namespace }: Scene) => untilPullSecret(user.kube, copyAt(app, `${namespace}/another`));
const withoutOne = (scene: Scene) => changeSpec(scene, { excludedNamespaces: ["elsewhere"] });
const switchedOff = (scene: Scene) => changeSpec(scene, { injection: { mode: "None" } });
const off = ({ kube, name }: Scene) => untilCluster(kube, name, "Injection", { status: "False", reason: "Disabled" });

/** The objects of mode Policy: what each verb on them is for. */
const objectCases = (
  resource: string,
  where: "none" | "kube-system",
  changed: Pick<Required<Case>, "once" | "stillServed">,
): readonly Case[] => [
  { in: user, verb: "create", resource, where, tells: "Injection", stillServed: copied },
  { in: user, verb: "watch", resource, where, tells: "Injection", stillServed: copied },
  { in: user, verb: "patch", resource, where, tells: "Injection", ...changed },
  { in: user, verb: "get", resource, where, once: switchedOff, tells: "Injection", stillServed: copied, healed: off },
  {
    in: user,
    verb: "delete",
    resource,
    where,
    once: switchedOff,
    tells: "Injection",
    stillServed: copied,
    healed: off,
  },
  { in: listing, verb: "list", resource, where, tells: "Injection" },
];

const cases: readonly Case[] = [
  { in: user, verb: "get", resource: "namespaces", where: "kube-system", tells: "PullSecretsReady" },
  { in: user, verb: "watch", resource: "namespaces", where: "none", tells: "PullSecretsReady" },
  { in: listing, verb: "list", resource: "namespaces", where: "none", tells: "PullSecretsReady" },
  {
    ...{ in: user, verb: "get", resource: "secrets", where: "app", tells: "PullSecretsReady" },
    given: (source, app) => user.kube.create<Secret>(secrets, dockerSecret(`${app}/${literalName(source)}`)),
    stillServed: async (scene) => {
      await untilPullSecret(user.kube, copyAt("default", scene.source));
      await injected(scene);
    },
  },
  { in: user, verb: "watch", resource: "secrets", where: "none", tells: "PullSecretsReady" },
  { in: listing, verb: "list", resource: "secrets", where: "none", tells: "PullSecretsReady" },
  {
    ...{ in: user, verb: "list", resource: "secrets", where: "none", tells: "PullSecretsReady" },
    stillServed: async (scene) => {
      await copied(scene);
      await injected(scene);
    },
  },
  { in: user, verb: "create", resource: "secrets", where: "app", tells: "PullSecretsReady", stillServed: injected },
  {
    ...{ in: user, verb: "patch", resource: "secrets", where: "app", tells: "PullSecretsReady" },
    once: ({ kube, source }) => setValues(kube, source, dockerConfig("robot", "two")),
    stillServed: injected,
    healed: ({ app, source }) => untilPullSecret(user.kube, copyAt(app, source), "two"),
  },
  {
    ...{ in: user, verb: "delete", resource: "secrets", where: "app", tells: "PullSecretsReady" },
    once: (scene) => refer(scene, []),
    stillServed: injected,
    healed: ({ app, source }) => untilGone(user.kube, secrets, at(copyAt(app, source))),
  },
  { in: old, verb: "get", resource: "serviceaccounts", where: "any", tells: "Injection", stillServed: copiedInOld },
  { in: old, verb: "patch", resource: "serviceaccounts", where: "any", tells: "Injection", stillServed: copiedInOld },
  { in: old, verb: "watch", resource: "serviceaccounts", where: "none", tells: "Injection", stillServed: copiedInOld },
  { in: user, verb: "watch", resource: "serviceaccounts", where: "none", tells: "Injection", stillServed: copied },
  {
    ...{ in: user, verb: "list", resource: "serviceaccounts", where: "none", tells: "Injection" },
    once: switchedOff,
    stillServed: copied,
    healed: off,
  },
  ...objectCases(policies, "none", { once: withAnother, stillServed: anotherCopied }),
  ...objectCases(bindings, "none", { once: withoutOne, stillServed: copied }),
  ...objectCases("configmaps", "kube-system", { once: withAnother, stillServed: anotherCopied }),
];

async function begin(t: TestContext, each: Case): Promise<Scene> {
  const { verb, resource } = each;
  const kubeconfig = await userClusterKubeconfig(each.in.plane, { without: [{ verb, resource }] });
  const app = await createUserNamespace(t, each.in);
  const connected = await connectCluster(t, "not yet", each.spec && { spec: each.spec });
  await each.given?.(connected.source, app);
  await writeKubeconfig(connected.kube, connected.kubeconfig, kubeconfig);
  if (!each.once) return { ...connected, app };
  await untilCluster(connected.kube, connected.name, "Ready", ready);
  await each.once({ ...connected, app });
  return { ...connected, app };
}

function lackOf({ verb, resource, where = "any" }: Case, app: string): RegExp {
  const places = {
    app: ` in namespace ${app}`,
    "kube-system": " in namespace kube-system",
    any: " in namespace \\S+",
    none: "",
  };
  return new RegExp(
    `cannot ${verb} ${resource}${places[where]}: the kubeconfig's user lacks the verb ${verb} on ${resource}`,
  );
}

for (const each of cases) {
  const { verb, resource, tells, in: cluster } = each;
  const kind = cluster === user ? "" : cluster === old ? ", without policies" : ", without streaming lists";
  test(`a kubeconfig that may not ${verb} ${resource}${kind}: said by name, and healed by a new one`, async (t) => {
    const scene = await begin(t, each);
    const { kube, name, kubeconfig, app } = scene;
    const message = lackOf(each, app);
    const told = await untilCluster(kube, name, tells, { status: "False", reason: "Forbidden", message });
    assert.equal(conditionIn(told, "Reachable")?.status, "True");
    const overall = await untilCluster(kube, name, "Ready", { status: "False", message });
    assert.equal(conditionIn(overall, "Ready")?.reason, "Forbidden");
    await each.stillServed?.(scene);

    await writeKubeconfig(kube, kubeconfig, await userClusterKubeconfig(cluster.plane));
    await untilCluster(kube, name, "Ready", ready);
    await each.healed?.(scene);
  });
}

test("every right of the published role is missed by one of these tests", async () => {
  const text = await readFile(new URL("../../deploy/user-cluster-role.yaml", import.meta.url), "utf8");
  interface Rule {
    readonly resources: readonly string[];
    readonly verbs: readonly string[];
  }
  const rules = parseAllDocuments(text).flatMap((each) => (each.toJS() as { rules?: readonly Rule[] }).rules ?? []);
  const given = rules.flatMap(({ resources, verbs }) =>
    resources.flatMap((each) => verbs.map((verb) => `${verb} ${each}`)),
  );
  const missed = new Set(cases.map(({ verb, resource }) => `${verb} ${resource}`));
  assert.deepEqual(
    given.filter((right) => !missed.has(right)),
    [],
  );
});

test("a right that is given later is noticed by itself", async (t) => {
  const lacking = await userClusterKubeconfig(user.plane, { without: [{ verb: "create", resource: "secrets" }] });
  const { kube, name, source } = await connectCluster(t, lacking);
  const told = await untilCluster(kube, name, "PullSecretsReady", { status: "False", reason: "Forbidden" });
  assert.ok((told.status?.failures ?? []).every(({ reason, source: of }) => reason === "Forbidden" && of === source));
  assert.equal(told.status?.imagePullSecrets?.[0]?.state, "Forbidden");
  await userClusterKubeconfig(user.plane);
  await untilCluster(kube, name, "Ready", ready);
});

test("a revocation that cannot be carried out is told, and made up for", async (t) => {
  const lacking = await userClusterKubeconfig(user.plane, { without: [{ verb: "delete", resource: "secrets" }] });
  const { kube, name, source, kubeconfig } = await connectCluster(t, lacking);
  await untilCluster(kube, name, "Ready", ready);
  await deleteSecret(kube, source);
  const message = /does not exist; .*cannot delete secrets in namespace default/;
  const told = await untilCluster(kube, name, "PullSecretsReady", {
    status: "False",
    reason: "SourceMissing",
    message,
  });
  assert.ok(told.status?.failures?.some(({ namespace, reason }) => namespace === "default" && reason === "Forbidden"));
  await untilPullSecret(user.kube, copyAt("default", source));

  await writeKubeconfig(kube, kubeconfig, await userClusterKubeconfig(user.plane));
  await untilGone(user.kube, secrets, at(copyAt("default", source)));
  await untilCluster(kube, name, "Ready", { status: "False", message: `Secret ${source} does not exist` });
  assert.ok(await user.kube.get(configMaps, record), "its name is given to Pods: it may come back");
});
