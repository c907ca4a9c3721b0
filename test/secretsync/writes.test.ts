import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { namespaces as namespaceResource } from "../../src/api/objects.ts";
import type { Kube } from "../../src/kube/client.ts";
import { auditPosition, operatorWrites, type Write } from "../../src/testing/audit.ts";
import { testNamespaces, uniqueName } from "../../src/testing/cluster.ts";
import { at, bothStrategies, encoded, type SecretSync, secretSyncs } from "../../src/testing/objects.ts";
import { createSecret, deleteSecret, patchSecret, setValues } from "../../src/testing/secrets.ts";
import { followProgress } from "../../src/testing/states.ts";
import { changeSync, createdSync, createSync } from "../../src/testing/syncs.ts";
import { untilCondition, untilGone, untilSecret, untilSynced } from "../../src/testing/wait.ts";

/** Counts what the operator writes from now on, in these namespaces or to this SecretSync. */
async function countWrites(t: TestContext, kube: Kube, namespaces: readonly string[], sync: string) {
  const [first = "default"] = namespaces;
  const progress = followProgress(t, kube, sync);
  const from = await auditPosition(kube, first);
  const isOurs = ({ namespace, resource, name }: Write) =>
    namespaces.includes(namespace) || (resource === "secretsyncs" && name === sync);
  return {
    /** Exactly these, in any order, as `verb kind name`. */
    async assert(expected: readonly string[]): Promise<void> {
      const writes = (await operatorWrites(kube, first, { from })).filter(isOurs).map(describe);
      // A slow pass may have reported that it is at work: then the status says nothing about the count.
      const isCounted = (write: string) => !(progress.wasReported() && write === statusWrite);
      assert.deepEqual(writes.filter(isCounted).sort(), expected.filter(isCounted).sort());
    },
  };
}

const statusWrite = "write secretsyncs/status";

/** An update is an update, by whatever verb. */
function describe({ verb, resource, subresource, name }: Write): string {
  const what = ["update", "patch"].includes(verb) ? "write" : verb;
  return resource === "secretsyncs"
    ? `${what} ${resource}${subresource && `/${subresource}`}`
    : `${what} ${resource} ${name}`;
}

test("creating: one write per copy, one label, one status, one for the finalizers", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/db`, { a: "1" });
  const name = uniqueName("sync");
  const writes = await countWrites(t, kube, namespaces, name);
  await createdSync(t, kube, `${vault}/db`, { to: ["x", "y", "z"].map((copy) => `${team}/${copy}`), name });
  const copies = ["create secrets x", "create secrets y", "create secrets z"];
  await writes.assert([...copies, "write secrets db", "write secretsyncs", statusWrite]);
});

test("a changed source: one write per copy, none of the status, none of the source", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/db`, { a: "1" });
  const to = ["x", "y"].map((name) => `${team}/${name}`);
  const sync = await createdSync(t, kube, `${vault}/db`, { to });
  const writes = await countWrites(t, kube, namespaces, sync.metadata.name);
  for (const a of ["2", "3"]) {
    await setValues(kube, `${vault}/db`, { a });
    for (const copy of to) await untilSecret(kube, copy, { a });
  }
  await writes.assert(["write secrets x", "write secrets x", "write secrets y", "write secrets y"]);
});

test("a healed copy and a new destination: one write for each, at most one of the status", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/db`, { a: "1" });
  const sync = await createdSync(t, kube, `${vault}/db`, { to: [`${team}/x`, `${team}/y`] });
  const writes = await countWrites(t, kube, namespaces, sync.metadata.name);
  await patchSecret(kube, `${team}/x`, { data: encoded({ a: "by hand" }) });
  await untilSecret(kube, `${team}/x`, { a: "1" });
  await deleteSecret(kube, `${team}/y`);
  await untilSecret(kube, `${team}/y`, { a: "1" });
  const dest = ["x", "y", "z"].map((name) => at(`${team}/${name}`));
  await untilSynced(kube, await changeSync(kube, sync, { spec: { dest } }));
  // Two healings that succeed change no status, the new destination does.
  await writes.assert(["write secrets x", "create secrets y", "create secrets z", statusWrite]);
});

test("a removed destination: one deletion and one status; deleting: no more than it takes", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/db`, { a: "1" });
  const sync = await createdSync(t, kube, `${vault}/db`, { to: [`${team}/x`, `${team}/y`] });
  const removing = await countWrites(t, kube, namespaces, sync.metadata.name);
  await untilSynced(kube, await changeSync(kube, sync, { spec: { dest: [at(`${team}/x`)] } }));
  await removing.assert(["delete secrets y", statusWrite]);
  const deleting = await countWrites(t, kube, namespaces, sync.metadata.name);
  await kube.delete(secretSyncs, sync.metadata);
  await untilGone(kube, secretSyncs, sync.metadata);
  await deleting.assert(["delete secrets x", "write secrets db", "write secretsyncs"]);
});

const wakers: readonly {
  name: string;
  wake: (kube: Kube, names: { vault: string; team: string; sync: string }) => Promise<unknown>;
}[] = [
  { name: "an annotation on the source", wake: (kube, { vault }) => touch(kube, `${vault}/db`) },
  { name: "an annotation on a copy", wake: (kube, { team }) => touch(kube, `${team}/x`) },
  {
    name: "a label on the namespace",
    wake: (kube, { team }) =>
      kube.patch(
        namespaceResource,
        { name: team },
        { type: "merge", body: { metadata: { labels: { touched: "yes" } } } },
      ),
  },
  {
    name: "an annotation on the SecretSync",
    wake: (kube, { sync }) =>
      changeSync(kube, { metadata: { name: sync } } as SecretSync, { metadata: { annotations: { touched: "yes" } } }),
  },
];
const touch = (kube: Kube, key: string) => patchSecret(kube, key, { metadata: { annotations: { touched: "yes" } } });

for (const { named, strategy } of bothStrategies) {
  for (const { name, wake } of wakers) {
    test(`${named}: nothing is written when nothing has changed, whatever wakes a pass: ${name}`, async (t) => {
      const { kube, namespaces } = await testNamespaces(t, 2);
      const [vault, team] = namespaces;
      await createSecret(kube, `${vault}/db`, { a: "1" });
      const sync = await createdSync(t, kube, `${vault}/db`, { to: [`${team}/x`, `${team}/y`], strategy });
      const writes = await countWrites(t, kube, namespaces, sync.metadata.name);
      await wake(kube, { vault, team, sync: sync.metadata.name });
      // The marker: a copy that has to be healed by a later pass, by one write.
      await deleteSecret(kube, `${team}/y`);
      await untilSecret(kube, `${team}/y`, { a: "1" });
      await writes.assert(["create secrets y"]);
    });
  }

  test(`${named}: a conflict that stays is written once`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 2);
    const [vault, team] = namespaces;
    await createSecret(kube, `${vault}/db`, { a: "1" });
    await createSecret(kube, `${team}/taken`);
    const sync = await createSync(t, kube, `${vault}/db`, { to: [`${team}/x`, `${team}/taken`], strategy });
    await untilCondition(kube, sync, "Sync", { reason: "Conflict" });
    const writes = await countWrites(t, kube, namespaces, sync.metadata.name);
    for (let pass = 0; pass < 3; pass++) {
      await deleteSecret(kube, `${team}/x`);
      await untilSecret(kube, `${team}/x`, { a: "1" });
    }
    await writes.assert(["create secrets x", "create secrets x", "create secrets x"]);
  });
}
