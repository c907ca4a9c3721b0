import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Binaries, ensureBinaries } from "./binaries.ts";
import { type Certificates, type Credentials, kubeconfigOf, makeCertificates } from "./certificates.ts";
import { type Components, componentsOf } from "./components.ts";
import { binaryNames } from "./go-modules.ts";
import type { Identity } from "./http.ts";
import { addNodes } from "./nodes.ts";
import { choosePorts, type Ports } from "./ports.ts";
import { type Progress, silent } from "./progress.ts";

export interface PlaneOptions {
  /** Where everything is kept; a temporary folder, removed by `stop`, when not given. */
  readonly dir?: string;
  /** kwok's; with none there is no scheduler either. */
  readonly nodes?: number;
  /** `1.33` and up: the API server behaves like that older one. */
  readonly emulatedVersion?: string | undefined;
  readonly featureGates?: Readonly<Record<string, boolean>>;
  /** Every write to the API server as a JSON line in `auditLog`. */
  readonly auditLog?: boolean;
  /** An OCI registry beside it. */
  readonly registry?: boolean;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly onProgress?: Progress;
  readonly signal?: AbortSignal | undefined;
}

export interface ControlPlane extends AsyncDisposable {
  readonly dir: string;
  /** Path of the admin's kubeconfig. */
  readonly kubeconfig: string;
  readonly server: string;
  /** What it takes to be the admin. */
  readonly admin: Identity & { readonly ca: string };
  readonly kubectl: string;
  readonly binaries: Partial<Binaries>;
  readonly auditLog: string | undefined;
  /** `http://127.0.0.1:<port>` of the OCI registry. */
  readonly registry: string | undefined;
  readonly components: Components;
  /** Writes a kubeconfig for someone else and returns its path. */
  writeKubeconfig(name: string, credentials: Credentials): string;
  stop(): Promise<void>;
}

/** Starts a real control plane on loopback and resolves when it serves. */
export async function startControlPlane(options: PlaneOptions = {}): Promise<ControlPlane> {
  const { nodes = 0, onProgress = silent, signal } = options;
  const wanted = binaryNames.filter((name) => isWanted(name, options));
  const binaries = await ensureBinaries(wanted, { env: options.env ?? process.env, onProgress, signal });
  for (let attempt = 1; ; attempt++) {
    const dir = options.dir ?? mkdtempSync(join(tmpdir(), "latchkey-plane-"));
    try {
      return await startIn(dir, binaries, { ...options, nodes, onProgress });
    } catch (error) {
      if (!options.dir) rmSync(dir, { recursive: true, force: true });
      // Of somebody else, between our look and the server's start.
      if (attempt < 3 && /address already in use/.test(String(error))) continue;
      throw error;
    }
  }
}

function isWanted(name: string, { nodes = 0, registry = false }: PlaneOptions): boolean {
  if (name === "registry") return registry;
  if (name === "kwok" || name === "kube-scheduler") return nodes > 0;
  return true;
}

type StartOptions = PlaneOptions & { readonly nodes: number; readonly onProgress: Progress };

async function startIn(dir: string, binaries: Partial<Binaries>, options: StartOptions): Promise<ControlPlane> {
  const { nodes, onProgress, signal } = options;
  for (const folder of ["logs", "etcd"]) mkdirSync(join(dir, folder), { recursive: true, mode: 0o700 });
  const [certificates, ports] = await Promise.all([makeCertificates(dir), choosePorts()]);
  const plane = planeIn(dir, binaries, certificates, ports, options);
  const { etcd, apiserver, controllerManager, scheduler, kwok, registry } = plane.components;
  try {
    onProgress("starting etcd");
    await etcd.start({ signal });
    onProgress("starting kube-apiserver");
    await apiserver.start({ signal });
    onProgress(`starting kube-controller-manager${nodes > 0 ? ", kube-scheduler, kwok" : ""}`);
    await Promise.all([
      controllerManager.start({ signal }),
      scheduler?.start({ signal }),
      kwok?.start({ signal }).then(() => addNodes(plane, nodes, { signal })),
      registry?.start({ signal }),
    ]);
    return plane;
  } catch (error) {
    await plane.stop();
    throw error;
  }
}

function planeIn(
  dir: string,
  binaries: Partial<Binaries>,
  certificates: Certificates,
  ports: Ports,
  options: StartOptions,
): ControlPlane {
  const server = `https://127.0.0.1:${ports.api}`;
  const admin = { ca: certificates.ca, cert: certificates.admin.certificatePem, key: certificates.admin.keyPem };
  const auditLog = options.auditLog ? join(dir, "logs", "audit.jsonl") : undefined;
  const writeKubeconfig = (name: string, credentials: Credentials): string => {
    const path = join(dir, name === "admin" ? "kubeconfig" : `${name}.kubeconfig`);
    writeFileSync(path, kubeconfigOf(server, certificates.ca, name, credentials), { mode: 0o600 });
    return path;
  };
  const { emulatedVersion, featureGates, nodes, registry = false } = options;
  const components = componentsOf({
    ...{ dir, binaries, certificates, ports, server, admin, auditLog, writeKubeconfig },
    ...{ emulatedVersion, featureGates, hasNodes: nodes > 0, hasRegistry: registry },
  });
  const stop = async () => {
    await stopAll(components, { keepData: options.dir !== undefined });
    ports[Symbol.dispose]();
    if (!options.dir) rmSync(dir, { recursive: true, force: true });
  };
  return {
    ...{ dir, server, admin, binaries, auditLog, components, writeKubeconfig, stop },
    kubeconfig: writeKubeconfig("admin", certificates.admin),
    kubectl: binaries.kubectl ?? "kubectl",
    registry: registry ? `http://127.0.0.1:${ports.registry}` : undefined,
    [Symbol.asyncDispose]: stop,
  };
}

/** Only the data may deserve an orderly end, and servers end faster without their clients. */
async function stopAll(components: Components, { keepData }: { readonly keepData: boolean }): Promise<void> {
  const { etcd, ...others } = components;
  await Promise.all(Object.values(others).map((component) => component?.kill()));
  await (keepData ? etcd.stop() : etcd.kill());
}
