import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before } from "node:test";
import { promisify } from "node:util";
import { parse } from "yaml";
import { kubeconfigOf } from "../../tools/local/certificates.ts";
import { type ControlPlane, startControlPlane } from "../../tools/local/control-plane.ts";
import { leastPrivilegeKubeconfig } from "../../tools/local/least-privilege.ts";
import { type Operator, source, startOperator } from "../../tools/local/operator.ts";
import type { Kube } from "../kube/client.ts";
import { ApiProxy } from "./api-proxy.ts";
import { adminKube, type Ran } from "./cluster.ts";

export interface OperatorWishes {
  /** Its way to the API server; without it the direct one. */
  readonly through?: ApiProxy;
  /** The same again for one that is started anew: it need not wait for its own Lease to run out. */
  readonly replica?: string;
  readonly args?: readonly string[];
  /** Besides the environment of the tests. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A control plane and operators for one test file, which may break them. */
export class OwnPlane {
  #plane: ControlPlane | undefined;
  #kubeconfig = "";
  #started = 0;
  readonly #ends: (() => Promise<unknown>)[] = [];

  get plane(): ControlPlane {
    if (!this.#plane) throw new Error("the control plane is not started yet");
    return this.#plane;
  }

  get kube(): Promise<Kube> {
    return adminKube();
  }

  async proxy(): Promise<ApiProxy> {
    const proxy = await ApiProxy.start({ server: this.plane.server, ca: this.plane.admin.ca });
    this.#ends.push(() => proxy[Symbol.asyncDispose]());
    return proxy;
  }

  /** With the rights of deploy/rbac.yaml and no others. */
  async operator({ through, replica = "solo", args = [], env = {} }: OperatorWishes = {}): Promise<Operator> {
    const number = ++this.#started;
    const operator = await startOperator({
      kubeconfig: through ? this.#kubeconfigThrough(through, number) : this.#kubeconfig,
      logFile: join(this.plane.dir, "logs", `operator-${number}.log`),
      args: [`--replica-id=${replica}`, "--log-level=debug", ...args],
      env: { ...process.env, ...env },
    });
    this.#ends.push(() => operator.kill());
    return operator;
  }

  /** The command line, with the admin's rights. */
  async latchkey(...args: readonly string[]): Promise<Ran> {
    const command = [source, ...args, `--kubeconfig=${this.plane.kubeconfig}`];
    try {
      const { stdout, stderr } = await promisify(execFile)(process.execPath, command, { timeout: 120_000 });
      return { code: 0, stdout, stderr };
    } catch (error) {
      const { code, stdout, stderr } = error as Partial<Ran>;
      if (typeof code !== "number") throw error;
      return { code, stdout: stdout ?? "", stderr: stderr ?? "" };
    }
  }

  async start(): Promise<void> {
    const plane = await startControlPlane({ auditLog: true });
    this.#plane = plane;
    // The other helpers of this folder then speak to this plane: a test file has a process of its own.
    process.env.LATCHKEY_TEST_KUBECONFIG = plane.kubeconfig;
    process.env.LATCHKEY_TEST_KUBECTL = plane.kubectl;
    process.env.LATCHKEY_TEST_AUDIT_LOG = plane.auditLog;
    const installed = await this.latchkey("crds", "--apply");
    if (installed.code !== 0) throw new Error(`the CRDs were not installed: ${installed.stderr}`);
    this.#kubeconfig = await leastPrivilegeKubeconfig(plane);
  }

  async stop(): Promise<void> {
    for (const end of this.#ends.toReversed()) await end();
    await this.#plane?.stop();
  }

  #kubeconfigThrough(proxy: ApiProxy, number: number): string {
    const { users } = parse(readFileSync(this.#kubeconfig, "utf8")) as { users: { user: { token: string } }[] };
    const path = join(this.plane.dir, `through-proxy-${number}.kubeconfig`);
    writeFileSync(path, kubeconfigOf(proxy.url, proxy.ca, "latchkey", { token: users[0]?.user.token ?? "" }));
    return path;
  }
}

/** For a test file that breaks what the others share: started before its tests, gone after them. */
export function ownPlane(setUp?: (own: OwnPlane) => Promise<void>): OwnPlane {
  const own = new OwnPlane();
  // One hook for both: hooks of a file do not wait for each other.
  before(async () => {
    await own.start();
    await setUp?.(own);
  });
  after(() => own.stop());
  return own;
}
