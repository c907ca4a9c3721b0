import { pullSecretsManager, sourceLabel } from "../api/marks.ts";
import { keyOf, secrets } from "../api/objects.ts";
import type { Call, Kube } from "../kube/client.ts";
import type { Owner } from "../ownership/holder.ts";
import { labelManagersOf } from "../replication/managed-keys.ts";
import { releaseAll } from "../replication/release.ts";
import { unlabelSource } from "../replication/source.ts";
import { CopyWriter, noCache } from "../replication/writes.ts";
import { sourceOf } from "./ours.ts";

interface UninstallOptions extends Call {
  /** `keep`: they stay with their marks, `orphan`: without. */
  readonly copies: "keep" | "orphan" | "delete";
}

/** Takes our label off sources and lets go of the copies. One line for each thing done. */
export async function uninstallPullSecrets(
  kube: Kube,
  installation: Owner,
  options: UninstallOptions,
): Promise<readonly string[]> {
  const released = { ...options, feature: "pull-secrets" };
  return [...(await unlabelSources(kube, options)), ...(await releaseSharedCopies(kube, installation, released))];
}

async function unlabelSources(kube: Kube, { signal }: Call): Promise<readonly string[]> {
  const labelled = await kube.listMetadata(secrets, { labelSelector: `${sourceLabel}=true` }, { signal });
  const lines: string[] = [];
  for (const { metadata } of labelled) {
    if (!labelManagersOf(metadata.managedFields, sourceLabel).includes(pullSecretsManager)) continue;
    const { namespace = "", name } = metadata;
    await unlabelSource(kube, { namespace, name }, pullSecretsManager, { signal });
    lines.push(`label removed from Secret ${keyOf(metadata)}`);
  }
  return lines;
}

/** Deletes or unmarks the copies in one cluster, whichever that is. */
export async function releaseSharedCopies(
  kube: Kube,
  installation: Owner,
  { copies, feature, signal }: UninstallOptions & { readonly feature: string },
): Promise<readonly string[]> {
  if (copies === "keep") return [];
  const writer = new CopyWriter({ kube, copies: noCache, feature, asker: installation.uid, signal });
  const occasion = copies === "delete" ? "owner-leaves" : "owner-orphans";
  const isOurs = (copy: Parameters<typeof sourceOf>[0]) => sourceOf(copy, installation) !== undefined;
  const count = await releaseAll(installation, occasion, { kube, writer, isOurs, signal });
  if (count === 0) return [];
  return [
    `${count === 1 ? "1 copy" : `${count} copies`} of pull secrets ${copies === "delete" ? "deleted" : "released"}`,
  ];
}
