import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { ensureBinaries, linkBinaries } from "../../../../tools/local/binaries.ts";
import { type PlaneOptions, startControlPlane } from "../../../../tools/local/control-plane.ts";
import { type KubeObject, namespaces, type Resource } from "../../../api/objects.ts";
import { enforceAnnotation, type LocalReference } from "../../../api/pods.ts";
import { Kube } from "../../../kube/client.ts";
import { isReason } from "../../../kube/errors.ts";
import { loadConnection } from "../../../kube/kubeconfig.ts";
import { adminKube, createNamespace, testNamespaces, uniqueName } from "../../../testing/cluster.ts";
import { ForeignWebhook } from "../../../testing/foreign-webhooks.ts";
import { barePlane } from "../../../testing/pull-secrets.ts";
import { assertRefused } from "../../../testing/refused.ts";
import { createPod, type Pod, type PodOptions, pod, pods, serviceAccounts } from "../../../testing/sidecars.ts";
import { until } from "../../../testing/wait.ts";
import { bindingsIn, configMaps, injectionName, type PolicyVersion, policiesIn } from "./objects.ts";
import { bindingSpecOf, fitting, policySpecOf } from "./policy.ts";
import { type Naming, recordDataOf } from "./record.ts";

barePlane();

type WithSpec = KubeObject & { readonly spec: object };

const nothing: Naming = { names: [], special: new Map(), exempt: new Map() };

interface Injecting extends Partial<Naming> {
  readonly excludedNamespaces?: readonly string[];
  readonly version?: PolicyVersion;
}

/** Policy and binding as they are answered. */
async function inject(kube: Kube, { excludedNamespaces = [], version = "v1", ...naming }: Injecting) {
  const policy = await write(kube, policiesIn(version), policySpecOf({ ...nothing, ...naming }));
  const binding = await write(kube, bindingsIn(version), bindingSpecOf({ excludedNamespaces }));
  return { policy, binding };
}

function write(kube: Kube, { group, version, kind, ...rest }: Resource, spec: object, name = injectionName) {
  const object = { apiVersion: `${group}/${version}`, kind, metadata: { name }, spec };
  return kube.apply<WithSpec>({ group, version, kind, ...rest }, object);
}

async function stopInjecting(kube: Kube): Promise<void> {
  for (const resource of [bindingsIn("v1"), policiesIn("v1")]) await kube.delete(resource, { name: injectionName });
}

const namesOf = ({ spec }: Pod): string[] => (spec?.imagePullSecrets ?? []).map(({ name = "" }) => name);

/** What would become of a Pod now. */
const triedPod = (kube: Kube, namespace: string, name = uniqueName("try")): Promise<Pod> =>
  kube.create<Pod>(pods, pod(`${namespace}/${name}`), { dryRun: true });

/** The API server looks for changed policies once a second, and tells nobody when it has found one. */
async function untilTrue(isTrue: () => Promise<boolean>): Promise<void> {
  const signal = AbortSignal.timeout(60_000);
  while (!(await isTrue())) await sleep(50, undefined, { signal });
}

async function untilGiven(kube: Kube, namespace: string, names: readonly string[]): Promise<void> {
  await until(kube, serviceAccounts, { namespace, name: "default" }, "exists", (account) => account !== undefined);
  await untilTrue(async () => isDeepStrictEqual(namesOf(await triedPod(kube, namespace)), names));
}

async function created(t: TestContext, namespace: string, options: PodOptions = {}): Promise<string[]> {
  return namesOf(await createPod(t, await adminKube(), `${namespace}/${uniqueName("pod")}`, options));
}

const secretsNamed = (...names: readonly string[]): LocalReference[] => names.map((name) => ({ name }));

async function createAccount(namespace: string, name: string, fields: object = {}, annotations = {}): Promise<void> {
  const kube = await adminKube();
  await kube.create(serviceAccounts, { metadata: { namespace, name, annotations }, ...fields });
}

