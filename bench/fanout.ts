import { secrets } from "../src/api/objects.ts";
import { maxFanOutWrites } from "../src/kube/limiter.ts";
import { createNamespaces, openArena } from "./lib/arena.ts";
import { BareClient, metadataOnly } from "./lib/bare.ts";
import { Contents } from "./lib/contents.ts";
import { inParallel } from "./lib/parallel.ts";
import { type Report, round } from "./lib/report.ts";
import { median } from "./lib/stats.ts";
import { changeSource, createSource, createSyncs, encodedMark } from "./lib/syncs.ts";

const count = 1000;
const rounds = 5;

/** One source to 1,000 namespaces, against a bare client that makes the same writes with as many in flight. */
export async function fanout(signal: AbortSignal): Promise<Report> {
  await using arena = await openArena(signal);
  const { kube, plane } = arena;
  const namespaces = await createNamespaces(kube, count);
  await using operator = await arena.startOperator();
  await using bare = new BareClient(plane, maxFanOutWrites);
  await using copies = new Contents(kube, "latchkey.dev/owner-uid");
  await using twins = new Contents(kube, "bench=bare");
  await Promise.all([copies.synced(), twins.synced()]);

  const source = { namespace: "default", name: "source" };
  const ours = { create: [] as number[], update: [] as number[] };
  const theirs = { create: [] as number[], update: [] as number[] };

  const bareRound = async (mark: string, kind: "create" | "update") => {
    const all = twins.untilAll(count, encodedMark(mark));
    const from = performance.now();
    await inParallel(namespaces, maxFanOutWrites, (namespace) =>
      kind === "create"
        ? bare.send("POST", pathOf(namespace), twinOf(namespace, mark), metadataOnly)
        : bare.send("PATCH", `${pathOf(namespace)}/bare`, patchOf(mark), metadataOnly),
    );
    theirs[kind].push((await all) - from);
  };
  const ourRound = async (mark: string, kind: "create" | "update") => {
    const all = copies.untilAll(count, encodedMark(mark));
    const from = performance.now();
    if (kind === "create") {
      await createSource(kube, source, mark);
    } else {
      await changeSource(kube, source, mark);
    }
    ours[kind].push((await all) - from);
    copies.check(count, encodedMark(mark));
  };

  const places = namespaces.map((namespace) => ({ namespace, name: "copy" }));
  const syncs = await createSyncs(kube, "fanout", source, places);
  await bareRound("r0", "create");
  await ourRound("r0", "create");
  for (let round = 1; round <= rounds; round++) {
    const order = round % 2 === 0 ? [ourRound, bareRound] : [bareRound, ourRound];
    for (const run of order) await run(`r${round}`, "update");
  }
  if (operator.ending) throw new Error("void: the operator ended");

  const row = (what: string, kind: "create" | "update") => {
    const [mine, limit] = [median(ours[kind]), median(theirs[kind])];
    return { what, "Latchkey s": round(mine / 1000), "bare client s": round(limit / 1000), ratio: round(mine / limit) };
  };
  const rows = [row("first copies (1 round)", "create"), row(`changed source (median of ${rounds})`, "update")];
  return {
    name: "fanout",
    what: `One ${secrets.kind} of 1 KiB to ${count} namespaces by ${syncs} SecretSyncs, ${maxFanOutWrites} writes in flight`,
    rows,
    targets: rows.map(({ what, ratio }) => ({ promise: `${what}: ratio`, measured: Number(ratio), atMost: 1.25 })),
  };
}

const pathOf = (namespace: string) => `/api/v1/namespaces/${namespace}/secrets`;
const twinOf = (namespace: string, mark: string) => ({
  metadata: { namespace, name: "bare", labels: { bench: "bare" } },
  data: { value: encodedMark(mark) },
});
const patchOf = (mark: string) => [{ op: "add", path: "/data", value: { value: encodedMark(mark) } }];
