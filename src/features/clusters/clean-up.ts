import { setTimeout as sleep } from "node:timers/promises";
import { serviceAccounts } from "../../api/pods.ts";
import type { Call, Kube } from "../../kube/client.ts";
import type { Owner } from "../../ownership/holder.ts";
import { releaseSharedCopies } from "../../pullsecrets/uninstall.ts";
import { isMarked, removeAllEntries } from "./injection/accounts.ts";
import { findPolicyVersion } from "./injection/choose.ts";
import { heededAfterMs, isOurs, recordKind, removeObjects } from "./injection/objects.ts";
import { counted } from "./words.ts";

interface CleanUp extends Call {
  readonly kube: Kube;
  readonly installation: Owner;
  readonly copies: "keep" | "orphan" | "delete";
}

/** Takes everything of ours out of a cluster, so that nothing is left that could change or block anybody's Pods. */
export async function cleanUp({ kube, installation, copies, signal }: CleanUp): Promise<readonly string[]> {
  const lines = [...(await removeInjection({ kube, installation, signal }))];
  const released = await releaseSharedCopies(kube, installation, { copies, signal });
  return [...lines, ...released];
}

/** The same without the copies. */
export async function removeInjection({
  kube,
  installation,
  signal,
}: Omit<CleanUp, "copies">): Promise<readonly string[]> {
  const version = await findPolicyVersion(kube, { signal });
  const removed = await removeObjects(version, { kube, installation, signal });
  const accounts = await removeAllEntries(kube, { signal });
  // Until then Pods are given names by a policy that is gone.
  if (removed.some(({ resource }) => resource !== recordKind.resource))
    await sleep(heededAfterMs, undefined, { signal });
  return [
    ...removed.map(({ resource, ref }) => `${resource.kind} ${ref.name} deleted`),
    ...(accounts > 0 ? [`entries removed from ${counted(accounts, "ServiceAccount")}`] : []),
  ];
}

/** Whether Pods are given names of copies, though nobody may look after them any more. */
export async function isInjecting({ kube, installation, signal }: Omit<CleanUp, "copies">): Promise<boolean> {
  const record = await kube.getMetadata(recordKind.resource, recordKind.ref, { signal });
  if (record && isOurs(record, recordKind.ref, installation)) return true;
  return (await kube.listMetadata(serviceAccounts, {}, { signal })).some(isMarked);
}
