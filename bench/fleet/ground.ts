import { type Arena, createNamespaces, openArena } from "../lib/arena.ts";
import { createKubeconfig, openUserCluster, servedNamespaces, type UserCluster } from "../lib/clusters.ts";
import { inParallel } from "../lib/parallel.ts";
import { tellProgress } from "../lib/report.ts";
import { createPullSecret } from "../lib/sidecars.ts";
import { SlowProxy } from "./slow-proxy.ts";

export const count = Number(process.env.BENCH_CLUSTERS ?? 10);
export const namespacesEach = 20;
export const firstMark = "before";

/** One of the fleet, with its namespaces. */
export interface Member extends UserCluster {
  /** All that are to be served, those of the user cluster itself included. */
  readonly spaces: readonly string[];
}

/** A home with one source, and user clusters that no Cluster leads to yet. */
export interface Ground extends AsyncDisposable {
  readonly arena: Arena;
  /** To be stopped. */
  readonly stopped: Member;
  /** To be slow. */
  readonly slow: Member;
  readonly proxy: SlowProxy;
  /** All the others. */
  readonly healthy: readonly Member[];
  readonly all: readonly Member[];
}

export async function openGround(signal: AbortSignal): Promise<Ground> {
  await using opened = new AsyncDisposableStack();
  const arena = opened.use(await openArena(signal, { isShipped: true }));
  await createPullSecret(arena.kube, 0, firstMark);
  const all: Member[] = [];
  // Not all at once: each start takes all that two cores can give.
  await inParallel([...Array(count).keys()], 2, async (at) => {
    const user = opened.use(await openUserCluster(`user-${at}`, { signal }));
    await createNamespaces(user.kube, namespacesEach);
    all.push({ ...user, spaces: await servedNamespaces(user.kube) });
    tellProgress(`user cluster ${all.length} of ${count}`);
  });
  const [stopped, slow, ...healthy] = all;
  if (!stopped || !slow || healthy.length === 0) throw new Error("a fleet needs three clusters or more");
  const proxy = opened.use(new SlowProxy(slow.plane.server));
  await createKubeconfig(arena.kube, slow, await proxy.listen());
  for (const user of [stopped, ...healthy]) await createKubeconfig(arena.kube, user);
  const kept = opened.move();
  return { arena, stopped, slow, proxy, healthy, all, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}
