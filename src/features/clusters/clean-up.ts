import { setTimeout as sleep } from "node:timers/promises";
import { keyOf, type NamespacedRef, namespaceOf } from "../../api/objects.ts";
import { serviceAccounts } from "../../api/pods.ts";
import { throughRefusals } from "../../kube/all-of.ts";
import type { Call, Kube } from "../../kube/client.ts";
import type { Owner } from "../../ownership/holder.ts";
import { releaseSharedCopies } from "../../pullsecrets/uninstall.ts";
import { addedTo } from "./injection/account-plan.ts";
import { removeAllEntries } from "./injection/accounts.ts";
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
  const lines = await throughRefusals([
    () => removeInjection({ kube, installation, signal }),
    () => releaseSharedCopies(kube, installation, { copies, feature: "clusters", signal }),
  ]);
  return lines.flat();
}

/** The same without the copies. */
export async function removeInjection({
  kube,
  installation,
  signal,
}: Omit<CleanUp, "copies">): Promise<readonly string[]> {
  const version = await findPolicyVersion(kube, { signal });
  const lines = await throughRefusals([
    async () => {
      const removed = await removeObjects(version, { kube, installation, signal });
      const isPolicy = removed.some(({ resource }) => resource !== recordKind.resource);
      // Until then Pods are given names by a policy that is gone.
      if (isPolicy) await sleep(heededAfterMs, undefined, { signal });
      return removed.map(({ resource, ref }) => `${resource.kind} ${ref.name} deleted`);
    },
    async () => {
      const accounts = await removeAllEntries(kube, { signal });
      return accounts > 0 ? [`entries removed from ${counted(accounts, "ServiceAccount")}`] : [];
    },
  ]);
  return lines.flat();
}

/** Which copies Pods are given the names of, though nobody may look after them any more. */
export async function stillInjected({
  kube,
  installation,
  signal,
}: Omit<CleanUp, "copies">): Promise<(copy: NamespacedRef) => boolean> {
  const record = await kube.getMetadata(recordKind.resource, recordKind.ref, { signal });
  if (record && isOurs(record, recordKind.ref, installation)) return () => true;
  const accounts = await kube.listMetadata(serviceAccounts, {}, { signal });
  // Anyone may mark an account of his: that counts for what is beside it.
  const added = new Set(
    accounts.flatMap((account) => addedTo(account).map((name) => keyOf({ namespace: namespaceOf(account), name }))),
  );
  return (copy) => added.has(keyOf(copy));
}
