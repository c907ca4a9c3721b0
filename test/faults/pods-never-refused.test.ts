import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type KubeObject,
  namespaces as namespaceKind,
  type Resource,
  type Secret,
  secrets,
} from "../../src/api/objects.ts";
import type { JsonPatchOp, Kube } from "../../src/kube/client.ts";
import { issueCa, issueLeaf } from "../../src/kube/x509.ts";
import type { ApiProxy, Fault, Seen } from "../../src/testing/api-proxy.ts";
import { kubectl, testNamespaces, uniqueName } from "../../src/testing/cluster.ts";
import { at, base64 } from "../../src/testing/objects.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import { isInjected, PodStream } from "../../src/testing/pod-stream.ts";
import { refuseSecrets } from "../../src/testing/refusals.ts";
import { createSecret, deleteSecret, getSecret, patchSecret, theSecret } from "../../src/testing/secrets.ts";
import {
  configurations,
  createInjectedPod,
  createPod,
  createPullSecret,
  createSidecarSet,
  type Deployment,
  deployment,
  deployments,
  labelsFor,
  literalName,
  type Pod,
  pod,
  pullSecretsAnnotation,
  pullSecretsOf,
  type SidecarSet,
  suffixedName,
  untilPullSecret,
  untilSetCondition,
} from "../../src/testing/sidecars.ts";
import { until } from "../../src/testing/wait.ts";
import type { Operator } from "../../tools/local/operator.ts";

let proxy: ApiProxy;
let operator: Operator;
const own = ownPlane(async () => {
  proxy = await own.proxy();
  operator = await own.operator({ through: proxy });
});

/** A SidecarSet with one pull secret, and a namespace for its Pods. */
interface Scene {
  readonly kube: Kube;
  readonly set: SidecarSet;
  readonly source: string;
  readonly team: string;
}

async function prepare(t: TestContext): Promise<Scene> {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  const source = `${vault}/pull`;
  await createPullSecret(kube, source);
  const set = await createSidecarSet(t, kube, { pullSecrets: [source] });
  return { kube, set, source, team };
}

const containersOf = ({ spec }: Pod) => spec.containers.map(({ name }) => name);

/** All of it or nothing. */
function assertWhole(created: Pod, { set, source }: Scene): void {
  const { name } = set.metadata;
  const names = pullSecretsOf(created);
  if (!isInjected(created)) {
    assert.deepEqual([containersOf(created), names], [["app"], []]);
    return;
  }
  assert.deepEqual(containersOf(created), [name, "app"]);
  assert.equal(names[0], literalName(source));
  assert.deepEqual(names.slice(1), names.length > 1 ? [suffixedName(source)] : []);
  assert.equal(created.metadata.annotations?.[pullSecretsAnnotation], `${source}=${literalName(source)}`);
}

const certificates = "latchkey-system/latchkey-admission";
const registration = { name: "latchkey-sidecars" };

interface Absence {
  readonly name: string;
  readonly begin: () => unknown;
  /** How many Pods are created while it lasts, none of them with a sidecar; nobody can tell where it ends by itself. */
  readonly without?: number;
  readonly end: () => unknown;
}

/** Where the API server asks about Pods, and whom it trusts there. */
interface Configuration extends KubeObject {
  readonly webhooks?: readonly { readonly clientConfig: { readonly url?: string; readonly caBundle?: string } }[];
}

async function untilRegistered(): Promise<void> {
  const { data } = await theSecret(await own.kube, certificates);
  const url = `${operator.admissionUrl}/mutate/pods`;
  await until<Configuration>(await own.kube, configurations.mutating, registration, `leads to ${url}`, (found) => {
    const { clientConfig } = found?.webhooks?.[0] ?? {};
    return clientConfig?.url === url && clientConfig.caBundle === data?.["ca.crt"];
  });
}

/** Damages the certificates, and waits at the end until there are new ones. Tells which certificate is none. */
function withoutCertificates(damage: (kube: Kube) => Promise<string | undefined>): Pick<Absence, "begin" | "end"> {
  const bad = new Set<string | undefined>([undefined]);
  return {
    begin: async () => {
      const kube = await own.kube;
      bad.add((await theSecret(kube, certificates)).data?.["tls.crt"]).add(await damage(kube));
    },
    end: async () => {
      const isNew = (found: Secret | undefined) => !bad.has(found?.data?.["tls.crt"]);
      await until<Secret>(await own.kube, secrets, at(certificates), "has a new serving certificate", isNew);
      await untilRegistered();
    },
  };
}

