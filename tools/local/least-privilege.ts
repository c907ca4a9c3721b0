import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { parseAllDocuments } from "yaml";
import type { ControlPlane } from "./control-plane.ts";
import { ask, askJson } from "./http.ts";

const deploy = join(import.meta.dirname, "..", "..", "deploy");
export const rbacFile = join(deploy, "rbac.yaml");
export const userClusterRoleFile = join(deploy, "user-cluster-role.yaml");

export interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

interface Call {
  readonly signal?: AbortSignal | undefined;
}

export function readManifests<T extends Manifest>(file: string): T[] {
  return parseAllDocuments(readFileSync(file, "utf8")).map((document) => document.toJS() as T);
}

/** Applies deploy/rbac.yaml and returns the path of a kubeconfig with the rights it gives and no others. */
export async function leastPrivilegeKubeconfig(plane: ControlPlane, call: Call = {}): Promise<string> {
  const { name, token } = await applyAccount(plane, rbacFile, call);
  return plane.writeKubeconfig(name, { token });
}

/** Applies manifests and returns a token, good for a day, of the ServiceAccount among them. */
export async function applyAccount(
  plane: ControlPlane,
  file: string,
  { signal }: Call = {},
): Promise<{ readonly name: string; readonly token: string }> {
  const account = readManifests(file).find((manifest) => manifest?.kind === "ServiceAccount")?.metadata;
  if (!account?.namespace) throw new Error(`${file} has no ServiceAccount with a namespace`);

  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: account.namespace } };
  // It may exist, or be in the file: then this is a conflict that does not matter.
  await ask(`${plane.server}/api/v1/namespaces`, plane.admin, { method: "POST", body: namespace, signal });
  const apply = ["--kubeconfig", plane.kubeconfig, "apply", "--server-side", "-f", file];
  await promisify(execFile)(plane.kubectl, apply, { signal, timeout: 60_000 });

  const { status } = await askJson<{ readonly status: { readonly token: string } }>(
    `${plane.server}/api/v1/namespaces/${account.namespace}/serviceaccounts/${account.name}/token`,
    plane.admin,
    { method: "POST", body: { spec: { expirationSeconds: 24 * 60 * 60 } }, signal },
  );
  return { name: account.name, token: status.token };
}
