import { fork } from "node:child_process";
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { lockFile, tryLock } from "./lock.ts";
import type { Progress } from "./progress.ts";

/** What the daemon of a cluster is told, by its command line. */
export interface ClusterSpec {
  readonly name: string;
  readonly nodes: number;
  readonly emulatedVersion: string | undefined;
}

/** What the daemon of a cluster says while it starts. */
export type DaemonMessage =
  | { readonly kind: "progress"; readonly message: string }
  | { readonly kind: "ready" }
  | { readonly kind: "failed"; readonly message: string };

export interface RunningCluster {
  readonly name: string;
  readonly pid: number;
  readonly kubeconfig: string;
}

type Env = Readonly<Record<string, string | undefined>>;

export function clustersDir(env: Env): string {
  return join(env.XDG_STATE_HOME || join(homedir(), ".local", "state"), "latchkey", "clusters");
}

export const dirOf = (name: string, env: Env) => join(clustersDir(env), name);
/** Held by the daemon for as long as it lives: the one truth about whether a cluster runs. */
export const lockOf = (name: string, env: Env) => join(clustersDir(env), `${name}.lock`);
/** Held while somebody starts or ends it. */
const startingOf = (name: string, env: Env) => join(clustersDir(env), `${name}.starting`);
const recordOf = (name: string, env: Env) => join(dirOf(name, env), "cluster.json");

export function writeRecord(cluster: RunningCluster, env: Env): void {
  writeFileSync(recordOf(cluster.name, env), JSON.stringify(cluster));
}

export function runningClusters(env: Env): RunningCluster[] {
  mkdirSync(clustersDir(env), { recursive: true });
  return readdirSync(clustersDir(env), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap((entry) => runningCluster(entry.name, env) ?? []);
}

export function runningCluster(name: string, env: Env): RunningCluster | undefined {
  mkdirSync(clustersDir(env), { recursive: true });
  const lock = tryLock(lockOf(name, env));
  lock?.[Symbol.dispose]();
  if (lock) return undefined;
  try {
    return JSON.parse(readFileSync(recordOf(name, env), "utf8")) as RunningCluster;
  } catch {
    return undefined; // it is only just starting
  }
}

/** Returns the cluster of that name, started if it does not run; it stays when we end. */
export async function up(
  spec: ClusterSpec,
  { env, onProgress, signal }: { readonly env: Env; readonly onProgress: Progress; readonly signal: AbortSignal },
): Promise<RunningCluster> {
  mkdirSync(clustersDir(env), { recursive: true });
  const onWait = () => onProgress(`waiting for another start of ${spec.name}`);
  using _ = await lockFile(startingOf(spec.name, env), { signal, onWait });
  const running = runningCluster(spec.name, env);
  if (running) return running;
  rmSync(dirOf(spec.name, env), { recursive: true, force: true });
  mkdirSync(dirOf(spec.name, env), { recursive: true, mode: 0o700 });
  await startDaemon(spec, env, onProgress, signal);
  const started = runningCluster(spec.name, env);
  if (!started) throw new Error(`cluster ${spec.name} ended right after its start`);
  return started;
}

function startDaemon(spec: ClusterSpec, env: Env, onProgress: Progress, signal: AbortSignal): Promise<void> {
  const log = openSync(join(dirOf(spec.name, env), "daemon.log"), "a");
  const daemon = fork(join(import.meta.dirname, "cluster-daemon.ts"), [JSON.stringify(spec)], {
    detached: true,
    cwd: "/",
    env: { ...env },
    stdio: ["ignore", log, log, "ipc"],
  });
  closeSync(log);
  return new Promise<void>((resolve, reject) => {
    const giveUp = () => done(() => reject(signal.reason));
    const done = (settle: () => void) => {
      signal.removeEventListener("abort", giveUp);
      if (daemon.connected) daemon.disconnect(); // before it is ready this is how the daemon learns that nobody waits
      daemon.unref();
      settle();
    };
    signal.addEventListener("abort", giveUp, { once: true });
    daemon.once("error", (error) => done(() => reject(error)));
    daemon.once("exit", () => done(() => reject(new Error(`the daemon of cluster ${spec.name} ended`))));
    daemon.on("message", (message) => {
      const said = message as DaemonMessage;
      if (said.kind === "progress") onProgress(said.message);
      if (said.kind === "ready") done(resolve);
      if (said.kind === "failed") done(() => reject(new Error(said.message)));
    });
  });
}

/** Ends a cluster and removes what it kept; false when there was none. */
export async function down(name: string, env: Env): Promise<boolean> {
  mkdirSync(clustersDir(env), { recursive: true });
  using _starting = await lockFile(startingOf(name, env));
  const cluster = runningCluster(name, env);
  if (cluster) {
    signalDaemon(cluster.pid, "SIGTERM");
    const insisting = setTimeout(() => signalDaemon(cluster.pid, "SIGKILL"), 30_000);
    using _ended = await lockFile(lockOf(name, env));
    clearTimeout(insisting);
  }
  rmSync(dirOf(name, env), { recursive: true, force: true });
  return cluster !== undefined;
}

function signalDaemon(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error; // it has just ended by itself
  }
}