const restart = async () => {
  operator = await own.operator({ through: proxy });
};

const absences: readonly Absence[] = [
  { name: "is killed, and started again", begin: () => operator.kill(), without: 3, end: restart },
  { name: "is stopped in order, and started again", begin: () => operator.stop(), without: 3, end: restart },
  // Each Pod waits for its answer, in vain.
  { name: "hangs", begin: () => operator.pause(), without: 2, end: () => operator.resume() },
  {
    name: "is killed while it hangs, and started again",
    begin: async () => {
      operator.pause();
      await operator.kill();
    },
    without: 1,
    end: restart,
  },
  {
    name: "loses its certificates",
    ...withoutCertificates(loseCertificates),
  },
  { name: "is given a certificate that nobody trusts", ...withoutCertificates(swapCertificate) },
  {
    name: "is registered where nobody listens",
    begin: async () => {
      const path = "/webhooks/0/clientConfig/url";
      const body: JsonPatchOp[] = [{ op: "replace", path, value: "https://127.0.0.1:1/mutate/pods" }];
      await (await own.kube).patch(configurations.mutating, registration, { type: "json", body });
    },
    end: untilRegistered,
  },
  {
    name: "is not registered any more",
    begin: async () => (await own.kube).delete(configurations.mutating, registration),
    end: untilRegistered,
  },
];

async function loseCertificates(kube: Kube): Promise<undefined> {
  await deleteSecret(kube, certificates);
}

/** For one of another authority. */
async function swapCertificate(kube: Kube): Promise<string> {
  const ca = await issueCa({ commonName: "another", days: 1 });
  const leaf = await issueLeaf(ca, { commonName: "another", ips: ["127.0.0.1"], usages: ["server"], days: 1 });
  const data = { "tls.crt": base64(leaf.certificatePem), "tls.key": base64(leaf.keyPem) };
  await patchSecret(kube, certificates, { data });
  return data["tls.crt"];
}

test("Pods are created whatever becomes of Latchkey, each with the whole sidecar or without", async (t) => {
  const scene = await prepare(t);
  const { kube, set, source, team } = scene;
  const stream = await PodStream.start(kube, team, { labels: labelsFor(set) });
  t.after(() => stream.stop());
  await stream.untilInjected();

  for (const { name, begin, without, end } of absences) {
    await t.test(`it ${name}`, async () => {
      await begin();
      if (without !== undefined) {
        const created = await stream.more(without);
        assert.deepEqual(created.filter(isInjected), []);
        await createdByOthers(scene);
      }
      await end();
      await stream.untilInjected();
      assert.deepEqual(stream.refusals, []);
    });
  }

  await stream.stop();
  for (const created of stream.created) assertWhole(created, scene);
  await untilPullSecret(kube, `${team}/${literalName(source)}`);
  assert.equal(await getSecret(kube, `${team}/${suffixedName(source)}`), undefined, "there is one copy");
});

/** By kubectl, and by the controllers of Kubernetes. */
async function createdByOthers({ kube, set, team }: Scene): Promise<void> {
  const { stderr, code } = await kubectl(["create", "-f", "-"], {
    input: JSON.stringify(pod(`${team}/${uniqueName("kubectl")}`, { labels: labelsFor(set) })),
  });
  assert.equal(code, 0, stderr);
  const key = `${team}/${uniqueName("web")}`;
  await kube.create<Deployment>(deployments, deployment(key, { labels: labelsFor(set), replicas: 2 }));
  await until<Deployment & { status?: { replicas?: number } }>(kube, deployments, at(key), "has its Pods", (seen) => {
    return seen?.status?.replicas === 2;
  });
}

const resourceQuotas: Resource = {
  group: "",
  version: "v1",
  plural: "resourcequotas",
  kind: "ResourceQuota",
  namespaced: true,
};

/** Nobody can create a Secret there until the returned function is called. */
type Refusal = (t: TestContext, scene: Scene) => Promise<() => Promise<unknown>>;

