import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { fieldManager } from "../../src/api/marks.ts";
import { secrets } from "../../src/api/objects.ts";
import type { Kube } from "../../src/kube/client.ts";
import { createNamespace, testNamespaces, uniqueName } from "../../src/testing/cluster.ts";
import { at, encoded, type SecretSync, secretSync, secretSyncs } from "../../src/testing/objects.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import { createSecret, deleteSecret, getSecret, setValues, theSecret } from "../../src/testing/secrets.ts";
import { changeSync, createdSync, createSync } from "../../src/testing/syncs.ts";
import { untilCondition, untilGone, untilMetadata, untilSecret, untilSynced } from "../../src/testing/wait.ts";

const own = ownPlane();

/** One SecretSync from a source to a copy, both its own. */
interface Scene {
  readonly t: TestContext;
  readonly kube: Kube;
  readonly sync: SecretSync;
  readonly source: string;
  readonly copy: string;
}

interface Story {
  readonly name: string;
  /** Before the SecretSync is created. */
  readonly first?: (scene: Omit<Scene, "sync">) => Promise<unknown>;
  readonly meets?: "Conflict" | "NamespaceNotFound" | "SourceNotFound";
  readonly meanwhile: (scene: Scene) => Promise<unknown>;
  readonly afterwards: (scene: Scene) => Promise<unknown>;
}

const stories: readonly Story[] = [
  {
    name: "a changed source is copied",
    meanwhile: ({ kube, source }) => setValues(kube, source, { v: "2" }),
    afterwards: ({ kube, copy }) => untilSecret(kube, copy, { v: "2" }),
  },
  {
    name: "an edited copy is put right",
    meanwhile: ({ kube, copy }) => setValues(kube, copy, { v: "by hand", more: "by hand" }),
    afterwards: ({ kube, copy }) => untilSecret(kube, copy, { v: "1" }),
  },
  {
    name: "a copy edited under our own name, which its metadata does not tell, is put right",
    meanwhile: ({ kube, copy }) =>
      kube.patch(secrets, at(copy), { type: "merge", body: { data: encoded({ v: "by hand" }) } }, { fieldManager }),
    afterwards: ({ kube, copy }) => untilSecret(kube, copy, { v: "1" }),
  },
  {
    name: "a deleted copy is made again",
    meanwhile: ({ kube, copy }) => deleteSecret(kube, copy),
    afterwards: ({ kube, copy }) => untilSecret(kube, copy, { v: "1" }),
  },
  {
    name: "a deleted SecretSync goes, with its copy and the label of its source",
    meanwhile: async ({ kube, sync, copy }) => {
      await kube.delete(secretSyncs, sync.metadata);
      assert.ok(await kube.get(secretSyncs, sync.metadata), "it waits for the operator");
      await theSecret(kube, copy);
    },
    afterwards: async ({ kube, sync, source, copy }) => {
      await untilGone(kube, secretSyncs, sync.metadata);
      assert.equal(await getSecret(kube, copy), undefined);
      assert.equal((await theSecret(kube, source)).metadata.labels, undefined);
    },
  },
  {
    name: "a SecretSync whose finalizers somebody takes off is gone at once",
    meanwhile: async ({ kube, sync }) => {
      await kube.delete(secretSyncs, sync.metadata);
      const body = { metadata: { finalizers: null } };
      await kube.patch(secretSyncs, sync.metadata, { type: "merge", body });
      await untilGone(kube, secretSyncs, sync.metadata);
    },
    // Its copy is the garbage collector's business, which looks for new kinds twice a minute.
    afterwards: async ({ kube, sync }) => assert.equal(await kube.get(secretSyncs, sync.metadata), undefined),
  },
  {
    name: "a place that a foreign Secret leaves is taken",
    first: ({ kube, copy }) => createSecret(kube, copy, { theirs: "yes" }),
    meets: "Conflict",
    meanwhile: ({ kube, copy }) => deleteSecret(kube, copy),
    afterwards: ({ kube, copy }) => untilSecret(kube, copy, { v: "1" }),
  },
  {
    name: "a place that a foreign Secret takes is left alone",
    meanwhile: async ({ kube, copy }) => {
      await deleteSecret(kube, copy);
      await createSecret(kube, copy, { theirs: "yes" });
    },
    afterwards: async ({ kube, sync, copy }) => {
      await untilCondition(kube, sync, "Sync", { reason: "Conflict" });
      await untilSecret(kube, copy, { theirs: "yes" });
    },
  },
  {
    name: "a namespace that has come is served",
    meets: "NamespaceNotFound",
    meanwhile: ({ t, copy }) => createNamespace(t, at(copy).namespace),
    afterwards: ({ kube, copy }) => untilSecret(kube, copy, { v: "1" }),
  },
  {
    name: "a source that has gone is reported, and its copy is kept",
    meanwhile: ({ kube, source }) => deleteSecret(kube, source),
    afterwards: async ({ kube, sync, copy }) => {
      await untilCondition(kube, sync, "Sync", { reason: "SourceNotFound" });
      await untilSecret(kube, copy, { v: "1" });
    },
  },
  {
    name: "a source that has come is copied",
    first: ({ kube, source }) => deleteSecret(kube, source),
    meets: "SourceNotFound",
    meanwhile: ({ kube, source }) => createSecret(kube, source, { v: "late" }),
    afterwards: ({ kube, copy }) => untilSecret(kube, copy, { v: "late" }),
  },
  {
    name: "a source that was made anew with another type is copied",
    meanwhile: async ({ kube, source }) => {
      await deleteSecret(kube, source);
      await createSecret(kube, source, { v: "new" }, { type: "example.com/other" });
    },
    afterwards: ({ kube, copy }) => untilSecret(kube, copy, { v: "new" }, { type: "example.com/other" }),
  },
  {
    name: "a renamed destination moves",
    meanwhile: ({ kube, sync, copy }) => {
      const { namespace } = at(copy);
      // It adds no namespace, so nobody has to be asked.
      return changeSync(kube, sync, { spec: { dest: [{ namespace, name: `${at(copy).name}-moved` }] } });
    },
    afterwards: async ({ kube, copy }) => {
      await untilSecret(kube, `${copy}-moved`, { v: "1" });
      await untilGone(kube, secrets, at(copy));
    },
  },
  {
    name: "one that was paused leaves everything as it is",
    meanwhile: async ({ kube, sync, source }) => {
      await changeSync(kube, sync, { spec: { paused: true } });
      await setValues(kube, source, { v: "2" });
    },
    afterwards: async ({ kube, sync, copy }) => {
      await untilCondition(kube, sync, "Paused", { status: "True" });
      await untilSecret(kube, copy, { v: "1" });
    },
  },
];

