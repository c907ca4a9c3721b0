import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import type { Connection } from "./connection.ts";
import { connectionOf, type Trust } from "./kubeconfig-connection.ts";
import { KubeconfigError, type KubeconfigFile, mergeKubeconfigs, parseKubeconfig } from "./kubeconfig-file.ts";
import { inClusterConnection } from "./service-account.ts";

export type { Connection } from "./connection.ts";
export { KubeconfigError } from "./kubeconfig-file.ts";

export interface Where {
  /** Path given on the command line; comes before everything else. */
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The cluster we are meant to talk to: as told, else the one we run in, else as kubectl would find it. */
export async function loadConnection({ kubeconfig, context, env }: Where): Promise<Connection> {
  if (kubeconfig) return await connectionOfFiles([kubeconfig], context, { mayBeMissing: false });
  // A context is a name in a kubeconfig: whoever gives one does not mean the Pod's own cluster.
  const inCluster = context ? undefined : await inClusterConnection(env);
  if (inCluster) return inCluster;
  const listed = env.KUBECONFIG?.split(delimiter).filter(Boolean) ?? [];
  const paths = listed.length > 0 ? listed : [join(env.HOME ?? homedir(), ".kube", "config")];
  return await connectionOfFiles(paths, context, { mayBeMissing: true });
}

interface KubeconfigData extends Trust {
  readonly context?: string | undefined;
  /** What relative paths are relative to; only of interest with `allowFiles`. */
  readonly dir?: string | undefined;
}

/** A kubeconfig that came as data: whoever wrote it must not reach our files or run programs, unless allowed. */
export async function connectionOfKubeconfig(text: string, options: KubeconfigData): Promise<Connection> {
  return await connectionOf(parseKubeconfig(text, { dir: options.dir ?? "/" }), options.context, options);
}

async function connectionOfFiles(
  paths: readonly string[],
  context: string | undefined,
  { mayBeMissing }: { readonly mayBeMissing: boolean },
): Promise<Connection> {
  const read = await Promise.all(paths.map((path) => readKubeconfig(path, mayBeMissing)));
  const files = read.filter((file) => file !== undefined);
  if (files.length === 0) throw new KubeconfigError(`no kubeconfig found: ${paths.join(", ")} does not exist`);
  return await connectionOf(mergeKubeconfigs(files), context, {
    allowFiles: true,
    allowExec: true,
    allowInsecure: true,
  });
}

async function readKubeconfig(path: string, mayBeMissing: boolean): Promise<KubeconfigFile | undefined> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    if (mayBeMissing && (cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new KubeconfigError(`kubeconfig ${path} cannot be read`, { cause });
  }
  try {
    return parseKubeconfig(text, { dir: dirname(path) });
  } catch (cause) {
    throw new KubeconfigError(`kubeconfig ${path} cannot be used`, { cause });
  }
}
