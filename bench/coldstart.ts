import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { secretSyncs } from "../src/api/kinds.ts";
import { type Secret, secrets } from "../src/api/objects.ts";
import type { SecretSync } from "../src/api/secret-sync.ts";
import type { Kube } from "../src/kube/client.ts";
import { buildProgram } from "../tools/build.ts";
import { choosePorts } from "../tools/local/ports.ts";
import { type Arena, createNamespaces, openArena } from "./lib/arena.ts";
import { BareClient, metadataListOnly, residentMiB } from "./lib/bare.ts";
import { Contents } from "./lib/contents.ts";
import { inParallel } from "./lib/parallel.ts";
import { type Report, round } from "./lib/report.ts";
import { median } from "./lib/stats.ts";
import { createSource, createSyncs, encodedMark } from "./lib/syncs.ts";

const syncs = 1000;
const copies = syncs * 32;
const unrelated = 20_000;
const rounds = 3;

/** A start among 1,000 SecretSyncs × 32 copies that are all in order, and one among 20,000 Secrets of others. */
export async function coldstart(signal: AbortSignal): Promise<Report> {
  await using arena = await openArena(signal, { auditLog: true });
  const { kube, plane } = arena;
  // As it ships, and always at one address: another one would have to be registered.
  using ports = await choosePorts();
  const shipped = {
    bundle: await buildProgram(join(plane.dir, "bundle")),
    args: [`--admission-address=127.0.0.1:${ports.api}`],
  };
  const empty = await memoryAtRest(arena, shipped);
  await createUnrelated(kube);
  const crowded = await memoryAtRest(arena, shipped);

  await prepare(arena, shipped);
  await using bare = new BareClient(plane, 1);
  const ours: number[] = [];
  const theirs: number[] = [];
  let writes = 0;
  for (let at = 0; at < rounds; at++) {
    theirs.push(await timed(() => listCopies(bare)));
    const before = (await arena.writes()).length;
    ours.push(await start(arena, shipped));
    writes += (await arena.writes()).length - before;
  }
  const ratio = median(ours) / median(theirs);
  return {
    name: "coldstart",
    what: `A start with ${syncs} SecretSyncs × 32 copies in order, and among ${unrelated} Secrets of others`,
    rows: [
      {
        "in sync after s": round(median(ours) / 1000),
        "bare metadata list s": round(median(theirs) / 1000),
        ratio: round(ratio),
        writes,
        "MiB, empty cluster": round(empty),
        [`MiB, ${unrelated} Secrets of others`]: round(crowded),
      },
    ],
    targets: [
      { promise: "time, as a ratio to the bare list", measured: ratio, atMost: 2 },
      { promise: "writes", measured: writes, atMost: 0 },
      { promise: "memory among Secrets of others, as a ratio", measured: crowded / empty, atMost: 1.05 },
    ],
  };
}

type Shipped = Parameters<Arena["startOperator"]>[0];

/** The median of a few starts: one alone depends on when the garbage collector last ran. */
async function memoryAtRest(arena: Arena, shipped: Shipped): Promise<number> {
  const values: number[] = [];
  for (let at = 0; at < 5; at++) {
    await using operator = await arena.startOperator(shipped);
    values.push(residentMiB(operator.pid));
  }
  return median(values);
}

async function createUnrelated(kube: Kube): Promise<void> {
  const names = Array.from({ length: unrelated }, (_, at) => `unrelated-${at}`);
  const data = { value: encodedMark("unrelated") };
  await inParallel(names, 32, (name) =>
    kube.create<Secret>(secrets, { metadata: { namespace: "default", name }, data }, { metadataOnly: true }),
  );
}

async function prepare(arena: Arena, shipped: Shipped): Promise<void> {
  const { kube } = arena;
  const namespaces = await createNamespaces(kube, copies / 100);
  await using _operator = await arena.startOperator(shipped);
  await using seen = new Contents(kube, "latchkey.dev/owner-uid");
  await seen.synced();
  const numbers = Array.from({ length: syncs }, (_, at) => at);
  await inParallel(numbers, 8, async (at) => {
    const source = { namespace: "default", name: `source-${at}` };
    const names = namespaces.slice((at % 10) * 32, (at % 10) * 32 + 32);
    await createSource(kube, source, "cold");
    await createSyncs(
      kube,
      `cold-${at}`,
      source,
      names.map((namespace) => ({ namespace, name: `copy-${at}` })),
    );
  });
  await seen.untilAll(copies, encodedMark("cold"));
  seen.check(copies, encodedMark("cold"));
  await untilReported(kube);
}

/** Every SecretSync has its last status: a start after this has nothing to write. */
async function untilReported(kube: Kube): Promise<void> {
  for (;;) {
    const all = await kube.list<SecretSync>(secretSyncs);
    const labelled = await kube.listMetadata(secrets, { labelSelector: "latchkey.dev/source=true" });
    if (all.every(({ status }) => status?.phase === "Synced") && labelled.length === syncs) return;
    await sleep(500);
  }
}

/** From the start of the process until every SecretSync has been looked at. */
async function start(arena: Arena, shipped: Shipped): Promise<number> {
  const from = performance.now();
  await using operator = await arena.startOperator(shipped);
  for (;;) {
    const metrics = await (await fetch(`${operator.metricsUrl}/metrics`)).text();
    const done = /latchkey_passes_total\{controller="secretsync",result="done"\} (\d+)/.exec(metrics)?.[1];
    if (Number(done) >= syncs) return performance.now() - from;
    await sleep(50);
  }
}

async function listCopies(bare: BareClient): Promise<void> {
  let token = "";
  let listed = 0;
  do {
    const query = `limit=500&labelSelector=${encodeURIComponent("latchkey.dev/owner-uid")}&continue=${token}`;
    const page = JSON.parse(await bare.send("GET", `/api/v1/secrets?${query}`, undefined, metadataListOnly));
    listed += (page.items ?? []).length;
    token = encodeURIComponent(page.metadata.continue ?? "");
  } while (token);
  if (listed !== copies) throw new Error(`void: ${listed} copies listed instead of ${copies}`);
}

async function timed(task: () => Promise<void>): Promise<number> {
  const from = performance.now();
  await task();
  return performance.now() - from;
}
