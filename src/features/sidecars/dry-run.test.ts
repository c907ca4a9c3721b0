import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { KubeObject, Resource } from "../../api/objects.ts";
import { pods } from "../../api/pods.ts";
import type { Kube } from "../../kube/client.ts";
import { answers, cannedServer, statusOf } from "../../testing/canned-server.ts";
import { removeQuietly, testNamespaces, uniqueName } from "../../testing/cluster.ts";
import { sidecarRecord } from "../../testing/sidecar-records.ts";
import { dryRun, type Trial } from "./dry-run.ts";

const record = (sidecar: object = {}) =>
  sidecarRecord("s", { containers: [{ name: "c", image: "i", ...sidecar } as { name: string }] });

const wordsIn = (trial: Trial): string => (trial.kind === "invalid" ? trial.words : trial.kind);

const refused: readonly { readonly name: string; readonly sidecar: object; readonly words: RegExp }[] = [
  { name: "invalid", sidecar: { ports: [{ containerPort: 0 }] }, words: /^spec\.containers\[0\]\.ports\[0\]/ },
  { name: "undecodable", sidecar: { resources: { limits: { cpu: "abc" } } }, words: /quantities must match/ },
  { name: "of a wrong type", sidecar: { command: "sh" }, words: /command/ },
  { name: "unknown", sidecar: { lifecycle: { preStop: { exce: {} } } }, words: /unknown field .*exce/ },
];

test("the API server says what is wrong with a container, and stores nothing", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [team] = namespaces;
  await untilPodsArePossible(kube, team);
  assert.deepEqual(await dryRun(kube, team, record(), {}), { kind: "valid" });
  for (const { name, sidecar, words } of refused) {
    assert.match(wordsIn(await dryRun(kube, team, record(sidecar), {})), words, name);
  }
  assert.deepEqual(await kube.list(pods, { namespace: team }), []);
});

test("words that are told again are the same", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [team] = namespaces;
  await untilPodsArePossible(kube, team);
  const bad = record({ ports: [{ containerPort: 0 }] });
  assert.deepEqual(await dryRun(kube, team, bad, {}), await dryRun(kube, team, bad, {}));
});

/** A Pod needs the namespace's account; and what stands against it acts a moment later. */
async function untilPodsArePossible(kube: Kube, namespace: string, wanted = true): Promise<void> {
  const draft = { metadata: { namespace, name: "x" }, spec: { containers: [{ name: "c", image: "i" }] } };
  const isPossible = () =>
    kube.create(pods, draft, { dryRun: true }).then(
      () => true,
      () => false,
    );
  const deadline = performance.now() + 60_000;
  while ((await isPossible()) !== wanted) {
    assert.ok(performance.now() < deadline, `Pods are ${wanted ? "never" : "always"} possible in ${namespace}`);
    await sleep(50);
  }
}

const policy = (plural: string, kind: string): Resource => ({
  group: "admissionregistration.k8s.io",
  version: "v1",
  plural,
  kind,
  namespaced: false,
});

test("a quota and a policy prove nothing", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [poor, ruled] = namespaces;
  await Promise.all(namespaces.map((namespace) => untilPodsArePossible(kube, namespace)));
  await forbidPods(kube, poor);
  await denyPods(t, kube, ruled);
  for (const namespace of namespaces) {
    await untilPodsArePossible(kube, namespace, false);
    assert.deepEqual(await dryRun(kube, namespace, record(), {}), { kind: "unproven" });
  }
  assert.deepEqual(await dryRun(kube, uniqueName("nowhere"), record(), {}), { kind: "unproven" });
});

/** Its status is set by hand: no controller counts here. */
async function forbidPods(kube: Kube, namespace: string): Promise<void> {
  const hard = { pods: "0" };
  const path = `/api/v1/namespaces/${namespace}/resourcequotas`;
  const quota = { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "none" }, spec: { hard } };
  await kube.request("POST", path, { body: quota });
  const kind: Resource = {
    group: "",
    version: "v1",
    plural: "resourcequotas",
    kind: "ResourceQuota",
    namespaced: true,
  };
  const body = { status: { hard, used: { pods: "0" } } };
  await kube.patch(kind, { namespace, name: "none" }, { type: "merge", body }, { subresource: "status" });
}

/** With the code that an invalid Pod has. */
async function denyPods(t: { after(fn: () => unknown): void }, kube: Kube, namespace: string): Promise<void> {
  const metadata = { name: uniqueName("deny") };
  const policies = policy("validatingadmissionpolicies", "ValidatingAdmissionPolicy");
  const bindings = policy("validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding");
  for (const each of [policies, bindings]) t.after(() => removeQuietly(() => kube.delete(each, metadata)));
  const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": namespace } };
  const resourceRules = [{ apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], operations: ["CREATE"] }];
  await kube.create<KubeObject & { spec: object }>(policies, {
    metadata,
    spec: { matchConstraints: { resourceRules }, validations: [{ expression: "false", message: "no Pods here" }] },
  });
  await kube.create<KubeObject & { spec: object }>(bindings, {
    metadata,
    spec: { policyName: metadata.name, validationActions: ["Deny"], matchResources: { namespaceSelector } },
  });
}

for (const code of [400, 403, 422, 429, 500, 502, 503, 504]) {
  test(`nor does a denial with ${code}`, async (t) => {
    const message = 'admission webhook "deny.example.com" denied the request: not today';
    const { kube } = await cannedServer(t, answers({ ...statusOf(code, ""), message }, code));
    assert.deepEqual(await dryRun(kube, "team", record(), {}), { kind: "unproven" });
  });
}

for (const quoted of ["denied the request", "denied request", "does not support dry run"]) {
  test(`words of the SidecarSet are no denial: ${quoted}`, async (t) => {
    const message = `Pod "x" is invalid: spec.containers[0].ports[0].name: Invalid value: "${quoted}": must match`;
    const { kube } = await cannedServer(t, answers({ ...statusOf(422, "Invalid"), message }, 422));
    assert.match(wordsIn(await dryRun(kube, "team", record(), {})), /Invalid value/);
  });
}

test("nor does a webhook that cannot do dry runs", async (t) => {
  const message = 'admission webhook "old.example.com" does not support dry run';
  const { kube } = await cannedServer(t, answers({ ...statusOf(400, "BadRequest"), message }, 400));
  assert.deepEqual(await dryRun(kube, "team", record(), {}), { kind: "unproven" });
});

test("without an answer the question is open", async (t) => {
  const { kube } = await cannedServer(t, () => {});
  await assert.rejects(dryRun(kube, "team", record(), { signal: AbortSignal.timeout(50) }));
});
