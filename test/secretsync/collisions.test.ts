import assert from "node:assert/strict";
import { test } from "node:test";
import { controllerOf, type OwnerReference } from "../../src/api/objects.ts";
import type { Kube } from "../../src/kube/client.ts";
import { testNamespaces } from "../../src/testing/cluster.ts";
import { bothStrategies, collisionAnnotation, configMaps, secretSyncs } from "../../src/testing/objects.ts";
import { createSecret, deleteSecret, patchSecret, setValues, theSecret } from "../../src/testing/secrets.ts";
import { changeSync, createdSync, createSync } from "../../src/testing/syncs.ts";
import { untilCondition, untilMetadata, untilSecret, untilSynced } from "../../src/testing/wait.ts";

/** Somebody whose garbage a Secret may be: a ConfigMap that lives as long as the test. */
async function holderIn(
  kube: Kube,
  namespace: string,
  { controller }: { controller: boolean },
): Promise<OwnerReference> {
  const name = controller ? "controller" : "friend";
  const { metadata } = await kube.create(configMaps, { metadata: { namespace, name } });
  return { apiVersion: "v1", kind: "ConfigMap", name, uid: metadata.uid, controller };
}

const foreigners = [
  { what: "an unmanaged Secret", controller: undefined },
  { what: "a Secret with an owner that is no controller", controller: false },
  { what: "a controlled Secret", controller: true },
] as const;

const policies = [
  { collision: undefined, adopts: [] },
  { collision: "Prevent", adopts: [] },
  { collision: "Sometimes", adopts: [] },
  { collision: "", adopts: [] },
  { collision: "IfNoController", adopts: ["an unmanaged Secret", "a Secret with an owner that is no controller"] },
  { collision: "None", adopts: foreigners.map(({ what }) => what) },
] as const;

for (const { collision, adopts } of policies) {
  test(`collision-protection ${collision ?? "not given"}: adopts ${adopts.length} of 3 foreign Secrets`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 2);
    const [vault, team] = namespaces;
    await createSecret(kube, `${vault}/db`, { a: "ours" });
    const there = await Promise.all(
      foreigners.map(async ({ controller, what }, index) => {
        const references = controller === undefined ? [] : [await holderIn(kube, team, { controller })];
        const key = `${team}/foreign-${index}`;
        const before = await createSecret(
          kube,
          key,
          { a: "theirs" },
          { ownerReferences: references, labels: { x: "y" } },
        );
        return { key, before, isAdopted: (adopts as readonly string[]).includes(what) };
      }),
    );
    const to = [...there.map(({ key }) => key), `${team}/free`];
    const sync = await createSync(t, kube, `${vault}/db`, { to, ...(collision !== undefined && { collision }) });

    const foreign = there.filter(({ isAdopted }) => !isAdopted);
    const seen = await untilCondition(kube, sync, "Sync", { reason: foreign.length > 0 ? "Conflict" : "Synced" });
    await untilSecret(kube, `${team}/free`, { a: "ours" });
    const states = seen.status?.targets?.map(({ state }) => state);
    assert.deepEqual(states, [...there.map(({ isAdopted }) => (isAdopted ? "Synced" : "Conflict")), "Synced"]);

    for (const { key, before, isAdopted } of there) {
      const now = await theSecret(kube, key);
      if (!isAdopted) {
        assert.deepEqual(now, before, "a foreign Secret is never touched");
        continue;
      }
      await untilSecret(kube, key, { a: "ours" });
      assert.equal(now.metadata.uid, before.metadata.uid, "same type: adopted in place");
      assert.equal(now.metadata.labels?.x, "y", "labels of others survive");
      assert.equal(controllerOf(now)?.uid, sync.metadata.uid);
      const controllers = now.metadata.ownerReferences?.filter(({ controller }) => controller);
      assert.equal(controllers?.length, 1, "exactly one controller");
    }
  });
}

