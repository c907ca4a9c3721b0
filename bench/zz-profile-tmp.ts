import { setTimeout as sleep } from "node:timers/promises";
import { namespaces as namespaceKind } from "../src/api/objects.ts";
import { createCluster, untilCondition } from "./lib/clusters.ts";
import { Contents } from "./lib/contents.ts";
import { untilIdle } from "./lib/memory.ts";
import { configKey, copyLabel, pullSecretData, withLatchkey } from "./lib/sidecars.ts";
import { openGround, firstMark } from "./namespaces/ground.ts";
const stop = new AbortController();
process.once("SIGINT", () => stop.abort());
await using ground = await openGround(stop.signal);
const { arena, user, spaces } = ground;
await using copies = new Contents(user.kube, copyLabel, configKey);
await copies.synced();
const n = spaces.length;
await withLatchkey(arena, async () => {
  const all = copies.untilAll(16 * n, pullSecretData(firstMark)[configKey]);
  const from = performance.now();
  await createCluster(arena.kube, user, 16);
  console.log("sixteen", (await all) - from);
  await untilCondition(arena.kube, user.name, "Ready", "True");
});
process.env.NODE_OPTIONS = `--cpu-prof --cpu-prof-dir=/tmp/prof/added16`;
await withLatchkey(arena, async (operator) => {
  await untilIdle(operator);
  const value = pullSecretData(firstMark)[configKey];
  const metrics = async () => {
    const text = await (await fetch(`${operator.metricsUrl}/metrics`)).text();
    return new Map(text.split("\n").filter((l) => /^latchkey_(api_requests_total|api_request_seconds_(sum|count)|passes_total|copy_writes)/.test(l)).map((l) => [l.slice(0, l.lastIndexOf(" ")), Number(l.slice(l.lastIndexOf(" ")))]));
  };
  const before = await metrics();
  for (let r = 0; r < 10; r++) {
    const base = copies.count(value);
    const marks = [1, 4, 8, 12, 16].map((k) => copies.untilAll(base + k, value));
    await user.kube.create(namespaceKind, { metadata: { name: `more-${r}` } });
    const from = performance.now();
    console.log("added16", (await Promise.all(marks)).map((t) => Math.round(t - from)).join(" "));
  }
  await sleep(1000);
  const after = await metrics();
  console.log([...after].flatMap(([k, v]) => { const d = v - (before.get(k) ?? 0); return d !== 0 ? [`   ${k} ${d.toFixed(2)}`] : []; }).join("\n"));
});
