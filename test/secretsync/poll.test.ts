import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { secrets } from "../../src/api/objects.ts";
import { testNamespaces } from "../../src/testing/cluster.ts";
import { encoded, frequentPoll, secretSyncs } from "../../src/testing/objects.ts";
import { createSecret, deleteSecret, patchSecret, theSecret } from "../../src/testing/secrets.ts";
import { createdSync, createSync } from "../../src/testing/syncs.ts";
import { until, untilCondition, untilGone, untilSecret, untilSynced } from "../../src/testing/wait.ts";

// Side by side: each waits for a timer of ten seconds.
describe("poll", { concurrency: true }, () => {
  test("changes of the source arrive without any other trigger; the source is never written", async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 3);
    const [vault, teamA, teamB] = namespaces;
    await createSecret(kube, `${vault}/db`, { a: "1", b: "2" });
    const to = [`${teamA}/db`, `${teamB}/db`];
    const sync = await createdSync(t, kube, `${vault}/db`, { to, strategy: frequentPoll });
    const changed = await patchSecret(kube, `${vault}/db`, { data: { b: null, ...encoded({ a: "changed" }) } });
    for (const copy of to) await untilSecret(kube, copy, { a: "changed" });
    const again = await patchSecret(kube, `${vault}/db`, { data: encoded({ c: "3" }) });
    for (const copy of to) await untilSecret(kube, copy, { a: "changed", c: "3" });

    assert.notEqual(changed.metadata.resourceVersion, again.metadata.resourceVersion);
    const source = await theSecret(kube, `${vault}/db`);
    assert.equal(source.metadata.resourceVersion, again.metadata.resourceVersion);
    assert.equal(source.metadata.labels, undefined);
    await kube.delete(secretSyncs, sync.metadata);
    await untilGone(kube, secretSyncs, sync.metadata);
    assert.deepEqual(await theSecret(kube, `${vault}/db`), source);
  });

  test("a source that appears is copied at the next interval, one that goes is reported", async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 2);
    const [vault, team] = namespaces;
    const sync = await createSync(t, kube, `${vault}/db`, { to: [`${team}/db`], strategy: frequentPoll });
    await untilCondition(kube, sync, "Sync", { reason: "SourceNotFound", phase: "Pending" });
    await createSecret(kube, `${vault}/db`, { a: "1" });
    const copy = await untilSecret(kube, `${team}/db`, { a: "1" });
    await untilSynced(kube, sync);
    await deleteSecret(kube, `${vault}/db`);
    await untilCondition(kube, sync, "Sync", { reason: "SourceNotFound", phase: "Degraded" });
    assert.deepEqual(await theSecret(kube, `${team}/db`), copy, "copies are kept as they are");
  });

  test("a source recreated with another type is noticed: copies are created again", async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 2);
    const [vault, team] = namespaces;
    await createSecret(kube, `${vault}/db`, { a: "1" });
    await createdSync(t, kube, `${vault}/db`, { to: [`${team}/db`], strategy: frequentPoll });
    await deleteSecret(kube, `${vault}/db`);
    await createSecret(kube, `${vault}/db`, { a: "1" }, { type: "example.com/other" });
    await untilSecret(kube, `${team}/db`, { a: "1" }, { type: "example.com/other" });
  });

  test("drift wakes a full pass: it brings what has changed at the source meanwhile", async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 2);
    const [vault, team] = namespaces;
    await createSecret(kube, `${vault}/db`, { a: "1" });
    await createdSync(t, kube, `${vault}/db`, { to: [`${team}/db`], strategy: { poll: { interval: "24h" } } });
    await patchSecret(kube, `${vault}/db`, { data: encoded({ a: "2" }) });
    await deleteSecret(kube, `${team}/db`);
    await until(kube, secrets, { namespace: team, name: "db" }, "is back", (copy) => copy !== undefined);
    await untilSecret(kube, `${team}/db`, { a: "2" });
  });
});