test("the message names each foreign Secret and its holder", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/db`);
  await createSecret(kube, `${team}/unmanaged`);
  const ownerReferences = [await holderIn(kube, team, { controller: true })];
  await createSecret(kube, `${team}/managed`, {}, { ownerReferences });
  const sync = await createSync(t, kube, `${vault}/db`, { to: [`${team}/unmanaged`, `${team}/managed`] });
  const message = new RegExp(
    `${team}/unmanaged\\b.*an unmanaged Secret.*${team}/managed\\b.*ConfigMap.*controller`,
    "s",
  );
  await untilCondition(kube, sync, "Sync", { status: "False", reason: "Conflict", message });
});

for (const { named, strategy } of bothStrategies) {
  test(`${named}: a destination is taken as soon as the foreign Secret is gone`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 2);
    const [vault, team] = namespaces;
    await createSecret(kube, `${vault}/db`, { a: "ours" });
    await createSecret(kube, `${team}/db`, { a: "theirs" });
    const sync = await createSync(t, kube, `${vault}/db`, { to: [`${team}/db`], strategy });
    await untilCondition(kube, sync, "Sync", { reason: "Conflict", phase: "Pending" });
    await deleteSecret(kube, `${team}/db`);
    await untilSecret(kube, `${team}/db`, { a: "ours" });
    await untilSynced(kube, sync);
  });
}

test("a changed annotation acts at once, in both directions of the policy", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/db`, { a: "ours" });
  await createSecret(kube, `${team}/db`, { a: "theirs" });
  const sync = await createSync(t, kube, `${vault}/db`, { to: [`${team}/db`] });
  await untilCondition(kube, sync, "Sync", { reason: "Conflict" });
  await changeSync(kube, sync, { metadata: { annotations: { [collisionAnnotation]: "IfNoController" } } });
  await untilSecret(kube, `${team}/db`, { a: "ours" });
  const { metadata } = await untilSynced(kube, sync);
  assert.equal(metadata.generation, sync.metadata.generation);

  // What was adopted is ours: a stricter policy gives nothing back.
  await changeSync(kube, sync, { metadata: { annotations: { [collisionAnnotation]: "Prevent" } } });
  await setValues(kube, `${vault}/db`, { a: "newer" });
  await untilSecret(kube, `${team}/db`, { a: "newer" });
});

const replaced = [
  { what: "of another type", options: { type: "example.com/other" } },
  { what: "that is immutable", options: { immutable: true } },
];
for (const { what, options } of replaced) {
  for (const collision of ["IfNoController", "None"]) {
    test(`${collision}: a foreign Secret ${what} is deleted and created again`, async (t) => {
      const { kube, namespaces } = await testNamespaces(t, 2);
      const [vault, team] = namespaces;
      await createSecret(kube, `${vault}/db`, { a: "ours" });
      const before = await createSecret(kube, `${team}/db`, { a: "theirs" }, options);
      const sync = await createdSync(t, kube, `${vault}/db`, { to: [`${team}/db`], collision });
      const now = await untilSecret(kube, `${team}/db`, { a: "ours" }, { type: "Opaque" });
      assert.notEqual(now.metadata.uid, before.metadata.uid);
      assert.notEqual(now.immutable, true);
      assert.equal(controllerOf(now)?.uid, sync.metadata.uid);
    });
  }
  test(`Prevent: a foreign Secret ${what} is left alone`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 3);
    const [vault, teamA, teamB] = namespaces;
    await createSecret(kube, `${vault}/db`, { a: "ours" });
    const before = await createSecret(kube, `${teamA}/db`, { a: "theirs" }, options);
    const sync = await createSync(t, kube, `${vault}/db`, { to: [`${teamA}/db`, `${teamB}/db`] });
    await untilCondition(kube, sync, "Sync", { reason: "Conflict" });
    await untilSecret(kube, `${teamB}/db`, { a: "ours" });
    assert.deepEqual(await theSecret(kube, `${teamA}/db`), before);
  });
}

for (const collision of ["Prevent", "IfNoController", "None"]) {
  for (const { how, letGo } of [
    { how: "is deleted", letGo: (kube: Kube, name: string) => kube.delete(secretSyncs, { name }) },
    { how: "drops the destination", letGo: dropFirst },
  ]) {
    test(`two SecretSyncs, one destination, ${collision}: the second takes over when the first ${how}`, async (t) => {
      const { kube, namespaces } = await testNamespaces(t, 3);
      const [vault, team, other] = namespaces;
      await createSecret(kube, `${vault}/one`, { a: "one" });
      await createSecret(kube, `${vault}/two`, { a: "two" });
      const first = await createdSync(t, kube, `${vault}/one`, { to: [`${team}/db`, `${other}/one`] });
      const second = await createSync(t, kube, `${vault}/two`, { to: [`${team}/db`, `${other}/two`], collision });
      const message = new RegExp(`${team}/db\\b.*SecretSync.*${first.metadata.name}`);
      await untilCondition(kube, second, "Sync", { status: "False", reason: "Conflict", message });

      // Both are woken by their sources, and the copy stays the first one's.
      await setValues(kube, `${vault}/two`, { a: "two again" });
      await untilSecret(kube, `${other}/two`, { a: "two again" });
      await setValues(kube, `${vault}/one`, { a: "one again" });
      await untilSecret(kube, `${other}/one`, { a: "one again" });
      const held = await untilSecret(kube, `${team}/db`, { a: "one again" });
      assert.equal(controllerOf(held)?.uid, first.metadata.uid);

      await letGo(kube, first.metadata.name);
      const taken = await untilSecret(kube, `${team}/db`, { a: "two again" });
      assert.equal(controllerOf(taken)?.uid, second.metadata.uid);
      await untilSynced(kube, second);
    });
  }
}

