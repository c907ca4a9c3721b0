import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";

export interface KubectlOptions {
  /** Path of the program. */
  readonly program: string;
  readonly kubeconfig: string;
  /** Where it keeps what it has learnt about the API server; the user's own cache is none of our business. */
  readonly cacheDir: string;
  readonly cwd?: string;
  readonly signal?: AbortSignal | undefined;
}

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs kubectl against one cluster and no other; a failure is an exit code, not an exception. */
export async function runKubectl(args: readonly string[], options: KubectlOptions): Promise<Ran> {
  const { program, kubeconfig, cacheDir, cwd, signal } = options;
  signal?.throwIfAborted();
  const env = { ...process.env, KUBECONFIG: kubeconfig, KUBECACHEDIR: cacheDir };
  const child = spawn(program, [...args], { env, cwd, signal, stdio: ["ignore", "pipe", "pipe"] });
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { code: Number(code), stdout, stderr };
}
