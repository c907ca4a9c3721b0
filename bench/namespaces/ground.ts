import { type Arena, createNamespaces, openArena } from "../lib/arena.ts";
import { createKubeconfig, openUserCluster, servedNamespaces, type UserCluster } from "../lib/clusters.ts";
import { tellProgress } from "../lib/report.ts";
import { createPullSecret } from "../lib/sidecars.ts";

export const count = Number(process.env.BENCH_NAMESPACES ?? 1000);
/** As many as a Cluster may have. */
export const references = 16;
/** What all sources hold at first. */
export const firstMark = "before";

/** A home with sources, and one user cluster with many namespaces that no Cluster leads to yet. */
export interface Ground extends AsyncDisposable {
  readonly arena: Arena;
  readonly user: UserCluster;
  /** All that are to be served, those of the user cluster itself included. */
  readonly spaces: readonly string[];
}

export async function openGround(signal: AbortSignal, { auditLog = false } = {}): Promise<Ground> {
  await using opened = new AsyncDisposableStack();
  const arena = opened.use(await openArena(signal, { isShipped: true, auditLog }));
  const user = opened.use(await openUserCluster("user", { auditLog, signal }));
  tellProgress(`${count} namespaces in the user cluster`);
  await createNamespaces(user.kube, count);
  const spaces = await servedNamespaces(user.kube);
  await createKubeconfig(arena.kube, user);
  for (let at = 0; at < references; at++) await createPullSecret(arena.kube, at, firstMark);
  const kept = opened.move();
  return { arena, user, spaces, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}
