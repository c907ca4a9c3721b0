import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type KubeObject, keyOf, type Resource, secrets } from "../../src/api/objects.ts";
import { mayDo } from "../../src/kube/access-review.ts";
import type { Kube } from "../../src/kube/client.ts";
import { testNamespaces, uniqueName } from "../../src/testing/cluster.ts";
import { at, rarePoll, secretSyncs, watchStrategy } from "../../src/testing/objects.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import { createSecret, getSecret, setValues } from "../../src/testing/secrets.ts";
import { changeSync, createdSync, createSync } from "../../src/testing/syncs.ts";
import { untilCondition, untilGone, untilSecret, untilSynced } from "../../src/testing/wait.ts";

const rbac = (plural: string, kind: string, namespaced: boolean): Resource => ({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  plural,
  kind,
  namespaced,
});
const [clusterRoles, roles] = [rbac("clusterroles", "ClusterRole", false), rbac("roles", "Role", true)];
const roleBindings = rbac("rolebindings", "RoleBinding", true);
const account = { namespace: "latchkey-system", name: "latchkey" };
const everything = ["get", "create", "patch", "delete"];

type Role = KubeObject & {
  readonly rules: readonly { readonly resources?: readonly string[]; readonly verbs: readonly string[] }[];
};

let kube: Kube;
ownPlane(async (own) => {
  kube = await own.kube;
  await own.operator();
  // From now on it may follow Secrets everywhere, as it must, and read or write them only where told.
  const role = (await kube.get<Role>(clusterRoles, { name: "latchkey" })) as Role;
  const rules = role.rules.map((rule) =>
    rule.resources?.includes("secrets") ? { ...rule, verbs: ["list", "watch"] } : rule,
  );
  await kube.replace<Role>(clusterRoles, { ...role, rules });
  await untilMay("kube-system", everything, false);
});

/** Lets the operator do this with Secrets in a namespace, and nothing else. */
async function allow(namespace: string, verbs: readonly string[]): Promise<void> {
  const name = uniqueName("allowed");
  const rules = [{ apiGroups: [""], resources: ["secrets"], verbs }];
  await kube.create<KubeObject & { rules: unknown }>(roles, { metadata: { namespace, name }, rules });
  await kube.create<KubeObject & { roleRef: unknown; subjects: unknown }>(roleBindings, {
    metadata: { namespace, name },
    roleRef: { apiGroup: roles.group, kind: "Role", name },
    subjects: [{ kind: "ServiceAccount", ...account }],
  });
  await untilMay(namespace, verbs, true);
}

async function untilMay(namespace: string, verbs: readonly string[], isAllowed: boolean): Promise<void> {
  const user = {
    username: `system:serviceaccount:${keyOf(account).replace("/", ":")}`,
    groups: ["system:serviceaccounts"],
  };
  for (const deadline = performance.now() + 60_000; ; await sleep(50)) {
    const answers = await Promise.all(
      verbs.map((verb) => mayDo(kube, user, { verb, group: "", resource: "secrets", namespace })),
    );
    if (answers.every(({ allowed }) => allowed === isAllowed)) return;
    if (performance.now() > deadline) throw new Error(`the rights in ${namespace} do not become what they should be`);
  }
}

