import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { testNamespaces, uniqueName } from "../../src/testing/cluster.ts";
import { sampleIn, scrape } from "../../src/testing/metrics.ts";
import { createSecret, setValues } from "../../src/testing/secrets.ts";
import { createdSync, createSync } from "../../src/testing/syncs.ts";
import { untilCondition, untilSecret } from "../../src/testing/wait.ts";

/** Other tests move these numbers as well: only what must have come from here is asserted. */
async function untilSample(name: string, labels: Record<string, string>, atLeast: number): Promise<number> {
  for (const deadline = performance.now() + 60_000; ; await sleep(200)) {
    const value = sampleIn(await scrape(), name, labels);
    if (value !== undefined && value >= atLeast) return value;
    if (performance.now() > deadline) throw new Error(`${name} ${JSON.stringify(labels)} is ${value}, not ${atLeast}`);
  }
}

test("targets are counted by state, in the words of the status", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/db`);
  await createSecret(kube, `${team}/taken`);
  const to = [`${team}/x`, `${team}/y`, `${team}/taken`, `${uniqueName("missing")}/db`];
  const sync = await createSync(t, kube, `${vault}/db`, { to });
  await untilCondition(kube, sync, "Sync", { reason: "Conflict" });
  await untilSample("latchkey_secretsync_targets", { state: "Synced" }, 2);
  await untilSample("latchkey_secretsync_targets", { state: "Conflict" }, 1);
  await untilSample("latchkey_secretsync_targets", { state: "NamespaceNotFound" }, 1);
});

test("writes of copies and the time a change takes are counted", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/db`, { a: "1" });
  const feature = "secretsync";
  const before = await scrape();
  await createdSync(t, kube, `${vault}/db`, { to: [`${team}/x`, `${team}/y`] });
  await setValues(kube, `${vault}/db`, { a: "2" });
  await untilSecret(kube, `${team}/x`, { a: "2" });
  await untilSecret(kube, `${team}/y`, { a: "2" });
  const writes = sampleIn(before, "latchkey_copy_writes_total", { feature }) ?? 0;
  await untilSample("latchkey_copy_writes_total", { feature }, writes + 4);
  const propagations = sampleIn(before, "latchkey_propagation_seconds_count", { feature }) ?? 0;
  await untilSample("latchkey_propagation_seconds_count", { feature }, propagations + 1);
  assert.match(
    await scrape(),
    /latchkey_copy_writes_total\{[^}]*verb="[^"]+"[^}]*result="[^"]+"|latchkey_copy_writes_total\{[^}]*result="[^"]+"[^}]*verb="/,
  );
});