test("what is read back is what was written, and writing it again changes nothing", async () => {
  const kube = await adminKube();
  const naming = { names: ["a"], special: new Map([["web", ["b"]]]), exempt: new Map([["web", ["builder"]]]) };
  const injecting = { ...naming, excludedNamespaces: ["kube-public"] };
  const { policy, binding } = await inject(kube, injecting);
  assert.deepEqual(policy.spec, policySpecOf(naming));
  assert.deepEqual(binding.spec, bindingSpecOf(injecting));
  assert.deepEqual(await inject(kube, injecting), { policy, binding });
});

test("a Pod has its own names first, then those of its namespace", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 3);
  const [plain, special, empty] = namespaces;
  const lists: [string, string[]][] = [
    [special, ["", "x", "a"]],
    [empty, [""]],
  ];
  await inject(kube, { names: ["a", "", "b", "a"], special: new Map(lists) });
  await untilGiven(kube, plain, ["a", "b"]);

  const own = (...names: string[]) => ({ spec: { imagePullSecrets: secretsNamed(...names) } });
  assert.deepEqual(await created(t, plain, own()), ["a", "b"]);
  assert.deepEqual(await created(t, plain, own("b", "mine")), ["b", "mine", "a"]);
  assert.deepEqual(await created(t, plain, own("b", "", "mine", "b", "")), ["b", "", "mine", "b", "", "a"]);
  assert.deepEqual(await created(t, special), ["x", "a"], "its list is complete");
  assert.deepEqual(await created(t, special, own("a")), ["a", "x"]);
  assert.deepEqual(await created(t, empty), []);
  assert.deepEqual(await created(t, empty, own("mine")), ["mine"]);
  assert.deepEqual(await created(t, "kube-system"), ["a", "b"]);

  await createAccount(plain, "puller", { imagePullSecrets: secretsNamed("account", "b") });
  assert.deepEqual(await created(t, plain, { spec: { serviceAccountName: "puller" } }), ["account", "b", "a"]);
});

test("mirror Pods, excluded namespaces and those that opted out are left alone", async (t) => {
  const { kube, namespaces: served } = await testNamespaces(t, 2);
  const [plain, excluded] = served;
  const optedOut = uniqueName("test");
  await createNamespace(t, optedOut);
  const body = { metadata: { labels: { "latchkey.dev/inject": "false" } } };
  await kube.patch(namespaces, { name: optedOut }, { type: "merge", body });
  await inject(kube, { names: ["c"], excludedNamespaces: [excluded] });
  await untilGiven(kube, plain, ["c"]);

  for (const namespace of [excluded, optedOut]) {
    await untilGiven(kube, namespace, []); // the binding may come into effect after the policy
    assert.deepEqual(await created(t, namespace), []);
  }
  const mirror = { annotations: { "kubernetes.io/config.mirror": "x" }, spec: { nodeName: "n" } };
  assert.deepEqual(await created(t, plain, mirror), [], "the API server would refuse it");
});

test("Pods of an exempt account are created, and only of that account in that namespace", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [plain, other] = namespaces;
  for (const namespace of namespaces) {
    await createAccount(namespace, "strict", {}, { [enforceAnnotation]: "true" });
    await createAccount(namespace, "stric");
  }
  await inject(kube, { names: ["d"], exempt: new Map([[plain, ["builder", "strict"]]]) });
  await untilGiven(kube, plain, ["d"]);

  const of = (serviceAccountName: string) => ({ spec: { serviceAccountName } });
  assert.deepEqual(await created(t, plain, of("strict")), []);
  assert.deepEqual(await created(t, plain, of("stric")), ["d"]);
  assert.deepEqual(await created(t, other, of("stric")), ["d"]);
  await assertRefused(created(t, other, of("strict")), 403, /imagePullSecrets\[0\]\.name="d" is not allowed/);
});

