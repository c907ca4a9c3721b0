import { execFile } from "node:child_process";
import { join } from "node:path";
import { after, before, type TestContext } from "node:test";
import { promisify } from "node:util";
import { type ControlPlane, type PlaneOptions, startControlPlane } from "../../tools/local/control-plane.ts";
import { type Right, userClusterKubeconfig } from "../../tools/local/user-cluster.ts";
import {
  apiVersionOf,
  type Condition,
  type Draft,
  type KubeObject,
  type NamespacedRef,
  namespaces as namespaceKind,
  type Resource,
  type Secret,
  secrets,
} from "../api/objects.ts";
import { Kube } from "../kube/client.ts";
import { loadConnection } from "../kube/kubeconfig.ts";
import { auditPosition, operatorWrites, type Write } from "./audit.ts";
import { adminKube, type Ran, removeQuietly, testNamespaces, uniqueName } from "./cluster.ts";
import { at, base64, type Meta, secret } from "./objects.ts";
import { dockerConfigType, type Pod, type PodOptions, pod, pods, serviceAccounts } from "./sidecars.ts";
import { whenAdmissionListens } from "./syncs.ts";
import { until, untilConditionOf, untilGone, type Wanted } from "./wait.ts";

export interface UserClusterOptions extends Pick<PlaneOptions, "emulatedVersion" | "featureGates" | "nodes"> {
  /** Rights that its kubeconfig lacks, of those in deploy/user-cluster-role.yaml. */
  readonly without?: readonly Right[];
}

/** A user cluster for one test file: a control plane of its own, which the file may break. */
export class UserCluster {
  #plane: ControlPlane | undefined;
  #kube: Kube | undefined;
  #kubeconfig: string | undefined;

