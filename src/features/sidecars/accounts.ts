import type { NamespacedRef } from "../../api/objects.ts";
import { keyOf } from "../../api/objects.ts";
import { enforceAnnotation, isEnforcing, type ServiceAccount, serviceAccounts } from "../../api/pods.ts";
import { WatchCache } from "../../kube/cache.ts";
import type { Call, Kube } from "../../kube/client.ts";
import type { Log } from "../../kube/log.ts";
import { identityOf } from "../../replication/copy.ts";

/** Accounts without their lists; of those that do not enforce these, nothing but that they exist. */
export type Accounts = WatchCache<ServiceAccount>;

export function openAccounts(kube: Kube, log: Log): Accounts {
  return new WatchCache<ServiceAccount>({
    kube,
    log,
    resource: serviceAccounts,
    metadataOnly: true,
    transform: (account) => {
      const metadata = identityOf(account);
      if (!isEnforcing(account)) return { metadata };
      return { metadata: { ...metadata, annotations: { [enforceAnnotation]: "true" } } };
    },
  });
}

/**
 * The account, with its lists, if its Pods may name only the Secrets in these. One that cannot be read now is taken as it
 * was last seen: an enforcing one without lists, an unknown one as one that does not enforce.
 */
export async function findEnforcing(
  accounts: Accounts,
  kube: Kube,
  ref: NamespacedRef,
  { signal }: Call,
): Promise<ServiceAccount | undefined> {
  const seen = accounts.get(keyOf(ref));
  if (seen && !isEnforcing(seen)) return undefined;
  const account = await kube.get<ServiceAccount>(serviceAccounts, ref, { signal }).catch(() => seen);
  return account && isEnforcing(account) ? account : undefined;
}
