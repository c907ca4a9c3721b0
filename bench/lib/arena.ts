import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { allCrds } from "../../src/api/crds.ts";
import { type NamespacedRef, namespaces } from "../../src/api/objects.ts";
import { Kube } from "../../src/kube/client.ts";
import { installCrds } from "../../src/kube/install-crds.ts";
import { loadConnection } from "../../src/kube/kubeconfig.ts";
import { buildProgram } from "../../tools/build.ts";
import { type ControlPlane, startControlPlane } from "../../tools/local/control-plane.ts";
import { leastPrivilegeKubeconfig } from "../../tools/local/least-privilege.ts";
import { type Operator, type OperatorOptions, startOperator } from "../../tools/local/operator.ts";
import { Contents } from "./contents.ts";
import { inParallel } from "./parallel.ts";
import { createSource, createSyncs, encodedMark } from "./syncs.ts";

/** A control plane of its own, with our CRDs and the operator's rights in place. */
export interface Arena extends AsyncDisposable {
  readonly plane: ControlPlane;
  /** The admin's client, for setting things up and looking at them. */
  readonly kube: Kube;
  startOperator(options?: Pick<OperatorOptions, "args" | "bundle">): Promise<Operator>;
  /** The operator's writes so far, as the API server's audit log has them. */
  writes(): Promise<readonly Write[]>;
}

export interface Write {
  readonly verb: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

/** The audit log is for those who count writes: it costs the API server time. `isShipped`: the operator is the built one. */
export async function openArena(signal: AbortSignal, { auditLog = false, isShipped = false } = {}): Promise<Arena> {
  const onProgress = (line: string) => void process.stderr.write(`${line}\n`);
  const plane = await startControlPlane({ auditLog, signal, onProgress });
  const kube = new Kube(await loadConnection({ kubeconfig: plane.kubeconfig, env: {} }), { userAgent: "bench" });
  await installCrds(kube, allCrds, { signal });
  const kubeconfig = await leastPrivilegeKubeconfig(plane, { signal });
  const built = isShipped ? { bundle: await buildProgram(join(plane.dir, "bundle")) } : {};
  return {
    plane,
    kube,
    startOperator: (options) =>
      startOperator({ ...built, ...options, kubeconfig, logFile: join(plane.dir, "operator.log"), signal }),
    writes: () => operatorWrites(plane),
    async [Symbol.asyncDispose]() {
      await kube[Symbol.asyncDispose]();
      await plane.stop();
    },
  };
}

export async function createNamespaces(kube: Kube, count: number, prefix = "ns"): Promise<readonly string[]> {
  const names = Array.from({ length: count }, (_, at) => `${prefix}-${at}`);
  await inParallel(names, 32, (name) => kube.create(namespaces, { metadata: { name } }));
  return names;
}

export async function operatorWrites({ auditLog = "" }: ControlPlane): Promise<readonly Write[]> {
  return (await readFile(auditLog, "utf8")).split("\n").flatMap(writeOf);
}

const notWrites = ["events", "leases", "subjectaccessreviews", "selfsubjectaccessreviews"];

function writeOf(line: string): Write[] {
  if (!line) return [];
  const { stage, verb, userAgent = "", requestURI = "", objectRef = {} } = JSON.parse(line);
  if (stage !== "ResponseComplete" || !["create", "update", "patch", "delete"].includes(verb)) return [];
  if (!userAgent.startsWith("latchkey/") || /[?&]dryRun=/.test(requestURI)) return [];
  const { resource = "", subresource = "", namespace = "", name = "" } = objectRef;
  return notWrites.includes(resource) ? [] : [{ verb, resource, subresource, namespace, name }];
}

/** An operator at work on one source with a copy in each of many namespaces. */
export interface Served extends Arena {
  readonly operator: Operator;
  readonly copies: Contents;
  readonly source: NamespacedRef;
}

export async function serveFanOut(arena: Arena, name: string, count: number, mark: string): Promise<Served> {
  const { kube } = arena;
  const namespaces = await createNamespaces(kube, count);
  const operator = await arena.startOperator();
  const copies = new Contents(kube, "latchkey.dev/owner-uid");
  await copies.synced();
  const source = { namespace: "default", name };
  await createSource(kube, source, mark);
  await createSyncs(
    kube,
    name,
    source,
    namespaces.map((namespace) => ({ namespace, name })),
  );
  await copies.untilAll(count, encodedMark(mark));
  return {
    ...arena,
    operator,
    copies,
    source,
    async [Symbol.asyncDispose]() {
      await copies[Symbol.asyncDispose]();
      await operator.stop();
    },
  };
}
