import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fieldManager } from "../../src/api/marks.ts";
import { type KubeObject, type Resource, type Secret, secrets } from "../../src/api/objects.ts";
import type { Kube } from "../../src/kube/client.ts";
import { removeQuietly, testNamespaces, uniqueName } from "../../src/testing/cluster.ts";
import { at, encoded, secretSyncs } from "../../src/testing/objects.ts";
import { refuseSecrets } from "../../src/testing/refusals.ts";
import { createSecret, setValues, theSecret } from "../../src/testing/secrets.ts";
import { changeSync, createdSync } from "../../src/testing/syncs.ts";
import { untilCondition, untilGone, untilSecret } from "../../src/testing/wait.ts";

test("an edit under our own field manager is restored as well", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/db`, { password: "right" });
  await createdSync(t, kube, `${vault}/db`, { to: [`${team}/db`] });
  const body = { data: encoded({ password: "wrong" }) };
  await kube.patch(secrets, at(`${team}/db`), { type: "merge", body }, { fieldManager });
  await untilSecret(kube, `${team}/db`, { password: "right" });
});

test("a Secret with the marks and the reference of a copy survives the SecretSync", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/db`, { password: "right" });
  const sync = await createdSync(t, kube, `${vault}/db`, { to: [`${team}/db`] });
  const { metadata, data = {} } = await theSecret(kube, `${team}/db`);
  const { labels = {}, annotations = {}, ownerReferences = [] } = metadata;
  const marks = { labels, annotations, ownerReferences };
  await kube.create<Secret>(secrets, { metadata: { namespace: team, name: "pasted", ...marks }, data });

  await kube.delete(secretSyncs, sync.metadata);
  await untilGone(kube, secrets, at(`${team}/db`));
  await untilGone(kube, secretSyncs, sync.metadata);
  const pasted = await theSecret(kube, `${team}/pasted`);
  assert.deepEqual(pasted.metadata.ownerReferences ?? [], [], "the garbage collector has no reason to take it");
});

test("a policy that calls Secrets immutable is obeyed, not outwitted by deleting the copy", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/db`, { password: "first" });
  const sync = await createdSync(t, kube, `${vault}/db`, { to: [`${team}/db`] });
  const { uid } = (await theSecret(kube, `${team}/db`)).metadata;
  await forbidUpdates(t, kube, team, "credentials are immutable");

  await setValues(kube, `${vault}/db`, { password: "second" });
  const message = /credentials are immutable/;
  await untilCondition(kube, sync, "Sync", { status: "False", reason: "DestinationRefused", message });
  assert.equal((await theSecret(kube, `${team}/db`)).metadata.uid, uid);
});

test("a removed destination that cannot be deleted does not stop the others", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 3);
  const [vault, stuck, team] = namespaces;
  await createSecret(kube, `${vault}/db`, { password: "first" });
  const sync = await createdSync(t, kube, `${vault}/db`, { to: [`${stuck}/db`, `${team}/db`] });
  await refuseSecrets(t, kube, [stuck], ({ operation }) => (operation === "UPDATE" ? undefined : "not now"));

  await changeSync(kube, sync, { spec: { dest: [at(`${team}/db`)] } });
  await setValues(kube, `${vault}/db`, { password: "second" });
  await untilSecret(kube, `${team}/db`, { password: "second" });
  await untilCondition(kube, sync, "Sync", { status: "False", reason: "DestinationRefused", message: /not now/ });
});

const admission = (plural: string, kind: string): Resource => ({
  group: "admissionregistration.k8s.io",
  version: "v1",
  plural,
  kind,
  namespaced: false,
});
const policies = admission("validatingadmissionpolicies", "ValidatingAdmissionPolicy");
const bindings = admission("validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding");

type WithSpec = KubeObject & { readonly spec: object };

/** By a policy of somebody else, which says why. Resolves once the API server heeds it. */
async function forbidUpdates(t: TestContext, kube: Kube, namespace: string, message: string): Promise<void> {
  const name = uniqueName("policy");
  const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["UPDATE"], resources: ["secrets"] };
  const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": namespace } };
  t.after(async () => {
    await removeQuietly(() => kube.delete(bindings, { name }));
    await removeQuietly(() => kube.delete(policies, { name }));
  });
  await kube.create<WithSpec>(policies, {
    metadata: { name },
    spec: { matchConstraints: { resourceRules: [rule] }, validations: [{ expression: "false", message }] },
  });
  await kube.create<WithSpec>(bindings, {
    metadata: { name },
    spec: { policyName: name, validationActions: ["Deny"], matchResources: { namespaceSelector } },
  });
  const probe = { namespace, name: "probe" };
  await kube.create(secrets, { metadata: probe });
  for (const deadline = performance.now() + 60_000; performance.now() < deadline; await sleep(100)) {
    const body = { metadata: { labels: { probe: "yes" } } };
    const isAllowed = await kube.patch(secrets, probe, { type: "merge", body }, { dryRun: true }).then(
      () => true,
      () => false,
    );
    if (!isAllowed) return;
  }
  throw new Error("the policy is not heeded");
}
