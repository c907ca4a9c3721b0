import assert from "node:assert/strict";
import { test } from "node:test";
import { events, type KubeObject } from "../../src/api/objects.ts";
import type { Kube } from "../../src/kube/client.ts";
import { watchEvents } from "../../src/kube/watch.ts";
import { testNamespaces, uniqueName } from "../../src/testing/cluster.ts";
import { at } from "../../src/testing/objects.ts";
import { getSecret } from "../../src/testing/secrets.ts";
import {
  createInjectedPod,
  createPod,
  createPullSecret,
  createSidecarSet,
  injectedListAnnotation,
  labelsFor,
  type Pod,
  pod,
  pods,
  pullSecretsAnnotation,
  pullSecretsOf,
  type SidecarSet,
} from "../../src/testing/sidecars.ts";

interface Event extends KubeObject {
  readonly reason: string;
  readonly message: string;
}

/** The message of the first such event on a SidecarSet. */
async function untilSkipped(kube: Kube, { metadata }: SidecarSet): Promise<string> {
  const fieldSelector = `involvedObject.uid=${metadata.uid},reason=InjectionSkipped`;
  const selection = { namespace: "default", fieldSelector, sendInitialEvents: true };
  for await (const { type, object } of watchEvents(kube, events, selection, { signal: AbortSignal.timeout(60_000) })) {
    if (type === "ADDED") return (object as Event).message;
  }
  throw new Error("no event was told");
}

/** An account whose Pods may name only the Secrets it lists. */
async function createEnforcing(kube: Kube, key: string, lists: object): Promise<void> {
  const { namespace, name } = at(key);
  const annotations = { "kubernetes.io/enforce-mountable-secrets": "true" };
  const body = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, annotations }, ...lists };
  await kube.request("POST", `/api/v1/namespaces/${namespace}/serviceaccounts`, { body });
}

const containersOf = ({ spec }: Pod) => spec.containers.map(({ name }) => name);

test("an enforcing account is given the names it lists, and the SidecarSet says so", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  for (const name of ["listed", "unlisted"]) await createPullSecret(kube, `${vault}/${name}`);
  const set = await createSidecarSet(t, kube, { pullSecrets: [`${vault}/unlisted`, `${vault}/listed`] });
  await createEnforcing(kube, `${team}/strict`, { imagePullSecrets: [{ name: `${vault}-listed` }] });
  const created = await createInjectedPod(t, kube, `${team}/web`, {
    labels: labelsFor(set),
    spec: { serviceAccountName: "strict" },
  });
  assert.deepEqual(containersOf(created), [set.metadata.name, "app"]);
  assert.deepEqual(pullSecretsOf(created), [`${vault}-listed`]);
  assert.equal(created.metadata.annotations?.[pullSecretsAnnotation], `${vault}/listed=${vault}-listed`);
  assert.match(await untilSkipped(kube, set), new RegExp(`${vault}-unlisted.*${team}/strict`));
  assert.equal(
    await getSecret(kube, `${team}/${vault}-unlisted`),
    undefined,
    "a copy that no Pod may name is not made",
  );
});

test("a SidecarSet that names a Secret stays out of Pods of an enforcing account that does not list it", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [team] = namespaces;
  const name = uniqueName("set");
  const env = [{ name: "KEY", valueFrom: { secretKeyRef: { name: "key", key: "k", optional: true } } }];
  const containers = [{ name, image: "registry.example.com/sidecar:1", env }];
  const set = await createSidecarSet(t, kube, { name, spec: { containers } });
  const other = await createSidecarSet(t, kube, { spec: { selector: { matchLabels: labelsFor(set) } } });
  await createEnforcing(kube, `${team}/strict`, {});
  await createEnforcing(kube, `${team}/knowing`, { secrets: [{ name: "key" }] });
  const labels = labelsFor(set);
  const strict = await createInjectedPod(t, kube, `${team}/a`, { labels, spec: { serviceAccountName: "strict" } });
  assert.deepEqual(containersOf(strict), [other.metadata.name, "app"]);
  assert.equal(strict.metadata.annotations?.[injectedListAnnotation], other.metadata.name);
  assert.match(await untilSkipped(kube, set), new RegExp(`ServiceAccount ${team}/strict.*\\bkey\\b`));
  const knowing = await createInjectedPod(t, kube, `${team}/b`, { labels, spec: { serviceAccountName: "knowing" } });
  assert.equal(containersOf(knowing).length, 3);
});

const misfits = [
  {
    name: "a mount whose volume neither side has",
    sidecar: { volumeMounts: [{ name: "data", mountPath: "/data" }] },
    spec: {},
    words: /mounts volume data/,
  },
  {
    name: "a name that is an initContainer's in the Pod",
    sidecar: {},
    spec: (name: string) => ({ initContainers: [{ name, image: "registry.example.com/own:1" }] }),
    words: /is an initContainer there/,
  },
];

for (const { name: what, sidecar, spec, words } of misfits) {
  test(`what would make the Pod invalid is left out: ${what}`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 1);
    const [team] = namespaces;
    const name = uniqueName("set");
    const containers = [{ name, image: "registry.example.com/sidecar:1", ...sidecar }];
    const set = await createSidecarSet(t, kube, { name, spec: { containers } });
    const created = await createPod(t, kube, `${team}/web`, {
      labels: labelsFor(set),
      spec: typeof spec === "function" ? spec(name) : spec,
    });
    assert.deepEqual(containersOf(created), ["app"]);
    assert.match(await untilSkipped(kube, set), words);
  });
}

test("a dry run tells nobody, and gives the same Pod", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createPullSecret(kube, `${vault}/pull`);
  const set = await createSidecarSet(t, kube, { pullSecrets: [`${vault}/pull`] });
  const labels = labelsFor(set);
  await createEnforcing(kube, `${team}/strict`, {});
  const strict = pod(`${team}/strict`, { labels, spec: { serviceAccountName: "strict" } });
  const dryStrict = await kube.create<Pod>(pods, strict, { dryRun: true });
  assert.deepEqual(pullSecretsOf(dryStrict), []);
  const plain = pod(`${team}/web`, { labels, spec: { automountServiceAccountToken: false } });
  const dry = await kube.create<Pod>(pods, plain, { dryRun: true });
  assert.deepEqual(pullSecretsOf(dry), [`${vault}-pull`]);
  assert.equal(await getSecret(kube, `${team}/${vault}-pull`), undefined);

  const real = await createInjectedPod(t, kube, `${team}/web`, {
    labels,
    spec: { automountServiceAccountToken: false },
  });
  assert.deepEqual([dry.spec, dry.metadata.annotations], [real.spec, real.metadata.annotations]);
  const fieldSelector = `involvedObject.uid=${set.metadata.uid},reason=InjectionSkipped`;
  assert.deepEqual(await kube.list(events, { namespace: "default", fieldSelector }), []);
});
