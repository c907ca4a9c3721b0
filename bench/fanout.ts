import { secretSyncs } from "../src/api/kinds.ts";
import { type Namespace, type NamespacedRef, namespaces as namespaceKind, secrets } from "../src/api/objects.ts";
import type { Kube } from "../src/kube/client.ts";
import { maxFanOutWrites } from "../src/kube/limiter.ts";
import { createNamespaces, openArena } from "./lib/arena.ts";
import { BareClient, metadataOnly } from "./lib/bare.ts";
import { Contents } from "./lib/contents.ts";
import { inParallel } from "./lib/parallel.ts";
import { type Report, round } from "./lib/report.ts";
import { median } from "./lib/stats.ts";
import { changeSource, createSource, createSyncs, encodedMark } from "./lib/syncs.ts";
import { twinAnnotations, twinPatch } from "./lib/twins.ts";

const count = 1000;
const rounds = 5;

/** One source to 1,000 namespaces, against a bare client that makes the same writes with as many in flight. */
export async function fanout(signal: AbortSignal): Promise<Report> {
  await using arena = await openArena(signal);
  const { kube, plane } = arena;
  const namespaces = await createNamespaces(kube, count);
  const spaces = (await kube.listMetadata(namespaceKind)).filter(({ metadata }) => namespaces.includes(metadata.name));
  await using operator = await arena.startOperator();
  await using bare = new BareClient(plane, maxFanOutWrites);
  await using copies = new Contents(kube, "latchkey.dev/owner-uid");
  await using twins = new Contents(kube, "bench=bare");
  await Promise.all([copies.synced(), twins.synced()]);

  const source = { namespace: "default", name: "source" };
  const ours = { create: [] as number[], update: [] as number[] };
  const theirs = { create: [] as number[], update: [] as number[] };

  const versions = new Map<string, string>();
  const bareRound = async (mark: string, kind: Kind) => {
    const all = twins.untilAll(count, encodedMark(mark));
    const from = performance.now();
    await inParallel(spaces, maxFanOutWrites, async (space) => {
      const { name } = space.metadata;
      const answer =
        kind === "create"
          ? await bare.send("POST", pathOf(name), twinOf(space, mark), metadataOnly)
          : await bare.send("PATCH", `${pathOf(name)}/bare`, patchTo(mark, versions.get(name) ?? ""), metadataOnly);
      versions.set(name, JSON.parse(answer).metadata.resourceVersion);
    });
    theirs[kind].push((await all) - from);
  };
  const ourRound = async (mark: string, kind: Kind) => {
    const all = copies.untilAll(count, encodedMark(mark));
    const from = performance.now();
    await (kind === "create" ? createSource : changeSource)(kube, source, mark);
    ours[kind].push((await all) - from);
    copies.check(count, encodedMark(mark));
  };
  const bothRounds = async (round: number, kind: Kind) => {
    const order = round % 2 === 0 ? [ourRound, bareRound] : [bareRound, ourRound];
    for (const run of order) await run(`${kind} ${round}`, kind);
  };

  const places = namespaces.map((namespace) => ({ namespace, name: "copy" }));
  const syncs = await createSyncs(kube, "fanout", source, places);
  for (let round = 1; round <= rounds; round++) {
    if (round > 1) {
      await removeAll(kube, syncs, source, namespaces);
      await Promise.all([copies.untilEmpty(), twins.untilEmpty()]);
      await createSyncs(kube, "fanout", source, places);
    }
    await bothRounds(round, "create");
  }
  for (let round = 1; round <= rounds; round++) await bothRounds(round, "update");
  if (operator.ending) throw new Error("void: the operator ended");

  const row = (what: string, kind: Kind) => {
    const [mine, limit] = [median(ours[kind]), median(theirs[kind])];
    return { what, "Latchkey s": round(mine / 1000), "bare client s": round(limit / 1000), ratio: round(mine / limit) };
  };
  const rows = [row("first copies", "create"), row("changed source", "update")];
  return {
    name: "fanout",
    what: `One Secret of 1 KiB to ${count} namespaces by ${syncs} SecretSyncs, ${maxFanOutWrites} writes in flight, medians of ${rounds}`,
    rows,
    targets: rows.map(({ what, ratio }) => ({ promise: `${what}: ratio`, measured: Number(ratio), atMost: 1.25 })),
  };
}

type Kind = "create" | "update";

async function removeAll(
  kube: Kube,
  syncs: number,
  source: NamespacedRef,
  namespaces: readonly string[],
): Promise<void> {
  for (let at = 0; at < syncs; at++) await kube.delete(secretSyncs, { name: `fanout-${at}` });
  await kube.delete(secrets, source);
  await inParallel(namespaces, 32, (namespace) => kube.delete(secrets, { namespace, name: "bare" }));
}

const pathOf = (namespace: string) => `/api/v1/namespaces/${namespace}/secrets`;

/** As large as a copy, and marked as richly: the same work for the API server. */
const twinOf = (namespace: Namespace, mark: string) => ({
  metadata: {
    namespace: namespace.metadata.name,
    name: "bare",
    labels: { bench: "bare", "bench.example.com/owner-uid": namespace.metadata.uid },
    annotations: twinAnnotations(mark),
    ownerReferences: [
      {
        ...{ apiVersion: "v1", kind: "Namespace", name: namespace.metadata.name, uid: namespace.metadata.uid },
        ...{ controller: true, blockOwnerDeletion: true },
      },
    ],
  },
  type: "Opaque",
  data: { value: encodedMark(mark) },
});

const patchTo = (mark: string, resourceVersion: string) =>
  twinPatch({ type: "Opaque", data: { value: encodedMark(mark) } }, mark, resourceVersion);
