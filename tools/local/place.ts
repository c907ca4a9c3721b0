import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { ensureBinaries } from "./binaries.ts";
import { type ControlPlane, startControlPlane } from "./control-plane.ts";
import { type KubectlOptions, runKubectl } from "./kubectl.ts";
import { source } from "./operator.ts";
import type { Progress } from "./progress.ts";
import { tourNamespaces, tourSidecarSet, tourSyncs } from "./tour/names.ts";
import { userClusterKubeconfig } from "./user-cluster.ts";

/** A cluster to show Latchkey in. Disposing leaves nothing behind of what was shown. */
export interface Place extends AsyncDisposable {
  readonly kubectl: Omit<KubectlOptions, "cwd">;
  readonly operatorLog: string;
  readonly isOurs: boolean;
  /** Another cluster beside it, for Latchkey to serve. */
  readonly user?: UserPlace;
}

interface UserPlace {
  /** Path of its admin's kubeconfig. */
  readonly kubeconfig: string;
  /** Path of the one that Latchkey gets, with the rights of deploy/user-cluster-role.yaml. */
  readonly limitedKubeconfig: string;
}

/** The paths that commands need, by the names under which they are shown. */
export function variablesOf({ kubectl, user }: Place): Readonly<Record<string, string>> {
  return {
    KUBECONFIG: kubectl.kubeconfig,
    ...(user && { USER_CLUSTER: user.kubeconfig, LIMITED_KUBECONFIG: user.limitedKubeconfig }),
  };
}

interface Opening {
  readonly onProgress: Progress;
  readonly signal: AbortSignal;
}

/** Two control planes of our own, which end with us. */
export async function openLocalPlace({ onProgress, signal }: Opening): Promise<Place> {
  const starting = [startControlPlane({ onProgress, signal }), startControlPlane({ signal })] as const;
  const stop = async () => {
    const started = await Promise.allSettled(starting);
    await Promise.all(started.flatMap((plane) => (plane.status === "fulfilled" ? [plane.value.stop()] : [])));
  };
  try {
    const [{ kubectl: program, kubeconfig, dir }, other] = await Promise.all(starting);
    return {
      kubectl: { program, kubeconfig, cacheDir: join(dir, "kubectl-cache"), signal },
      operatorLog: join(dir, "logs", "operator.log"),
      isOurs: true,
      user: await openUserPlace(other, signal),
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function openUserPlace(plane: ControlPlane, signal: AbortSignal): Promise<UserPlace> {
  const limitedKubeconfig = join(plane.dir, "limited.kubeconfig");
  writeFileSync(limitedKubeconfig, await userClusterKubeconfig(plane, { signal }), { mode: 0o600 });
  return { kubeconfig: plane.kubeconfig, limitedKubeconfig };
}

/** Somebody's cluster, as he told us to; refuses one where the tour or another operator would be in the way. */
export async function openGivenPlace(path: string, { onProgress, signal }: Opening): Promise<Place> {
  const program = await findKubectl({ onProgress, signal });
  const dir = mkdtempSync(join(tmpdir(), "latchkey-start-"));
  const kubectl = { program, kubeconfig: resolve(path), cacheDir: join(dir, "kubectl-cache") };
  const close = () => rmSync(dir, { recursive: true, force: true });
  try {
    await refuseIfTaken({ ...kubectl, signal });
  } catch (error) {
    close();
    throw error;
  }
  return {
    kubectl: { ...kubectl, signal },
    operatorLog: join(dir, "operator.log"),
    isOurs: false,
    // Without the signal: it is after the interruption that this has to be done.
    [Symbol.asyncDispose]: () => leave(kubectl).finally(close),
  };
}

/** Before the operator stops: it is the one that takes copies and finalizers away. */
export async function removeTour(kubectl: KubectlOptions): Promise<void> {
  await runKubectl(["delete", "sidecarsets.apps.kruise.io", tourSidecarSet, "--ignore-not-found"], kubectl);
  await runKubectl(["delete", "secretsync", ...tourSyncs, "--ignore-not-found", "--timeout=60s"], kubectl);
  await runKubectl(["delete", "namespace", ...tourNamespaces, "--ignore-not-found", "--wait=false"], kubectl);
}

/** After the operator has stopped: a webhook that nobody answers would refuse every SecretSync. */
async function leave({ kubeconfig }: KubectlOptions): Promise<void> {
  await promisify(execFile)(process.execPath, [source, "uninstall", `--kubeconfig=${kubeconfig}`]);
}

async function refuseIfTaken(kubectl: KubectlOptions): Promise<void> {
  const status = [source, "status", "--output=json", `--kubeconfig=${kubectl.kubeconfig}`];
  const { stdout } = await promisify(execFile)(process.execPath, status, { signal: kubectl.signal });
  const { operator, problems } = JSON.parse(stdout) as {
    readonly operator: { readonly leader?: string };
    readonly problems: readonly { readonly reason: string }[];
  };
  if (operator.leader && !problems.some(({ reason }) => reason === "LeaderSilent")) {
    throw new Error(`Latchkey is running in this cluster already (${operator.leader} leads): nothing was changed.`);
  }
  const { stdout: found } = await runKubectl(["get", "namespaces", "-o", "name"], kubectl);
  const taken = tourNamespaces.filter((name) => found.split("\n").includes(`namespace/${name}`));
  if (taken.length > 0) {
    throw new Error(`The tour needs namespaces that exist already: ${taken.join(", ")}. Nothing was changed.`);
  }
}

async function findKubectl({ onProgress, signal }: Opening): Promise<string> {
  try {
    await promisify(execFile)("kubectl", ["version", "--client"], { signal });
    return "kubectl";
  } catch {
    return (await ensureBinaries(["kubectl"], { onProgress, signal })).kubectl;
  }
}
