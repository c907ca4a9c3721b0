import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { namespaces as namespaceKind } from "../../src/api/objects.ts";
import type { Kube } from "../../src/kube/client.ts";
import { adminKube, removeQuietly, testNamespaces, uniqueName } from "../../src/testing/cluster.ts";
import { sampleIn, scrape } from "../../src/testing/metrics.ts";
import { at } from "../../src/testing/objects.ts";
import { getSecret } from "../../src/testing/secrets.ts";
import {
  type Container,
  changeSidecarSet,
  createInjectedPod,
  createPod,
  createPullSecret,
  createSidecarSet,
  type Deployment,
  deployment,
  deployments,
  injectedLabel,
  injectedListAnnotation,
  labelsFor,
  literalName,
  type Pod,
  pod,
  pods,
  pullSecretsAnnotation,
  pullSecretsOf,
  type SidecarSet,
  sidecarSets,
  untilPullSecret,
  untilSetCondition,
} from "../../src/testing/sidecars.ts";
import { until } from "../../src/testing/wait.ts";

const hashAnnotation = "kruise.io/sidecarset-hash";
const hashWithoutImageAnnotation = "kruise.io/sidecarset-hash-without-image";

const namesOf = (containers: readonly Container[] | undefined) => (containers ?? []).map(({ name }) => name);

const container = (name: string, rest: object = {}) => ({ name, image: "registry.example.com/sidecar:1", ...rest });

function assertUntouched(created: Pod): void {
  assert.deepEqual(namesOf(created.spec.containers), ["app"]);
  assert.equal(created.metadata.labels?.[injectedLabel], undefined);
  assert.equal(created.metadata.annotations?.[injectedListAnnotation], undefined);
}

test("a Pod gets the sidecar and its pull secret, which is there when the Pod is", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createPullSecret(kube, `${vault}/pull`);
  const set = await createSidecarSet(t, kube, { pullSecrets: [`${vault}/pull`] });
  const { name } = set.metadata;
  const created = await createInjectedPod(t, kube, `${team}/web`, { labels: labelsFor(set) });
  assert.ok(await getSecret(kube, `${team}/${vault}-pull`), "the copy is there");
  await untilPullSecret(kube, `${team}/${vault}-pull`);
  assert.deepEqual(namesOf(created.spec.containers), [name, "app"]);
  assert.deepEqual(pullSecretsOf(created), [`${vault}-pull`]);
  assert.deepEqual(
    created.spec.containers[0]?.env?.map((variable) => `${variable.name}=${variable.value}`),
    ["IS_INJECTED=true"],
  );
  assert.equal(created.metadata.labels?.[injectedLabel], "true");
  const { annotations = {} } = created.metadata;
  assert.equal(annotations[pullSecretsAnnotation], `${vault}/pull=${vault}-pull`);
  assert.equal(annotations[injectedListAnnotation], name);
  for (const key of [hashAnnotation, hashWithoutImageAnnotation]) {
    const { [name]: entry, ...rest } = JSON.parse(annotations[key] ?? "{}");
    assert.deepEqual(rest, {});
    assert.deepEqual(Object.keys(entry).sort(), [
      "controllerRevision",
      "hash",
      "sidecarList",
      "sidecarSetName",
      "updateTimestamp",
    ]);
    assert.deepEqual([entry.sidecarSetName, entry.sidecarList, entry.controllerRevision], [name, [name], ""]);
    assert.match(entry.updateTimestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  }
});

test("Pods of a Deployment, whose names are generated", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createPullSecret(kube, `${vault}/pull`);
  const set = await createSidecarSet(t, kube, { pullSecrets: [`${vault}/pull`] });
  await createInjectedPod(t, kube, `${team}/probe`, { labels: labelsFor(set) });
  await kube.create<Deployment>(deployments, deployment(`${team}/web`, { replicas: 3, labels: labelsFor(set) }));
  await until<Deployment>(kube, deployments, at(`${team}/web`), "has its Pods", (found) => {
    return (found?.status as { replicas?: number } | undefined)?.replicas === 3;
  });
  const created = await kube.list<Pod>(pods, { namespace: team, labelSelector: "deployment=web" });
  assert.equal(created.length, 3);
  for (const each of created) {
    assert.deepEqual(namesOf(each.spec.containers), [set.metadata.name, "app"]);
    assert.deepEqual(pullSecretsOf(each), [`${vault}-pull`]);
  }
});

