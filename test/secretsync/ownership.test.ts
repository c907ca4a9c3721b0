import assert from "node:assert/strict";
import { test } from "node:test";
import { testNamespaces } from "../../src/testing/cluster.ts";
import { at, secretSyncs } from "../../src/testing/objects.ts";
import { createSecret, getSecret, theSecret } from "../../src/testing/secrets.ts";
import { changeSync, createdSync, createSync } from "../../src/testing/syncs.ts";
import { untilCondition, untilGone, untilSecret } from "../../src/testing/wait.ts";

test("a SecretSync recreated under the same name does not inherit the copies of the old one", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/db`, { a: "1" });
  const old = await createdSync(t, kube, `${vault}/db`, { to: [`${team}/db`] });
  const { metadata } = await theSecret(kube, `${team}/db`);
  const { name } = old.metadata;
  await kube.delete(secretSyncs, { name });
  await untilGone(kube, secretSyncs, { name });

  // A marker: the operator has heard of its end, and would otherwise still count the Secret as orphaned by it.
  await createdSync(t, kube, `${vault}/db`, { to: [`${team}/marker`] });
  // As a backup would bring it back: every mark is there, but of an owner that no longer lives.
  const { labels = {}, annotations = {} } = metadata;
  await createSecret(kube, `${team}/db`, { a: "1" }, { labels, annotations });
  const before = await theSecret(kube, `${team}/db`);
  const young = await createSync(t, kube, `${vault}/db`, { to: [`${team}/db`], name });
  await untilCondition(kube, young, "Sync", { reason: "Conflict" });
  assert.deepEqual(await theSecret(kube, `${team}/db`), before);
});

test("a user's Secret that carries our marks by copy and paste is foreign and never deleted", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 3);
  const [vault, team, other] = namespaces;
  await createSecret(kube, `${vault}/db`, { a: "1" });
  const sync = await createdSync(t, kube, `${vault}/db`, { to: [`${team}/db`] });
  const { labels = {}, annotations = {}, ownerReferences = [] } = (await theSecret(kube, `${team}/db`)).metadata;
  const pasted = await createSecret(kube, `${team}/pasted`, { a: "user" }, { labels, annotations, ownerReferences });
  const unreferenced = await createSecret(kube, `${team}/unreferenced`, { a: "user" }, { labels, annotations });

  const to = [`${team}/db`, `${team}/pasted`, `${team}/unreferenced`];
  await changeSync(kube, sync, { spec: { dest: to.map(at) } });
  const message = new RegExp(`${team}/pasted\\b.*${team}/unreferenced\\b`, "s");
  await untilCondition(kube, { metadata: { name: sync.metadata.name, generation: 2 } }, "Sync", {
    reason: "Conflict",
    message,
  });
  await changeSync(kube, sync, { spec: { dest: [`${team}/db`, `${other}/marker`].map(at) } });
  await untilSecret(kube, `${other}/marker`, { a: "1" });
  assert.deepEqual(await theSecret(kube, `${team}/pasted`), pasted);

  await kube.delete(secretSyncs, sync.metadata);
  await untilGone(kube, secretSyncs, sync.metadata);
  assert.equal(await getSecret(kube, `${team}/db`), undefined);
  assert.deepEqual(await theSecret(kube, `${team}/unreferenced`), unreferenced);
});
