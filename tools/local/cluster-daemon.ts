import { type ClusterSpec, type DaemonMessage, dirOf, lockOf, writeRecord } from "./clusters.ts";
import { startControlPlane } from "./control-plane.ts";
import { lockFile } from "./lock.ts";
import { interruption } from "./signals.ts";

/** The process behind a cluster of `npm run cluster`: holds its lock and its servers until it is told to end. */
async function main(spec: ClusterSpec): Promise<void> {
  using interrupted = interruption();
  const abandoned = new AbortController();
  process.once("disconnect", () => abandoned.abort(new Error("nobody waits for this cluster")));
  const starting = AbortSignal.any([interrupted.signal, abandoned.signal]);

  const dir = dirOf(spec.name, process.env);
  using _ = await lockFile(lockOf(spec.name, process.env), { signal: starting });
  const { nodes, emulatedVersion } = spec;
  const onProgress = (message: string) => tell({ kind: "progress", message });
  await using plane = await startControlPlane({ dir, nodes, emulatedVersion, onProgress, signal: starting });
  writeRecord({ name: spec.name, pid: process.pid, kubeconfig: plane.kubeconfig }, process.env);
  process.removeAllListeners("disconnect");
  tell({ kind: "ready" });

  await new Promise((resolve) => interrupted.signal.addEventListener("abort", resolve));
}

function tell(message: DaemonMessage): void {
  if (process.connected) process.send?.(message);
}

try {
  await main(JSON.parse(process.argv[2] ?? "{}") as ClusterSpec);
} catch (error) {
  tell({ kind: "failed", message: error instanceof Error ? error.message : String(error) });
  process.exitCode = 1;
}