test("the namespace is the request's: the Pod itself names none", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [team] = namespaces;
  const set = await createSidecarSet(t, kube, { spec: { namespace: team } });
  await createInjectedPod(t, kube, `${team}/probe`, { labels: labelsFor(set) });
  const { metadata, ...rest } = pod(`${team}/web`, { labels: labelsFor(set) });
  const { namespace: _, ...nameless } = metadata;
  const body = { ...rest, metadata: nameless };
  const created = (await kube.request("POST", `/api/v1/namespaces/${team}/pods`, { body })) as Pod;
  assert.deepEqual(namesOf(created.spec.containers), [set.metadata.name, "app"]);
});

test("a namespace that is as new as its Pod", async (t) => {
  const kube = await adminKube();
  const { namespaces } = await testNamespaces(t, 1);
  const [vault] = namespaces;
  await createPullSecret(kube, `${vault}/pull`);
  const label = uniqueName("team");
  const set = await createSidecarSet(t, kube, {
    pullSecrets: [`${vault}/pull`],
    spec: { namespaceSelector: { matchLabels: { team: label } } },
  });
  for (let round = 0; round < 5; round++) {
    const name = uniqueName("test");
    t.after(() => removeQuietly(() => kube.delete(namespaceKind, { name })));
    await kube.create(namespaceKind, { metadata: { name, labels: { team: label } } });
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "mine" } };
    await kube.request("POST", `/api/v1/namespaces/${name}/serviceaccounts`, { body: account });
    const spec = { serviceAccountName: "mine" };
    const created = await kube.create<Pod>(pods, pod(`${name}/web`, { labels: labelsFor(set), spec }));
    assert.deepEqual(namesOf(created.spec.containers), [set.metadata.name, "app"], `round ${round}`);
    assert.equal(pullSecretsOf(created)[0], `${vault}-pull`);
    await untilPullSecret(kube, `${name}/${vault}-pull`);
  }
});

test("which Pods are left alone", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 3);
  const [team, out, other] = namespaces;
  const set = await createSidecarSet(t, kube);
  const labels = labelsFor(set);
  const patch = { type: "merge", body: { metadata: { labels: { "latchkey.dev/inject": "false" } } } } as const;
  await kube.patch(namespaceKind, { name: out }, patch);
  await createInjectedPod(t, kube, `${team}/probe`, { labels });

  await t.test("mirrors of static Pods", async () => {
    const annotations = { "kubernetes.io/config.mirror": "abc", "kubernetes.io/config.hash": "abc" };
    const draft = pod(`${team}/mirror`, { labels, annotations, spec: { nodeName: "nowhere" } });
    t.after(() => removeQuietly(() => kube.delete(pods, at(`${team}/mirror`))));
    assertUntouched(await kube.create<Pod>(pods, draft));
  });
  await t.test("those of a namespace that opted out", async () => {
    assertUntouched(await createPod(t, kube, `${out}/web`, { labels }));
  });
  await t.test("those of the operator's own namespace", async () => {
    const name = uniqueName("web");
    assertUntouched(await createPod(t, kube, `latchkey-system/${name}`, { labels }));
  });
  await t.test("those that are not selected", async () => {
    assertUntouched(await createPod(t, kube, `${other}/web`, { labels: { app: "another" } }));
  });
  await t.test("not those of kube-system", async () => {
    const name = uniqueName("web");
    const created = await createInjectedPod(t, kube, `kube-system/${name}`, { labels });
    assert.deepEqual(namesOf(created.spec.containers), [set.metadata.name, "app"]);
  });
});

test("a SidecarSet that is paused puts nothing into Pods, and leaves those alone that have it", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createPullSecret(kube, `${vault}/pull`);
  const set = await createSidecarSet(t, kube, { pullSecrets: [`${vault}/pull`] });
  const marker = await createSidecarSet(t, kube, { spec: { selector: { matchLabels: labelsFor(set) } } });
  const labels = labelsFor(set);
  const first = await createInjectedPod(t, kube, `${team}/first`, { labels });
  assert.equal(first.spec.containers.length, 3);

  const paused = await changeSidecarSet(kube, set, { spec: { injectionStrategy: { paused: true } } });
  await until<SidecarSet>(kube, sidecarSets, { name: set.metadata.name }, "is seen", (found) => {
    return found?.status?.observedGeneration === paused.metadata.generation;
  });
  const second = await createInjectedPod(t, kube, `${team}/second`, { labels });
  assert.deepEqual(namesOf(second.spec.containers), [marker.metadata.name, "app"]);
  assert.deepEqual(pullSecretsOf(second), []);
  assert.equal(second.metadata.annotations?.[injectedListAnnotation], marker.metadata.name);
  const now = await kube.get<Pod>(pods, at(`${team}/first`));
  assert.deepEqual(now?.spec, first.spec);
});