test("new names take effect, also after policy and binding were deleted", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [plain] = namespaces;
  for (const round of ["one", "two"]) {
    for (const step of ["first", "second", "third"]) {
      await inject(kube, { names: [round, step] });
      await untilGiven(kube, plain, [round, step]);
    }
    await stopInjecting(kube);
    await untilGiven(kube, plain, []);
  }
});

test("no name is there twice when others change the Pod afterwards", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [plain] = namespaces;
  await inject(kube, { names: ["e", "f"] });
  const name = uniqueName("other");
  await write(kube, policiesIn("v1"), addingContainer, name);
  await write(kube, bindingsIn("v1"), { policyName: name }, name);
  const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": plain } };
  await using webhook = await ForeignWebhook.register<Pod>(kube, {
    ...{ kind: "mutating", configuration: name, name: "adds.example.com", resource: "pods", operations: ["CREATE"] },
    namespaceSelector,
    // It takes away what we added: only one who is asked again can put it back.
    answer: ({ object }) => ({
      allowed: true,
      patch: hasContainer(object, "webhook")
        ? []
        : [
            { op: "add", path: "/spec/containers/-", value: { name: "webhook", image: "x" } },
            { op: "add", path: "/spec/imagePullSecrets", value: secretsNamed("theirs", "f") },
          ],
    }),
  });
  t.after(async () => {
    await webhook.unregister();
    for (const resource of [bindingsIn("v1"), policiesIn("v1")]) await kube.delete(resource, { name });
  });
  await untilGiven(kube, plain, ["theirs", "f", "e"]);
  await untilTrue(async () => hasContainer(await triedPod(kube, plain), "policy"));
  const seen = await createPod(t, kube, `${plain}/${uniqueName("pod")}`);
  assert.deepEqual(namesOf(seen), ["theirs", "f", "e"]);
  assert.ok(hasContainer(seen, "webhook") && hasContainer(seen, "policy"));
});

const hasContainer = ({ spec }: Pod, name: string): boolean =>
  spec?.containers?.some((container) => container.name === name) ?? false;

const addingContainer = {
  ...policySpecOf(nothing),
  variables: [{ name: "isThere", expression: "object.spec.containers.exists(c, c.name == 'policy')" }],
  mutations: [
    {
      patchType: "JSONPatch",
      jsonPatch: {
        expression: `variables.isThere ? []
          : [JSONPatch{op: 'add', path: '/spec/containers/-', value: {'name': 'policy', 'image': 'x'}}]`,
      },
    },
  ],
};

test("the largest naming that fits is injected everywhere, and recorded", async (t) => {
  const { kube, namespaces: served } = await testNamespaces(t, 4);
  const [plain, shortest, longest, strict] = served;
  const list = (namespace: string, length: number) =>
    Array.from({ length: 16 }, (_, i) => `${namespace}-${i}-`.padEnd(length, "x"));
  const others = Array.from({ length: 2_000 }, (_, i) => `${"n".repeat(20)}${i}`);
  const special = new Map(others.map((namespace) => [namespace, list(namespace, 60)]));
  special.set(shortest, list(shortest, 59)).set(longest, list(longest, 61));
  const account = (i: number) => `${"a".repeat(20)}${i}`;
  const exempt = new Map([[strict, Array.from({ length: 2_000 }, (_, i) => account(i))]]);

  const { naming, leftOut } = fitting({ names: ["g"], special, exempt });
  assert.ok(leftOut.includes(longest) && leftOut.length < 1_500, `${leftOut.length} are left out`);
  const { policy } = await inject(kube, naming);
  assert.deepEqual(policy.spec, policySpecOf(naming));
  const data = recordDataOf(naming);
  const record = await kube.create<KubeObject & { data: object }>(configMaps, {
    metadata: { namespace: plain, name: injectionName },
    data,
  });
  assert.deepEqual(record.data, data);

  await untilGiven(kube, plain, ["g"]);
  assert.deepEqual(await created(t, shortest), list(shortest, 59));
  assert.deepEqual(await created(t, longest), [], "what was left out gets nothing");
  assert.deepEqual(await created(t, strict), ["g"]);
  await createAccount(strict, account(1_999));
  assert.deepEqual(await created(t, strict, { spec: { serviceAccountName: account(1_999) } }), []);
  const known = [...naming.special].filter(([, names]) => names.length > 0).map(([namespace]) => namespace);
  for (const namespace of [known.at(1), known.at(known.length / 2), known.at(-1)].filter(
    (name) => name !== undefined,
  )) {
    await createNamespace(t, namespace);
    assert.deepEqual(await created(t, namespace), list(namespace, 60));
  }
});

