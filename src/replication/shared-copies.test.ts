import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type Secret, secrets } from "../api/objects.ts";
import { createLog } from "../kube/log.ts";
import type { Owner } from "../ownership/holder.ts";
import { testNamespaces, uniqueName } from "../testing/cluster.ts";
import { createSecret, deleteSecret, getSecret, theSecret } from "../testing/secrets.ts";
import { type Ensuring, ensureCopies } from "./ensure.ts";
import { releaseCopy } from "./release.ts";
import { type Copying, openReplication } from "./replication.ts";
import { readSource } from "./source.ts";
import { CopyWriter, noCache } from "./writes.ts";

/** Two sources in one namespace, and an installation whose cache of copies has seen nothing yet. */
async function scene(t: TestContext) {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  const log = createLog({ level: "error", format: "text" });
  const replication = await openReplication({ kube, namespace: vault, log });
  t.after(() => replication[Symbol.asyncDispose]());
  replication.namespaces.start();
  await replication.namespaces.synced();
  await createSecret(kube, `${vault}/one`, { a: "1" });
  await createSecret(kube, `${vault}/other`, { a: "2" });

  const owner: Owner = { uid: uniqueName("installation"), title: "Installation", isInstallation: true };
  const writer = new CopyWriter({ kube, copies: noCache, feature: "test", asker: owner.uid });
  const copying: Copying = { ...replication, kube, writer };
  const target = { namespace: team, name: "copy" };
  const copyOf = async (name: string, more: Partial<Ensuring> = {}) => {
    const source = { namespace: vault, name };
    const content = (await readSource(kube, source, replication.fingerprint, {}))!;
    const desired = { source, content, claim: { owner, onCollision: "refuse" as const }, isAlive: () => true };
    const ensuring = { ...copying, source: content, desired, isOwnerStaying: async () => true, ...more };
    return ensureCopies([target], ensuring);
  };
  return { kube, owner, copying, target, copyOf, vault, place: `${team}/copy` };
}

test("the copy of another source is left alone, though the cache does not know of it", async (t) => {
  const { kube, copyOf, target, vault, place } = await scene(t);
  assert.deepEqual(await copyOf("one"), [{ target, kind: "current", isWritten: true }]);
  const made = await theSecret(kube, place);
  const holder = `the copy of ${vault}/one`;
  assert.deepEqual(await copyOf("other"), [{ target, kind: "collision", holder }]);
  assert.deepEqual(await theSecret(kube, place), made);
  assert.deepEqual(await copyOf("one"), [{ target, kind: "current", isWritten: false }]);
});

test("an unwanted copy is deleted, but not another one that has come under its name", async (t) => {
  const { kube, owner, copying, copyOf, place } = await scene(t);
  await copyOf("one");
  const seen = await theSecret(kube, place);
  await deleteSecret(kube, place);
  await copyOf("one");
  const again = await theSecret(kube, place);
  assert.equal(await releaseCopy(seen, owner, copying), "leave");
  assert.deepEqual(await theSecret(kube, place), again);

  const touched = await kube.patch<Secret>(secrets, again.metadata, {
    type: "merge",
    body: { metadata: { labels: { backup: "yes" } } },
  });
  assert.notEqual(touched.metadata.resourceVersion, again.metadata.resourceVersion);
  assert.equal(await releaseCopy(again, owner, copying), "delete");
  assert.equal(await getSecret(kube, place), undefined);
});

test("a place that was taken last time is looked at, whatever the cache still says", async (t) => {
  const { kube, copying, copyOf, target, place } = await scene(t);
  await copyOf("other");
  copying.copies.absorb(await theSecret(kube, place));
  await deleteSecret(kube, place);
  assert.equal((await copyOf("one"))[0]?.kind, "collision");
  assert.deepEqual(await copyOf("one", { looksFirst: () => true }), [{ target, kind: "current", isWritten: true }]);
});