for (const [named, strategy] of [
  ["watch", watchStrategy],
  ["poll", rarePoll],
] as const) {
  test(`${named}: a source that may not be read is SourceForbidden and names the verb get`, async (t) => {
    const { namespaces } = await testNamespaces(t, 2);
    const [vault, team] = namespaces;
    await allow(team, everything);
    await createSecret(kube, `${vault}/db`, { a: "1" });
    const sync = await createSync(t, kube, `${vault}/db`, { to: [`${team}/db`], strategy });
    const message = new RegExp(`${vault}/db\\b.*\\bget\\b|\\bget\\b.*${vault}/db\\b`);
    await untilCondition(kube, sync, "Sync", { status: "False", reason: "SourceForbidden", phase: "Pending", message });
    assert.equal(await getSecret(kube, `${team}/db`), undefined);

    await allow(vault, everything);
    await changeSync(kube, sync, { metadata: { annotations: { "look-again": "please" } } });
    await untilSecret(kube, `${team}/db`, { a: "1" });
    await untilSynced(kube, sync);
  });

  test(`${named}: a destination that may not be written is DestinationRefused, the others are served`, async (t) => {
    const { namespaces } = await testNamespaces(t, 4);
    const [vault, team, closed, halfOpen] = namespaces;
    await allow(vault, everything);
    await allow(team, everything);
    await allow(halfOpen, ["get", "create"]);
    await createSecret(kube, `${vault}/db`, { a: "1" });
    const to = [`${closed}/db`, `${halfOpen}/db`, `${team}/db`];
    const sync = await createSync(t, kube, `${vault}/db`, { to, strategy });
    const message = new RegExp(`${closed}/db\\b.*\\bcreate\\b`);
    const seen = await untilCondition(kube, sync, "Sync", { reason: "DestinationRefused", message });
    assert.deepEqual(
      seen.status?.targets?.map(({ state }) => state),
      ["Refused", "Synced", "Synced"],
    );
    await untilSecret(kube, `${team}/db`, { a: "1" });

    // It may create in this one, but not change what it has created.
    await setValues(kube, `${vault}/db`, { a: "2" });
    const touched = await changeSync(kube, sync, { metadata: { annotations: { "look-again": "please" } } });
    await untilSecret(kube, `${team}/db`, { a: "2" });
    await untilCondition(kube, touched, "Sync", {
      reason: "DestinationRefused",
      message: new RegExp(`${halfOpen}/db\\b.*\\bpatch\\b`),
    });

    await allow(closed, everything);
    await allow(halfOpen, everything);
    await changeSync(kube, sync, { metadata: { annotations: { "look-again": "once more" } } });
    for (const copy of to) await untilSecret(kube, copy, { a: "2" });
    await untilSynced(kube, sync);
  });
}

test("a source that may be read but not labelled is SourceForbidden and names the verb patch; poll does not need it", async (t) => {
  const { namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await allow(vault, ["get"]);
  await allow(team, everything);
  await createSecret(kube, `${vault}/db`, { a: "1" });
  const watching = await createSync(t, kube, `${vault}/db`, { to: [`${team}/watched`] });
  const message = new RegExp(`${vault}/db\\b.*\\bpatch\\b|\\bpatch\\b.*${vault}/db\\b`);
  await untilCondition(kube, watching, "Sync", { status: "False", reason: "SourceForbidden", message });
  await createdSync(t, kube, `${vault}/db`, { to: [`${team}/polled`], strategy: rarePoll });
  await allow(vault, everything);
  await changeSync(kube, watching, { metadata: { annotations: { "look-again": "please" } } });
  await untilSynced(kube, watching);
});

test("a copy that may not be deleted holds the SecretSync and says why; the others go", async (t) => {
  const { namespaces } = await testNamespaces(t, 3);
  const [vault, team, keeping] = namespaces;
  await allow(vault, everything);
  await allow(team, everything);
  await allow(keeping, ["get", "create", "patch"]);
  await createSecret(kube, `${vault}/db`, { a: "1" });
  const sync = await createdSync(t, kube, `${vault}/db`, { to: [`${keeping}/db`, `${team}/db`] });
  await kube.delete(secretSyncs, sync.metadata);
  await untilCondition(kube, sync, "Sync", { status: "False", message: /\bdelete\b/ });
  await untilGone(kube, secrets, at(`${team}/db`));
  await allow(keeping, everything);
  await untilGone(kube, secretSyncs, sync.metadata);
  assert.equal(await getSecret(kube, `${keeping}/db`), undefined);
});