/** A plane with one namespace that has its account. */
async function anotherPlane(t: TestContext, options: PlaneOptions): Promise<Kube> {
  const plane = await startControlPlane(options);
  t.after(() => plane.stop());
  const kube = new Kube(await loadConnection({ kubeconfig: plane.kubeconfig, env: {} }));
  t.after(() => kube[Symbol.asyncDispose]());
  const ref = { namespace: "default", name: "default" };
  await until(kube, serviceAccounts, ref, "exists", (account) => account !== undefined);
  return kube;
}

test("v1beta1 takes the same specs", async (t) => {
  const kube = await anotherPlane(t, { env: await servingBeta(t) });
  const { policy, binding } = await inject(kube, { version: "v1beta1", names: ["a"] });
  assert.deepEqual(policy.spec, policySpecOf({ ...nothing, names: ["a"] }));
  assert.deepEqual(binding.spec, bindingSpecOf({ excludedNamespaces: [] }));
  await untilGiven(kube, "default", ["a"]);
});

/** It is off in every release unless the API server is told. */
async function servingBeta(t: TestContext): Promise<Record<string, string | undefined>> {
  const binaries = await ensureBinaries(["etcd", "kube-apiserver", "kube-controller-manager", "kubectl"]);
  const { "kube-apiserver": server, ...others } = binaries;
  const dir = mkdtempSync(join(tmpdir(), "latchkey-beta-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const script = `#!/bin/sh\nexec ${server} "$@" --runtime-config=admissionregistration.k8s.io/v1beta1=true\n`;
  writeFileSync(join(linkBinaries(others, dir), "kube-apiserver"), script, { mode: 0o755 });
  return { ...process.env, KUBEBUILDER_ASSETS: dir };
}

test("an API server whose feature is switched off stores policies and does not apply them", async (t) => {
  const kube = await anotherPlane(t, { featureGates: { MutatingAdmissionPolicy: false } });
  assert.ok(await kube.serves(policiesIn("v1")), "discovery does not tell");
  const { policy } = await inject(kube, { names: ["a"] });
  assert.deepEqual(policy.spec, policySpecOf({ ...nothing, names: ["a"] }));

  // By the time policies of the other kind have come into effect and changed again, ours would have, too.
  for (const refused of ["one", "two"]) {
    await refusePodsNamed(kube, refused);
    assert.deepEqual(namesOf(await triedPod(kube, "default")), []);
  }
});

async function refusePodsNamed(kube: Kube, name: string): Promise<void> {
  const kind = (plural: string, kind: string): Resource => ({ ...policiesIn("v1"), plural, kind });
  const { matchConstraints } = policySpecOf(nothing);
  const validations = [{ expression: `object.metadata.name != '${name}'` }];
  await write(kube, kind("validatingadmissionpolicies", "ValidatingAdmissionPolicy"), {
    matchConstraints,
    validations,
  });
  await write(kube, kind("validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding"), {
    policyName: injectionName,
    validationActions: ["Deny"],
  });
  await untilTrue(() =>
    triedPod(kube, "default", name).then(
      () => false,
      (error) => isReason(error, "Invalid"),
    ),
  );
}