test("None: what a living SecretSync holds is not adopted, even while it lacks its marks", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 3);
  const [vault, team, other] = namespaces;
  await createSecret(kube, `${vault}/one`, { a: "one" });
  await createSecret(kube, `${vault}/two`, { a: "two" });
  const first = await createdSync(t, kube, `${vault}/one`, { to: [`${team}/db`] });
  const second = await createSync(t, kube, `${vault}/two`, { to: [`${team}/db`, `${other}/two`], collision: "None" });
  await untilCondition(kube, second, "Sync", { reason: "Conflict" });
  // Paused, so that the first does not put them back before the second looks.
  const paused = await changeSync(kube, first, { spec: { paused: true } });
  await untilCondition(kube, paused, "Paused", { status: "True" });
  const { labels = {}, annotations = {} } = (await theSecret(kube, `${team}/db`)).metadata;
  const none = (map: object) => Object.fromEntries(Object.keys(map).map((key) => [key, null]));
  await patchSecret(kube, `${team}/db`, { metadata: { labels: none(labels), annotations: none(annotations) } });

  await setValues(kube, `${vault}/two`, { a: "two again" });
  await untilSecret(kube, `${other}/two`, { a: "two again" });
  assert.equal(controllerOf(await theSecret(kube, `${team}/db`))?.uid, first.metadata.uid);
  await untilSynced(kube, await changeSync(kube, paused, { spec: { paused: false } }));
});

async function dropFirst(kube: Kube, name: string): Promise<unknown> {
  const patch = [{ op: "remove", path: "/spec/dest/0" } as const];
  return kube.patch(secretSyncs, { name }, { type: "json", body: patch });
}

test("a policy that is none is reported in the message even when all is well", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/db`);
  const sync = await createSync(t, kube, `${vault}/db`, { to: [`${team}/db`], collision: "Sometimes" });
  await untilCondition(kube, sync, "Sync", { status: "True", message: /^1 copy of .* is up to date.*Sometimes/s });
  await changeSync(kube, sync, { metadata: { annotations: { [collisionAnnotation]: null } } });
  await untilCondition(kube, sync, "Sync", { status: "True", message: `1 copy of ${vault}/db is up to date` });
  await untilMetadata(kube, `${team}/db`, "is still ours", (copy) => controllerOf(copy)?.uid === sync.metadata.uid);
});

test("two SecretSyncs created at the same moment for the same places: each place has one owner, the other waits", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  const to = ["a", "b", "c", "d"].map((name) => `${team}/${name}`);
  const rivals = await Promise.all(
    ["one", "two"].map(async (value) => {
      await createSecret(kube, `${vault}/${value}`, { value });
      return { value, sync: await createSync(t, kube, `${vault}/${value}`, { to, collision: "None" }) };
    }),
  );
  const seen = await Promise.all(
    rivals.map(({ sync }) => untilCondition(kube, sync, "Sync", { reason: /^(Synced|Conflict)$/ })),
  );
  const owners = await Promise.all(to.map(async (key) => controllerOf(await theSecret(kube, key))?.uid));
  for (const [index, { value, sync }] of rivals.entries()) {
    const states = owners.map((uid) => (uid === sync.metadata.uid ? "Synced" : "Conflict"));
    assert.deepEqual(
      seen[index]?.status?.targets?.map(({ state }) => state),
      states,
    );
    await setValues(kube, `${vault}/${value}`, { more: "1" });
  }
  for (const [index, key] of to.entries()) {
    const { value = "" } = rivals.find(({ sync }) => sync.metadata.uid === owners[index]) ?? {};
    const copy = await untilSecret(kube, key, { value, more: "1" });
    assert.equal(controllerOf(copy)?.uid, owners[index], "nobody has taken anything from the other");
  }
});