/** Two SidecarSets for the same Pods, in order of their names. */
async function twoSets(t: TestContext, kube: Kube, specs: readonly [object, object]) {
  const name = uniqueName("set");
  const selector = { matchLabels: { app: name } };
  // The second by name comes first, so that age is not what decides.
  const b = await createSidecarSet(t, kube, { name: `${name}-b`, spec: { selector, ...specs[1] } });
  const a = await createSidecarSet(t, kube, { name: `${name}-a`, spec: { selector, ...specs[0] } });
  return { a, b, labels: { app: name } };
}

test("containers stand where they are told to, in order of the SidecarSets' names", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [team] = namespaces;
  const { labels } = await twoSets(t, kube, [
    {
      containers: [container("a2"), container("a1"), container("a3", { podInjectPolicy: "AfterAppContainer" })],
      initContainers: [container("z-init")],
    },
    {
      containers: [container("b1", { podInjectPolicy: "AfterAppContainer" }), container("b2")],
      initContainers: [container("m-init")],
    },
  ]);
  const spec = { initContainers: [container("x-init")] };
  const created = await createInjectedPod(t, kube, `${team}/web`, { labels, spec });
  assert.deepEqual(namesOf(created.spec.containers), ["a2", "a1", "b2", "app", "a3", "b1"]);
  assert.deepEqual(namesOf(created.spec.initContainers), ["x-init", "m-init", "z-init"]);
});

test("a container that the Pod has under that name is replaced in its place", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [team] = namespaces;
  const set = await createSidecarSet(t, kube);
  const own = { name: set.metadata.name, image: "registry.example.com/own:1", command: ["own"] };
  const spec = { containers: [{ name: "app", image: "registry.example.com/app:1" }, own] };
  const created = await createInjectedPod(t, kube, `${team}/web`, { labels: labelsFor(set), spec });
  assert.deepEqual(namesOf(created.spec.containers), ["app", set.metadata.name]);
  assert.equal(created.spec.containers[1]?.image, "registry.example.com/sidecar:1");
  assert.equal(created.spec.containers[1]?.command, undefined);
});

test("volumes come with the containers that mount them; the Pod's own of that name stays", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [team] = namespaces;
  const mounts = ["logs", "shared"].map((name) => ({ name, mountPath: `/${name}` }));
  const name = uniqueName("set");
  const set = await createSidecarSet(t, kube, {
    name,
    spec: {
      containers: [container(name, { volumeMounts: mounts })],
      volumes: ["logs", "shared", "unused"].map((volume) => ({ name: volume, emptyDir: {} })),
    },
  });
  const own = { name: "shared", emptyDir: { medium: "Memory" } };
  const created = await createInjectedPod(t, kube, `${team}/web`, { labels: labelsFor(set), spec: { volumes: [own] } });
  const volumes = created.spec.volumes?.filter((volume) => !volume.name.startsWith("kube-api-access-")) ?? [];
  assert.deepEqual(volumes, [own, { name: "logs", emptyDir: {} }]);
});

test("pull secrets follow the Pod's own and its account's, without duplicates", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  const sources = ["one", "two"].map((name) => `${vault}/${name}`);
  for (const source of sources) await createPullSecret(kube, source);
  const [one = "", two = ""] = sources;
  const name = uniqueName("set");
  const selector = { matchLabels: { app: name } };
  await createSidecarSet(t, kube, { name: `${name}-b`, pullSecrets: [one, two], spec: { selector } });
  await createSidecarSet(t, kube, { name: `${name}-a`, pullSecrets: [two], spec: { selector } });
  const labels = { app: name };

  const own = { imagePullSecrets: [{ name: literalName(one) }, { name: "mine" }] };
  const withOwn = await createInjectedPod(t, kube, `${team}/own`, { labels, spec: own });
  assert.deepEqual(pullSecretsOf(withOwn), [literalName(one), "mine", literalName(two)]);

  const account = {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "robot" },
    imagePullSecrets: [{ name: "its" }],
  };
  await kube.request("POST", `/api/v1/namespaces/${team}/serviceaccounts`, { body: account });
  const spec = { serviceAccountName: "robot" };
  const withAccount = await createInjectedPod(t, kube, `${team}/account`, { labels, spec });
  assert.deepEqual(pullSecretsOf(withAccount), ["its", literalName(two), literalName(one)]);
});

