import assert from "node:assert/strict";
import { test } from "node:test";
import { controllerOf, type Secret, secrets } from "../../src/api/objects.ts";
import { testNamespaces } from "../../src/testing/cluster.ts";
import { bothStrategies, encoded, secret } from "../../src/testing/objects.ts";
import { createSecret, deleteSecret, patchSecret, theSecret } from "../../src/testing/secrets.ts";
import { createdSync } from "../../src/testing/syncs.ts";
import { untilCondition, untilMetadata, untilSecret, untilSynced } from "../../src/testing/wait.ts";

const values = { a: "1", b: "2" };

const edits = [
  { name: "a changed value", body: { data: encoded({ a: "by hand" }) } },
  { name: "an added key", body: { data: encoded({ c: "by hand" }) } },
  { name: "a removed key", body: { data: { a: null } } },
  { name: "all data removed", body: { data: null } },
  {
    name: "an edit that also clears who manages what",
    body: { metadata: { managedFields: [{}] }, data: encoded({ a: "by hand" }) },
  },
  { name: "changed and made immutable", body: { data: encoded({ a: "by hand" }), immutable: true } },
];

for (const { named, strategy } of bothStrategies) {
  test(`${named}: copies edited or deleted by hand are restored at once`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 2);
    const [vault, team] = namespaces;
    await createSecret(kube, `${vault}/db`, values);
    const to = [...edits.map((_, index) => `${team}/edited-${index}`), `${team}/deleted`];
    const sync = await createdSync(t, kube, `${vault}/db`, { to, strategy });

    for (const [index, { body }] of edits.entries()) await patchSecret(kube, `${team}/edited-${index}`, body);
    const { uid } = (await theSecret(kube, `${team}/deleted`)).metadata;
    await deleteSecret(kube, `${team}/deleted`);
    for (const copy of to) {
      const healed = await untilSecret(kube, copy, values, { type: "Opaque" });
      assert.equal(controllerOf(healed)?.uid, sync.metadata.uid);
    }
    assert.notEqual((await theSecret(kube, `${team}/deleted`)).metadata.uid, uid);
    await untilSynced(kube, sync);
  });
}

test("labels and annotations that others add to a copy survive", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/db`, values);
  await createdSync(t, kube, `${vault}/db`, { to: [`${team}/db`] });
  const metadata = { labels: { backup: "yes" }, annotations: { "example.com/note": "kept" } };
  await patchSecret(kube, `${team}/db`, { metadata });

  await patchSecret(kube, `${vault}/db`, { data: encoded({ a: "changed" }) });
  await untilSecret(kube, `${team}/db`, { ...values, a: "changed" });
  await patchSecret(kube, `${team}/db`, { data: encoded({ a: "by hand" }) });
  const healed = await untilSecret(kube, `${team}/db`, { ...values, a: "changed" });
  assert.equal(healed.metadata.labels?.backup, "yes");
  assert.equal(healed.metadata.annotations?.["example.com/note"], "kept");
});

/** `null` for each key, which removes it by a merge patch. */
const without = (map: Readonly<Record<string, string>> = {}) =>
  Object.fromEntries(Object.keys(map).map((key) => [key, null]));

const losses = [
  { name: "labels", body: ({ metadata }: Secret) => ({ labels: without(metadata.labels) }) },
  { name: "annotations", body: ({ metadata }: Secret) => ({ annotations: without(metadata.annotations) }) },
  {
    name: "labels and annotations",
    body: ({ metadata }: Secret) => ({ labels: without(metadata.labels), annotations: without(metadata.annotations) }),
  },
  { name: "value of the owner label", body: () => ({ labels: { "latchkey.dev/owner-uid": "somebody-else" } }) },
];

for (const { named, strategy } of bothStrategies) {
  for (const { name, body } of losses) {
    test(`${named}: a copy with our reference that lost its ${name} gets them back`, async (t) => {
      const { kube, namespaces } = await testNamespaces(t, 2);
      const [vault, team] = namespaces;
      await createSecret(kube, `${vault}/db`, values);
      await createdSync(t, kube, `${vault}/db`, { to: [`${team}/db`], strategy });
      const before = await theSecret(kube, `${team}/db`);
      await patchSecret(kube, `${team}/db`, { metadata: body(before) });
      const { metadata } = await untilMetadata(
        kube,
        `${team}/db`,
        "has its marks again",
        (copy) =>
          JSON.stringify(copy.metadata.labels) === JSON.stringify(before.metadata.labels) &&
          JSON.stringify(copy.metadata.annotations) === JSON.stringify(before.metadata.annotations),
      );
      assert.equal(metadata.uid, before.metadata.uid);
    });
  }

  test(`${named}: a copy without any of our marks has been taken over: Conflict, untouched`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 2);
    const [vault, team] = namespaces;
    await createSecret(kube, `${vault}/db`, values);
    const sync = await createdSync(t, kube, `${vault}/db`, { to: [`${team}/db`], strategy });
    const { labels, annotations } = (await theSecret(kube, `${team}/db`)).metadata;
    const taken = await patchSecret(kube, `${team}/db`, {
      metadata: { labels: without(labels), annotations: without(annotations), ownerReferences: null },
      data: encoded({ a: "theirs now" }),
    });
    await untilCondition(kube, sync, "Sync", { reason: "Conflict", phase: "Degraded", message: /an unmanaged Secret/ });
    assert.deepEqual(await theSecret(kube, `${team}/db`), taken);
  });
}

test("a copy deleted and put there by somebody else in one go is foreign", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/db`, values);
  const sync = await createdSync(t, kube, `${vault}/db`, { to: [`${team}/db`] });
  const theirs = await replaceByForeign();
  await untilCondition(kube, sync, "Sync", { reason: "Conflict", phase: "Degraded" });
  assert.deepEqual(await theSecret(kube, `${team}/db`), theirs);

  /** The operator heals at once, so it may be quicker than we are: try until we are first. */
  async function replaceByForeign(): Promise<Secret> {
    for (;;) {
      await deleteSecret(kube, `${team}/db`);
      try {
        return await createSecret(kube, `${team}/db`, { a: "theirs" });
      } catch (error) {
        if (!(error instanceof Error && error.message.includes("already exists"))) throw error;
      }
    }
  }
});

test("somebody who applies the same values beside us is no drift, other values are", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/db`, { a: "1" });
  const sync = await createdSync(t, kube, `${vault}/db`, { to: [`${team}/db`] });
  const apply = (a: string) =>
    kube.apply<Secret>(secrets, secret(`${team}/db`, { a }), { fieldManager: "somebody", force: true });
  const applied = await apply("1");
  await createdSync(t, kube, `${vault}/db`, { to: [`${team}/marker`] });
  assert.equal((await theSecret(kube, `${team}/db`)).metadata.resourceVersion, applied.metadata.resourceVersion);
  await apply("theirs");
  await untilSecret(kube, `${team}/db`, { a: "1" });
  await patchSecret(kube, `${vault}/db`, { data: { a: null, ...encoded({ b: "2" }) } });
  await untilSecret(kube, `${team}/db`, { b: "2" });
  await untilSynced(kube, sync);
});