test("what happens while there is no operator", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  const operator = await own.operator();
  const begin = async ({ first, meets }: Story, index: number): Promise<Scene> => {
    const namespace = meets === "NamespaceNotFound" ? uniqueName("late") : team;
    const scene = { t, kube, source: `${vault}/db-${index}`, copy: `${namespace}/db-${index}` };
    await createSecret(kube, scene.source, { v: "1" });
    await first?.(scene);
    const sync = await createSync(t, kube, scene.source, { to: [scene.copy] });
    if (meets) await untilCondition(kube, sync, "Sync", { reason: meets });
    else await untilSynced(kube, sync);
    return { ...scene, sync };
  };
  const scenes = await Promise.all(stories.map(async (story, index) => ({ ...story, ...(await begin(story, index)) })));
  await operator.kill();

  await t.test("SecretSyncs are neither created nor extended: nobody could say whether the writer may", async () => {
    const name = uniqueName("refused");
    const create = kube.create(secretSyncs, secretSync(name, `${vault}/db-0`, { to: [`${team}/refused`] }));
    await assert.rejects(create, /failed calling webhook/);
    assert.equal(await kube.get(secretSyncs, { name }), undefined);
    const body = { spec: { src: { namespace: vault, name: "other" } } };
    const sync = scenes[0]!.sync;
    await assert.rejects(
      kube.patch(secretSyncs, sync.metadata, { type: "merge", body }),
      /failed calling webhook/,
      "another source",
    );
  });

  for (const scene of scenes) await scene.meanwhile(scene);
  const next = await own.operator();
  for (const scene of scenes) await t.test(scene.name, async () => void (await scene.afterwards(scene)));

  await t.test("and it works on", async () => {
    await createSecret(kube, `${vault}/again`, { v: "1" });
    await createdSync(t, kube, `${vault}/again`, { to: [`${team}/again`] });
    await untilMetadata(kube, `${vault}/again`, "is labelled", ({ metadata }) => metadata.labels !== undefined);
    await setValues(kube, `${vault}/again`, { v: "2" });
    await untilSecret(kube, `${team}/again`, { v: "2" });
  });
  await next.stop();
});