const byQuota: Refusal = async (_, { kube, team }) => {
  const ref = { namespace: team, name: "no-secrets" };
  const hard = { "count/secrets": "0" };
  await kube.create<KubeObject & { spec: unknown }>(resourceQuotas, { metadata: ref, spec: { hard } });
  // Nobody else does so here, and what is not counted is not limited.
  const body = { status: { hard, used: hard } };
  await kube.patch(resourceQuotas, ref, { type: "merge", body }, { subresource: "status" });
  // A dry run is not counted.
  for (const deadline = performance.now() + 60_000; ; await sleep(100)) {
    const probe = { namespace: team, name: uniqueName("probe") };
    const answer = await kube.create(secrets, { metadata: probe }).then(() => "created", String);
    if (/exceeded quota/.test(answer)) break;
    if (performance.now() > deadline) throw new Error(`the quota does not act: ${answer}`);
    await kube.delete(secrets, probe);
  }
  return () => kube.delete(resourceQuotas, ref);
};

const byWebhook: Refusal = async (t, { kube, team }) => {
  const { stop } = await refuseSecrets(t, kube, [team], () => "no Secrets here");
  return stop;
};

const refusals = [
  { name: "a quota", refuse: byQuota, words: /exceeded quota/ },
  { name: "a webhook of somebody else", refuse: byWebhook, words: /no Secrets here/ },
] as const;

for (const { name, refuse, words } of refusals) {
  test(`${name} refuses the copy: the Pods come with the sidecar and the name of the copy, which follows`, async (t) => {
    const scene = await prepare(t);
    const { kube, set, source, team } = scene;
    const allow = await refuse(t, scene);
    const stream = await PodStream.start(kube, team, { labels: labelsFor(set) });
    t.after(() => stream.stop());
    await stream.next("Pods with a sidecar", (created) => created.filter(isInjected).length >= 3);
    await untilSetCondition(kube, set, "PullSecretsReady", { status: "False", reason: "CopyRefused", message: words });
    assert.equal(await getSecret(kube, `${team}/${literalName(source)}`), undefined);

    await allow();
    const body = { metadata: { labels: { "example.com/quota": "lifted" } } };
    await kube.patch(namespaceKind, { name: team }, { type: "merge", body });
    await untilPullSecret(kube, `${team}/${literalName(source)}`);
    await untilSetCondition(kube, set, "PullSecretsReady", { status: "True" });
    await stream.untilInjected();
    await stream.stop();
    assert.deepEqual(stream.refusals, []);
    for (const created of stream.created.filter(isInjected)) {
      assertWhole(created, scene);
      assert.deepEqual(pullSecretsOf(created), [literalName(source)]);
    }
  });
}

interface Stall {
  readonly name: string;
  readonly fault: Fault;
  /** What it befalls. */
  readonly of: (request: Seen, scene: Scene) => boolean;
  /** What is held never arrives. */
  readonly isLost?: true;
}

const copyCreated = ({ method, path }: Seen, { team }: Scene) =>
  method === "POST" && path.includes(`/namespaces/${team}/secrets?`);
const sourceRead = ({ method, path }: Seen, { source }: Scene) =>
  method === "GET" && path.includes(`/namespaces/${at(source).namespace}/secrets/pull`);

const stalls: readonly Stall[] = [
  { name: "the copy is under way for long", fault: { kind: "hold" }, of: copyCreated },
  { name: "the copy is lost under way", fault: { kind: "hold" }, of: copyCreated, isLost: true },
  { name: "the source is not to be read", fault: { kind: "hold" }, of: sourceRead },
  { name: "nothing is answered any more", fault: { kind: "hold" }, of: ({ isWatch }) => !isWatch },
  {
    name: "every write is answered 503",
    fault: { kind: "answer", status: 503, reason: "ServiceUnavailable" },
    of: ({ isWrite }) => isWrite,
  },
  {
    name: "every write is asked to come back later",
    fault: { kind: "answer", status: 429, reason: "TooManyRequests", retryAfterSeconds: 5 },
    of: ({ isWrite }) => isWrite,
  },
];

