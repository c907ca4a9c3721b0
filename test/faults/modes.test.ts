import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Crd } from "../../src/api/crds.ts";
import { crds, type KubeObject, type Resource } from "../../src/api/objects.ts";
import { kubectl, testNamespaces } from "../../src/testing/cluster.ts";
import { readyLines, untilMode, untilReady } from "../../src/testing/modes.ts";
import type { SecretSync } from "../../src/testing/objects.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import { createSecret, setValues } from "../../src/testing/secrets.ts";
import { createSidecarSet, storeSidecarSet, untilSidecarSet } from "../../src/testing/sidecars.ts";
import { createdSync } from "../../src/testing/syncs.ts";
import { until, untilGone, untilSecret } from "../../src/testing/wait.ts";
import type { LogLine } from "../../tools/local/operator.ts";

const own = ownPlane();

const patienceMs = 60_000;
const secretSyncCrd = { name: "secretsyncs.package-operator.run" };
const sidecarSetCrd = { name: "sidecarsets.apps.kruise.io" };
const webhooks: Resource = {
  group: "admissionregistration.k8s.io",
  version: "v1",
  plural: "validatingwebhookconfigurations",
  kind: "ValidatingWebhookConfiguration",
  namespaced: false,
};

async function setStandIn(name: string, value: "true" | null): Promise<void> {
  const body = { metadata: { labels: { "latchkey.dev/stand-in": value } } };
  await (await own.kube).patch(crds, { name }, { type: "merge", body });
}

interface Pair {
  readonly source: string;
  readonly copy: string;
  readonly sync: SecretSync;
}

async function servedPair(t: TestContext): Promise<Pair> {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  const [source, copy] = [`${vault}/db`, `${team}/db`];
  await createSecret(kube, source, { v: "1" });
  return { source, copy, sync: await createdSync(t, kube, source, { to: [copy] }) };
}

test("a feature whose CRD is no longer ours goes off in the running process, and comes back", async (t) => {
  await using operator = await own.operator();
  const kube = await own.kube;
  const { source, copy } = await servedPair(t);
  t.after(() => setStandIn(secretSyncCrd.name, "true"));

  await setStandIn(secretSyncCrd.name, null);
  await untilMode(operator, "secretsync", "off");
  const isRefusal = ({ level, refusal }: LogLine) => level === "error" && String(refusal).includes(secretSyncCrd.name);
  assert.equal(operator.logs().filter(isRefusal).length, 1);
  // One that is left without an operator would refuse what users write.
  await untilGone(kube, webhooks, { name: "latchkey-secretsync" });
  await untilReady(operator, 2);
  await setValues(kube, source, { v: "2" });

  await setStandIn(secretSyncCrd.name, "true");
  await untilMode(operator, "secretsync", "instead");
  await untilSecret(kube, copy, { v: "2" });
  await until(kube, webhooks, { name: "latchkey-secretsync" }, "is registered again", (found) => found !== undefined);
  await untilReady(operator, 3);
  await servedPair(t);
});

/** The same kind by somebody else's hand, in two versions. */
async function replaceByForeign(ref: { readonly name: string }): Promise<void> {
  const kube = await own.kube;
  const ours = await kube.get<Crd>(crds, ref);
  assert.ok(ours);
  const [version] = ours.spec.versions;
  assert.ok(version);
  const newer = { ...version, name: "v1beta1", storage: false };
  await kube.delete(crds, ref);
  await untilGone(kube, crds, ref);
  await kube.create<Crd>(crds, { metadata: { ...ref }, spec: { ...ours.spec, versions: [newer, version] } });
}

async function restoreOurs(ref: { readonly name: string }): Promise<void> {
  const kube = await own.kube;
  await kube.delete(crds, ref);
  await untilGone(kube, crds, ref);
  const applied = await own.latchkey("crds", "--apply");
  assert.equal(applied.code, 0, applied.stderr);
}

