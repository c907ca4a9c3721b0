import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { parseAllDocuments } from "yaml";
import type { ControlPlane } from "./control-plane.ts";
import { ask, askJson } from "./http.ts";

export const rbacFile = join(import.meta.dirname, "..", "..", "deploy", "rbac.yaml");

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** Applies deploy/rbac.yaml and returns the path of a kubeconfig with the rights it gives and no others. */
export async function leastPrivilegeKubeconfig(
  plane: ControlPlane,
  { signal }: { readonly signal?: AbortSignal | undefined } = {},
): Promise<string> {
  const manifests = parseAllDocuments(readFileSync(rbacFile, "utf8")).map((document) => document.toJS() as Manifest);
  const account = manifests.find((manifest) => manifest?.kind === "ServiceAccount")?.metadata;
  if (!account?.namespace) throw new Error(`${rbacFile} has no ServiceAccount with a namespace`);

  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: account.namespace } };
  // It may exist, or be in the file: then this is a conflict that does not matter.
  await ask(`${plane.server}/api/v1/namespaces`, plane.admin, { method: "POST", body: namespace, signal });
  const apply = ["--kubeconfig", plane.kubeconfig, "apply", "--server-side", "-f", rbacFile];
  await promisify(execFile)(plane.kubectl, apply, { signal, timeout: 60_000 });

  const { status } = await askJson<{ readonly status: { readonly token: string } }>(
    `${plane.server}/api/v1/namespaces/${account.namespace}/serviceaccounts/${account.name}/token`,
    plane.admin,
    { method: "POST", body: { spec: { expirationSeconds: 24 * 60 * 60 } }, signal },
  );
  return plane.writeKubeconfig(account.name, { token: status.token });
}
