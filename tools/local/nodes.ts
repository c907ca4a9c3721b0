import { setTimeout as sleep } from "node:timers/promises";
import { askJson, type Identity } from "./http.ts";

interface Node {
  readonly metadata: { readonly resourceVersion: string };
  readonly spec: { readonly taints?: readonly { readonly key: string }[] };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

const notReady = "node.kubernetes.io/not-ready";

/** Registers nodes for kwok to play and resolves when all are ready to take Pods. */
export async function addNodes(
  plane: { readonly server: string; readonly admin: Identity },
  count: number,
  { signal }: { readonly signal?: AbortSignal | undefined },
): Promise<void> {
  const names = Array.from({ length: count }, (_, index) => `node-${index + 1}`);
  await Promise.all(names.map((name) => addNode(`${plane.server}/api/v1/nodes`, plane.admin, name, signal)));
}

async function addNode(url: string, admin: Identity, name: string, signal: AbortSignal | undefined): Promise<void> {
  const node = {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels: { "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", type: "kwok" } },
  };
  await askJson(url, admin, { method: "POST", body: node, signal });
  // The taint is put on by the API server; taking it off when a node gets ready is the work of the node lifecycle controller, which would
  // also mark nodes dead that merely heartbeat slowly.
  const untaint = { spec: { taints: [] } };
  const contentType = "application/merge-patch+json";
  await askJson(`${url}/${name}`, admin, { method: "PATCH", body: untaint, contentType, signal });
  while (!isReady(await askJson<Node>(`${url}/${name}`, admin, { signal }))) await sleep(50, undefined, { signal });
}

function isReady({ spec, status }: Node): boolean {
  const isTainted = spec.taints?.some((taint) => taint.key === notReady) ?? false;
  return !isTainted && (status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false);
}
