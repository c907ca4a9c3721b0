import { secretSyncs } from "../../api/kinds.ts";
import { copiesFinalizer, sourceLabel, sourceLabelFinalizer, sourceManagerOf } from "../../api/marks.ts";
import { type KubeObject, keyOf, secrets } from "../../api/objects.ts";
import type { SecretSync } from "../../api/secret-sync.ts";
import type { Call, Kube } from "../../kube/client.ts";
import { isReason } from "../../kube/errors.ts";
import { labelManagersOf } from "../../replication/managed-keys.ts";
import { releaseAll } from "../../replication/release.ts";
import { unlabelSource } from "../../replication/source.ts";
import { CopyWriter, noCache } from "../../replication/writes.ts";
import type { Undone, UninstallOptions } from "../feature.ts";
import { ownerOf } from "./owner.ts";

const ours = [sourceLabelFinalizer, copiesFinalizer];

/** Takes labels off sources and finalizers off SecretSyncs, so that nothing waits for an operator that is gone. */
export async function uninstall(kube: Kube, options: UninstallOptions): Promise<Undone> {
  const { signal } = options;
  const lines: string[] = [];
  for (const { metadata } of await kube.listMetadata(secrets, { labelSelector: `${sourceLabel}=true` }, { signal })) {
    if (await unlabel(kube, metadata, { signal })) lines.push(`label removed from Secret ${keyOf(metadata)}`);
  }
  const isServed = await kube.serves(secretSyncs, { signal });
  for (const sync of isServed ? await kube.list<SecretSync>(secretSyncs, {}, { signal }) : []) {
    lines.push(...(await letGo(kube, sync, options)));
    if (await releaseFinalizers(kube, sync, { signal }))
      lines.push(`finalizers removed from SecretSync ${sync.metadata.name}`);
  }
  return { done: lines, left: [] };
}

async function unlabel(kube: Kube, metadata: KubeObject["metadata"], call: Call): Promise<boolean> {
  const prefix = sourceManagerOf("");
  const managers = labelManagersOf(metadata.managedFields, sourceLabel).filter((name) => name.startsWith(prefix));
  const { namespace = "", name } = metadata;
  for (const manager of managers) await unlabelSource(kube, { namespace, name }, manager, call);
  return managers.length > 0;
}

async function letGo(kube: Kube, sync: SecretSync, { copies, signal }: UninstallOptions): Promise<readonly string[]> {
  if (copies === "keep") return [];
  const writer = new CopyWriter({ kube, copies: noCache, feature: "secretsync", asker: sync.metadata.uid, signal });
  const occasion = copies === "delete" ? "owner-leaves" : "owner-orphans";
  const count = await releaseAll(ownerOf(sync), occasion, { kube, writer, signal });
  if (count === 0) return [];
  const done = copies === "delete" ? "deleted" : "released";
  return [`${count === 1 ? "1 copy" : `${count} copies`} of SecretSync ${sync.metadata.name} ${done}`];
}

async function releaseFinalizers(kube: Kube, { metadata }: SecretSync, { signal }: Call): Promise<boolean> {
  const rest = (metadata.finalizers ?? []).filter((finalizer) => !ours.includes(finalizer));
  if (rest.length === (metadata.finalizers ?? []).length) return false;
  const { resourceVersion } = metadata;
  const body = { metadata: { resourceVersion, finalizers: rest } };
  try {
    await kube.patch(secretSyncs, metadata, { type: "merge", body }, { signal });
  } catch (error) {
    if (!isReason(error, "NotFound")) throw error;
  }
  return true;
}