test("a kind that the original project takes over is served beside it at once, and instead of it when it has gone", async (t) => {
  const proxy = await own.proxy();
  await using operator = await own.operator({ through: proxy });
  const kube = await own.kube;
  const { source, copy } = await servedPair(t);
  await createSidecarSet(t, kube);

  await replaceByForeign(sidecarSetCrd);
  await untilMode(operator, "sidecars", "beside");
  await untilReady(operator, 2);
  const isNewer = ({ path }: { readonly path: string }) => path.startsWith("/apis/apps.kruise.io/v1beta1/sidecarsets");
  assert.ok(proxy.requests.some(isNewer), "the newer version is preferred");
  await setValues(kube, source, { v: "2" });
  await untilSecret(kube, copy, { v: "2" });
  const annotations = { "latchkey.dev/image-pull-secrets": "default/not-there" };
  const set = await storeSidecarSet(t, kube, { annotations });
  const isTold = ({ metadata }: KubeObject) => metadata.annotations?.["latchkey.dev/status"] !== undefined;
  const told = await untilSidecarSet(kube, set.metadata.name, "is told about by an annotation", isTold);
  assert.deepEqual([told.status, told.metadata.finalizers], [undefined, undefined]);

  await restoreOurs(sidecarSetCrd);
  await untilMode(operator, "sidecars", "instead");
  await untilReady(operator, 3);
  await createSidecarSet(t, kube);
  await setValues(kube, source, { v: "3" });
  await untilSecret(kube, copy, { v: "3" });
  assert.equal(readyLines(operator).length, 3);
});

test("a feature without its CRD waits for it alone", async (t) => {
  const kube = await own.kube;
  t.after(() => own.latchkey("crds", "--apply"));
  await kube.delete(crds, sidecarSetCrd);
  await untilGone(kube, crds, sidecarSetCrd);
  await using operator = await own.operator();
  await untilMode(operator, "sidecars", "off");
  await servedPair(t);
  const applied = await own.latchkey("crds", "--apply");
  assert.equal(applied.code, 0, applied.stderr);
  await untilMode(operator, "sidecars", "instead");
  await untilReady(operator, 2);
  await createSidecarSet(t, kube);
});

const account = "system:serviceaccount:latchkey-system:latchkey";

async function letInstall(isAllowed: boolean): Promise<void> {
  const change = isAllowed ? ["create", "--clusterrole=cluster-admin", `--user=${account}`] : ["delete"];
  const [verb = "", ...flags] = change;
  await kubectl([verb, "clusterrolebinding", "install-crds", ...flags]);
  const wanted = isAllowed ? "yes" : "no";
  const canI = ["auth", "can-i", "patch", "customresourcedefinitions.apiextensions.k8s.io", "--as", account];
  while ((await kubectl(canI)).stdout.trim() !== wanted) await sleep(50);
}

test("a CRD of ours that vanishes is installed again, as soon as the operator may do that", async (t) => {
  await letInstall(true);
  t.after(() => letInstall(false));
  await using operator = await own.operator({ args: ["--install-crds"] });
  const kube = await own.kube;
  await servedPair(t);
  const crd = await kube.get<KubeObject>(crds, secretSyncCrd);
  await letInstall(false);
  await kube.delete(crds, secretSyncCrd);
  const failures = () => operator.logs().filter(({ message }) => message.startsWith("the features cannot be opened"));
  for (const deadline = performance.now() + patienceMs; failures().length < 3; await sleep(50)) {
    assert.ok(performance.now() < deadline, "it is tried again");
  }
  assert.equal((await fetch(`${operator.metricsUrl}/readyz`)).status, 503);
  assert.equal((await fetch(`${operator.metricsUrl}/healthz`)).status, 200);

  await letInstall(true);
  const isNew = (found: KubeObject | undefined) => found !== undefined && found.metadata.uid !== crd?.metadata.uid;
  await until(kube, crds, secretSyncCrd, "is another one", isNew);
  await untilReady(operator, 2);
  await servedPair(t);
  assert.equal(readyLines(operator).length, 2);
  assert.ok(failures().length < 20, "not in a loop");
});

test("a feature that is forced over a foreign CRD refuses to start, and names the CRD", async (t) => {
  t.after(() => setStandIn(secretSyncCrd.name, "true"));
  await setStandIn(secretSyncCrd.name, null);
  const refusal = /--secretsync=instead: the CRD secretsyncs\.package-operator\.run was not installed by Latchkey/;
  await assert.rejects(own.operator({ args: ["--secretsync=instead"] }), refusal);
});