  get plane(): ControlPlane {
    return started(this.#plane);
  }

  /** Its admin. */
  get kube(): Kube {
    return started(this.#kube);
  }

  /** What Latchkey gets: the text, with the rights of the published role and no others. */
  get kubeconfig(): string {
    return started(this.#kubeconfig);
  }

  /** The real kubectl, as its admin; never throws for a non-zero exit code. */
  async kubectl(args: readonly string[], { input = "" }: { readonly input?: string } = {}): Promise<Ran> {
    const { kubectl, kubeconfig, dir } = this.plane;
    const flags = ["--kubeconfig", kubeconfig, "--cache-dir", join(dir, "kubectl-cache")];
    const running = promisify(execFile)(kubectl, [...flags, ...args], { timeout: 120_000, maxBuffer: Infinity });
    // A kubectl that refuses its arguments never reads them: no failure of ours.
    running.child.stdin?.on("error", () => {}).end(input);
    try {
      return { code: 0, ...(await running) };
    } catch (error) {
      const { code, stdout = "", stderr = "" } = error as Partial<Ran>;
      if (typeof code !== "number") throw error;
      return { code, stdout, stderr };
    }
  }

  /** What the operator wrote here; see `operatorWrites`. */
  writes({ from = 0 } = {}): Promise<readonly Write[]> {
    return operatorWrites(this.kube, "default", { from, log: this.plane.auditLog });
  }

  /** Where the log of writes ends now, for `from`. */
  position(): Promise<number> {
    return auditPosition(this.kube, "default", { log: this.plane.auditLog });
  }

  async start({ without = [], featureGates, ...options }: UserClusterOptions): Promise<void> {
    // 1.33 has streaming lists only when told, and `until` waits by them.
    const gates = { WatchList: true, ...featureGates };
    this.#plane = await startControlPlane({ ...options, featureGates: gates, auditLog: true });
    const connection = await loadConnection({ kubeconfig: this.#plane.kubeconfig, env: {} });
    this.#kube = new Kube(connection, { userAgent: "latchkey-test" });
    this.#kubeconfig = await userClusterKubeconfig(this.#plane, { without });
  }

  async stop(): Promise<void> {
    await this.#kube?.[Symbol.asyncDispose]();
    await this.#plane?.stop();
  }
}

function started<T>(part: T | undefined): T {
  if (part === undefined) throw new Error("the user cluster is not started yet");
  return part;
}

/** Started before the tests of a file, beside the other user clusters of the file, and gone after them. */
export function userCluster(options: UserClusterOptions = {}): UserCluster {
  const user = new UserCluster();
  before(() => user.start(options));
  after(() => user.stop());
  return user;
}

const kubermatic = (plural: string, kind: string, namespaced: boolean): Resource => ({
  group: "kubermatic.k8c.io",
  version: "v1",
  plural,
  kind,
  namespaced,
});
/** Written out again, not imported: a test that asks for what users ask for notices when the address changes. */
export const clusters = kubermatic("clusters", "Cluster", false);
export const kubermaticConfigurations = kubermatic("kubermaticconfigurations", "KubermaticConfiguration", true);

export interface ClusterSpec {
  readonly imagePullSecrets?: readonly NamespacedRef[];
  readonly kubeconfigSecretRef?: { readonly namespace: string; readonly name?: string; readonly key?: string };
  readonly home?: boolean;
  readonly pause?: boolean;
  readonly pauseReason?: string;
  readonly humanReadableName?: string;
  readonly disableDefaultImagePullSecrets?: boolean;
  readonly excludedNamespaces?: readonly string[];
  readonly onSourceDeleted?: "Delete" | "Retain";
  readonly injection?: { readonly mode?: "Auto" | "Policy" | "ServiceAccount" | "None" };
}

export interface Cluster extends KubeObject {
  readonly spec: ClusterSpec;
  readonly status?: {
    readonly observedGeneration?: number;
    readonly clusterID?: string;
    readonly serverVersion?: string;
    readonly credentialsFrom?: string;
    readonly injection?: { readonly mode?: string };
    readonly namespaces?: {
      readonly total: number;
      readonly served: number;
      readonly excluded: number;
      readonly failed: number;
      readonly summary: string;
    };
    readonly imagePullSecrets?: readonly (NamespacedRef & {
      readonly copyName: string;
      readonly state: string;
      readonly copies: number;
    })[];
    readonly failures?: readonly {
      readonly namespace: string;
      readonly source: string;
      readonly reason: string;
      readonly message: string;
    }[];
    readonly conditions?: readonly Condition[];
  };
}

export interface ClusterOptions extends Meta {
  /** `namespace/name` each. */
  readonly references?: readonly string[];
  /** `namespace/name` of the Secret that holds it. */
  readonly kubeconfig?: string;
  /** Whatever else is to be in the spec, or in place of what is. */
  readonly spec?: ClusterSpec;
}

export function cluster(name: string, { references, kubeconfig, spec, ...meta }: ClusterOptions = {}): Draft<Cluster> {
  return {
    apiVersion: apiVersionOf(clusters),
    kind: clusters.kind,
    metadata: { name, ...meta },
    spec: {
      ...(references && { imagePullSecrets: references.map(at) }),
      ...(kubeconfig && { kubeconfigSecretRef: at(kubeconfig) }),
      ...spec,
    },
  };
}

export function kubeconfigSecret(key: string, kubeconfig: string): Draft<Secret> {
  return secret(key, { kubeconfig });
}

/** With the defaults what `createPullSecret` makes, so that `untilPullSecret` knows its copies. */
export function dockerSecret(
  key: string,
  {
    registry = "registry.example.com",
    password = "s3cret",
    ...meta
  }: { readonly registry?: string; readonly password?: string } & Meta = {},
): Draft<Secret> {
  const config = { auths: { [registry]: { auth: base64(`robot:${password}`) } } };
  return secret(key, { ".dockerconfigjson": JSON.stringify(config) }, { type: dockerConfigType, ...meta });
}

/**
 * A Cluster under a name of its own that leads to the user cluster, its kubeconfig in a fresh namespace of the home.
 * After the test both are removed, which leaves the user cluster clean for the next one.
 */
export async function serveCluster(
  t: TestContext,
  { user, ...options }: Omit<ClusterOptions, "kubeconfig"> & { readonly user: Pick<UserCluster, "kubeconfig"> },
): Promise<{ readonly cluster: Cluster; readonly namespace: string; readonly kube: Kube }> {
  const name = uniqueName("cluster");
  const admin = await adminKube();
  // Before the namespace's, for these hooks run in turn: without its kubeconfig nobody could clean up.
  t.after(async () => {
    await removeQuietly(() => admin.delete(clusters, { name }));
    await untilGone(admin, clusters, { name });
  });
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [namespace] = namespaces;
  const kubeconfig = `${namespace}/${name}-kubeconfig`;
  await kube.create<Secret>(secrets, kubeconfigSecret(kubeconfig, user.kubeconfig));
  const draft = cluster(name, { ...options, kubeconfig });
  const created = await whenAdmissionListens(() => kube.create<Cluster>(clusters, draft));
  return { cluster: created, namespace, kube };
}

export function untilCluster(
  kube: Kube,
  name: string,
  type: "Ready" | "Reachable" | "PullSecretsReady" | "Injection" | "Paused" | "Stalled",
  wanted: Wanted,
): Promise<Cluster> {
  return untilConditionOf<Cluster>(kube, clusters, { metadata: { name } }, type, wanted);
}

/** The name of a fresh namespace of the user cluster, deleted after the test. */
export async function createUserNamespace(t: TestContext, { kube }: UserCluster, meta: Meta = {}): Promise<string> {
  const name = uniqueName("app");
  t.after(() => removeQuietly(() => kube.delete(namespaceKind, { name })));
  await kube.create(namespaceKind, { metadata: { name, ...meta } });
  return name;
}

/** Creates the Pod in the user cluster once its ServiceAccount is there, and deletes it after the test. */
export async function createUserPod(
  t: TestContext,
  { kube }: UserCluster,
  key: string,
  options: PodOptions = {},
): Promise<Pod> {
  const { namespace } = at(key);
  const account = { namespace, name: options.spec?.serviceAccountName ?? "default" };
  await until(kube, serviceAccounts, account, "exists", (found) => found !== undefined);
  t.after(() => removeQuietly(() => kube.delete(pods, at(key))));
  return kube.create<Pod>(pods, pod(key, options));
}