test("the manifest of an injected Pod, created again, gives the same Pod", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 3);
  const [vault, team, other] = namespaces;
  await createPullSecret(kube, `${vault}/pull`);
  const name = uniqueName("set");
  const set = await createSidecarSet(t, kube, {
    name,
    pullSecrets: [`${vault}/pull`],
    spec: {
      containers: [container(name, { volumeMounts: [{ name: "logs", mountPath: "/logs" }] })],
      initContainers: [container(`${name}-init`)],
      volumes: [{ name: "logs", emptyDir: {} }],
    },
  });
  const first = await createInjectedPod(t, kube, `${team}/web`, { labels: labelsFor(set) });
  for (const namespace of [team, other]) {
    const { labels = {}, annotations = {} } = first.metadata;
    // The API server itself adds a volume with the account's token to a Pod: its name differs from Pod to Pod.
    const again = await createInjectedPod(t, kube, `${namespace}/again`, { labels, annotations, spec: first.spec });
    assert.deepEqual(again.spec, first.spec);
    assert.deepEqual(again.metadata.annotations, annotations);
    assert.deepEqual(again.metadata.labels, labels);
  }
  await untilPullSecret(kube, `${other}/${vault}-pull`);
});

test("the manifest of a Pod from an earlier generation is taken, and gets what the present one says", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [team] = namespaces;
  const name = uniqueName("set");
  const limited = (cpu: string, more: object = {}) => container(name, { resources: { limits: { cpu } }, ...more });
  const privileged = { securityContext: { capabilities: { add: ["NET_ADMIN"] } } };
  const set = await createSidecarSet(t, kube, { name, spec: { containers: [limited("2", privileged)] } });
  const { metadata, spec } = await createInjectedPod(t, kube, `${team}/web`, { labels: labelsFor(set) });
  assert.deepEqual(spec.containers[0]?.resources, { limits: { cpu: "2" }, requests: { cpu: "2" } });

  const changed = await changeSidecarSet(kube, set, { spec: { containers: [limited("1")] } });
  await untilSetCondition(kube, changed, "Accepted", { status: "True" });
  const { labels = {}, annotations = {} } = metadata;
  const again = await createInjectedPod(t, kube, `${team}/again`, { labels, annotations, spec });
  assert.deepEqual(again.spec.containers[0]?.resources, { limits: { cpu: "1" }, requests: { cpu: "1" } });
  assert.equal(again.spec.containers[0]?.securityContext, undefined);
});

test("marks that a user wrote are not believed", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createPullSecret(kube, `${vault}/pull`);
  const set = await createSidecarSet(t, kube);
  const annotations = {
    [injectedListAnnotation]: "forged",
    [hashAnnotation]: '{"forged":{"hash":"x"}}',
    [pullSecretsAnnotation]: `${vault}/pull=${vault}-pull`,
  };
  const created = await createInjectedPod(t, kube, `${team}/web`, { labels: labelsFor(set), annotations });
  assert.equal(created.metadata.annotations?.[injectedListAnnotation], set.metadata.name);
  assert.equal(created.metadata.annotations?.[pullSecretsAnnotation], undefined);
  assert.deepEqual(Object.keys(JSON.parse(created.metadata.annotations?.[hashAnnotation] ?? "")), [set.metadata.name]);
});

test("a sidecar gets what the API server gives every container: the account's token, the namespace's defaults", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [team] = namespaces;
  const cpu = { default: { cpu: "200m" }, defaultRequest: { cpu: "100m" }, max: { cpu: "500m" } };
  const range = {
    apiVersion: "v1",
    kind: "LimitRange",
    metadata: { name: "cpu" },
    spec: { limits: [{ type: "Container", ...cpu }] },
  };
  await kube.request("POST", `/api/v1/namespaces/${team}/limitranges`, { body: range });
  const set = await createSidecarSet(t, kube);
  const created = await createInjectedPod(t, kube, `${team}/web`, { labels: labelsFor(set) });
  const [sidecar, app] = created.spec.containers;
  assert.deepEqual([sidecar?.name, app?.name], [set.metadata.name, "app"]);
  assert.deepEqual(sidecar?.resources, { limits: { cpu: "200m" }, requests: { cpu: "100m" } });
  assert.deepEqual(sidecar?.volumeMounts, app?.volumeMounts);
});

test("a Pod is counted once, a dry run never", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [team] = namespaces;
  const set = await createSidecarSet(t, kube);
  const labels = labelsFor(set);
  const count = async (result: string) =>
    sampleIn(await scrape(), "latchkey_sidecars_injections_total", { sidecarset: set.metadata.name, result });
  for (const name of ["a", "b"]) await createInjectedPod(t, kube, `${team}/${name}`, { labels });
  await kube.create<Pod>(pods, pod(`${team}/dry`, { labels }), { dryRun: true });
  assert.equal(await count("injected"), 2);
  assert.equal(await count("both_names"), undefined);
});