for (const { name, fault, of, isLost } of stalls) {
  test(`in the middle of a review ${name}: the Pod has both names, and the copy follows`, async (t) => {
    const scene = await prepare(t);
    const { kube, set, source, team } = scene;
    const rule = proxy.fault((request) => (of(request, scene) ? fault : undefined));
    const created = await createInjectedPod(t, kube, `${team}/web`, { labels: labelsFor(set) });
    assertWhole(created, scene);
    assert.deepEqual(pullSecretsOf(created), [literalName(source), suffixedName(source)]);
    assert.ok(rule.hits.length > 0);
    assert.equal(await getSecret(kube, `${team}/${literalName(source)}`), undefined);

    if (isLost) rule.discard();
    else rule.lift();
    const copy = await untilPullSecret(kube, `${team}/${literalName(source)}`);
    await untilSetCondition(kube, set, "PullSecretsReady", { status: "True", reason: "AllCopied" });
    const later = await createInjectedPod(t, kube, `${team}/later`, { labels: labelsFor(set) });
    assert.deepEqual(pullSecretsOf(later), [literalName(source)]);
    assert.equal((await theSecret(kube, `${team}/${literalName(source)}`)).metadata.uid, copy.metadata.uid);
    assert.equal(await getSecret(kube, `${team}/${suffixedName(source)}`), undefined);
  });
}

test("Latchkey is killed in the middle of a review: the Pod comes, and so does the copy for those after it", async (t) => {
  const scene = await prepare(t);
  const { kube, set, source, team } = scene;
  const rule = proxy.fault((request) => (copyCreated(request, scene) ? { kind: "hold" } : undefined));
  const coming = createPod(t, kube, `${team}/web`, { labels: labelsFor(set) });
  await rule.reached(1);
  await operator.kill();
  assertWhole(await coming, scene);
  rule.lift();
  // Late, and after the death of its maker.
  const copy = await untilPullSecret(kube, `${team}/${literalName(source)}`);
  await restart();
  const later = await createInjectedPod(t, kube, `${team}/later`, { labels: labelsFor(set) });
  assertWhole(later, scene);
  await untilSetCondition(kube, set, "PullSecretsReady", { status: "True", message: /^1 copy of 1 Secret$/ });
  assert.equal((await theSecret(kube, `${team}/${literalName(source)}`)).metadata.uid, copy.metadata.uid);
});

test("the answer about the copy is lost: there is one copy, which every Pod names", async (t) => {
  const scene = await prepare(t);
  const { kube, set, source, team } = scene;
  const rule = proxy.fault((request) => (copyCreated(request, scene) ? { kind: "lose" } : undefined));
  const created = await createInjectedPod(t, kube, `${team}/web`, { labels: labelsFor(set) });
  assertWhole(created, scene);
  rule.lift();
  assert.ok(rule.hits.length > 0);
  await untilPullSecret(kube, `${team}/${literalName(source)}`);
  await untilSetCondition(kube, set, "PullSecretsReady", { status: "True", reason: "AllCopied" });
  assert.equal(await getSecret(kube, `${team}/${suffixedName(source)}`), undefined);
});

test("a foreign Secret has the first name and the review is stalled: the copy comes under the second", async (t) => {
  const scene = await prepare(t);
  const { kube, set, source, team } = scene;
  const theirs = await createSecret(kube, `${team}/${literalName(source)}`, { theirs: "yes" });
  const rule = proxy.fault((request) => (copyCreated(request, scene) ? { kind: "hold" } : undefined));
  const created = await createInjectedPod(t, kube, `${team}/web`, { labels: labelsFor(set) });
  assert.deepEqual(pullSecretsOf(created), [literalName(source), suffixedName(source)]);
  rule.lift();
  await untilPullSecret(kube, `${team}/${suffixedName(source)}`);
  const later = await createInjectedPod(t, kube, `${team}/later`, { labels: labelsFor(set) });
  assert.deepEqual(pullSecretsOf(later), [suffixedName(source)]);
  assert.deepEqual(await theSecret(kube, `${team}/${literalName(source)}`), theirs);
});

test("Latchkey hears of nothing when the Pod comes, of its namespace neither: the copy follows when it does", async (t) => {
  const { kube, set, source } = await prepare(t);
  const held = proxy.fault(() => ({ kind: "hold" }));
  proxy.cut();
  await held.reached(1);
  const { namespaces } = await testNamespaces(t, 1);
  const created = await createInjectedPod(t, kube, `${namespaces[0]}/web`, { labels: labelsFor(set) });
  assert.deepEqual(containersOf(created), [set.metadata.name, "app"]);
  assert.deepEqual(pullSecretsOf(created), [literalName(source), suffixedName(source)]);
  held.discard();
  await untilPullSecret(kube, `${namespaces[0]}/${literalName(source)}`);
});
