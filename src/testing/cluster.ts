import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { after, type TestContext } from "node:test";
import { type Namespace, namespaces as namespaceResource } from "../api/objects.ts";
import { Kube } from "../kube/client.ts";
import { isReason } from "../kube/errors.ts";
import { type Connection, loadConnection } from "../kube/kubeconfig.ts";

/** What `tools/test.ts` hands to every test file. */
export function testEnvironment(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run tests by \`npm test -- <files>\``);
  return value;
}

let connection: Promise<Connection> | undefined;
const clients: Kube[] = [];

after(async () => {
  await Promise.all(clients.map((client) => client[Symbol.asyncDispose]()));
});

/** A client of the shared control plane, closed at the end of the file; `as` impersonates somebody. */
export async function connect(as?: { readonly user: string; readonly groups?: readonly string[] }): Promise<Kube> {
  connection ??= loadConnection({ kubeconfig: testEnvironment("LATCHKEY_TEST_KUBECONFIG"), env: {} });
  const whom = as ? { ...(await connection), impersonate: as } : await connection;
  // Of its own, so that the audit log tells what a test did from what the operator did.
  const client = new Kube(whom, { userAgent: "latchkey-test" });
  clients.push(client);
  return client;
}

let admin: Promise<Kube> | undefined;

export function adminKube(): Promise<Kube> {
  admin ??= connect();
  return admin;
}

/** A name no other test has. */
export function uniqueName(prefix: string): string {
  return `${prefix}-${randomBytes(5).toString("hex")}`;
}

/** As many strings as asked for, so that taking them apart gives no `undefined`. */
export type Names<N extends number, T extends readonly string[] = []> = T["length"] extends N
  ? T
  : Names<N, [...T, string]>;

/** Fresh namespaces, cleared after the test. */
export async function testNamespaces<const N extends number>(
  t: TestContext,
  count: N,
): Promise<{ readonly kube: Kube; readonly namespaces: Names<N> }> {
  const kube = await adminKube();
  const names = Array.from({ length: count }, () => uniqueName("test"));
  await Promise.all(names.map((name) => createNamespace(t, name)));
  return { kube, namespaces: names as unknown as Names<N> };
}

export async function createNamespace(t: TestContext, name: string): Promise<Namespace> {
  const kube = await adminKube();
  t.after(() => removeQuietly(() => clearNamespace(kube, name)));
  return kube.create<Namespace>(namespaceResource, { metadata: { name } });
}

/**
 * One without Pods stays, empty: for a namespace that goes the API server is asked after every kind there is, which
 * takes 0.12 s of processor. Nobody waits for the end of one that goes.
 */
async function clearNamespace(kube: Kube, name: string): Promise<void> {
  const contents = `/api/v1/namespaces/${name}`;
  const { items } = (await kube.request("GET", `${contents}/pods?limit=1`)) as { readonly items: readonly unknown[] };
  const isCleared = items.length === 0 && (await isDone(kube.request("DELETE", `${contents}/secrets`)));
  if (!isCleared) await kube.delete(namespaceResource, { name });
}

const isDone = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  );

/** Cleaning up must not fail a test that passed: what is gone or going already is no failure. */
export async function removeQuietly(remove: () => Promise<unknown>): Promise<void> {
  try {
    await remove();
  } catch (error) {
    if (!isReason(error, "NotFound", "Conflict")) throw error;
  }
}

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The real kubectl, with the admin's kubeconfig; never throws for a non-zero exit code. */
export async function kubectl(
  args: readonly string[],
  { input = "", signal }: { readonly input?: string; readonly signal?: AbortSignal } = {},
): Promise<Ran> {
  const kubeconfig = testEnvironment("LATCHKEY_TEST_KUBECONFIG");
  // Beside the kubeconfig: in the home directory it would remember the kinds of an earlier plane on the same port.
  const cache = join(dirname(kubeconfig), "kubectl-cache");
  const flags = ["--kubeconfig", kubeconfig, "--cache-dir", cache];
  const child = spawn(testEnvironment("LATCHKEY_TEST_KUBECTL"), [...flags, ...args], {
    stdio: "pipe",
    timeout: 120_000,
    signal,
  });
  // A kubectl that refuses its arguments never reads them: no failure of ours.
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { code: Number(code), stdout, stderr };
}
