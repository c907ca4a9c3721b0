import { addedPullSecretsAnnotation } from "../../../api/marks.ts";
import { type KubeObject, keyOf, type Metadata, namespaceOf } from "../../../api/objects.ts";
import { enforceAnnotation, isEnforcing, type ServiceAccount, serviceAccounts } from "../../../api/pods.ts";
import { forAll } from "../../../kube/all-of.ts";
import { WatchCache } from "../../../kube/cache.ts";
import type { Call, Kube } from "../../../kube/client.ts";
import { isReason } from "../../../kube/errors.ts";
import type { Log } from "../../../kube/log.ts";
import { identityOf } from "../../../replication/copy.ts";
import { type AccountRecord, accountOperations, planAccount } from "./account-plan.ts";
import type { Naming } from "./record.ts";

/** Of accounts only what is said about them here: which enforce their lists, and which have entries of ours. */
export function openIdentities(kube: Kube, log: Log): WatchCache {
  return new WatchCache({
    ...{ kube, log, resource: serviceAccounts, metadataOnly: true },
    transform: (account) => ({ metadata: marksOf(account) }),
  });
}

/** Accounts with their lists. */
export function openLists(kube: Kube, log: Log): WatchCache<AccountRecord> {
  const indexes = { namespace: (account: AccountRecord) => [namespaceOf(account)] };
  return new WatchCache<AccountRecord>({ kube, log, resource: serviceAccounts, transform: accountRecordOf, indexes });
}

export function accountRecordOf(object: KubeObject): AccountRecord {
  return { metadata: marksOf(object), imagePullSecrets: (object as ServiceAccount).imagePullSecrets ?? [] };
}

function marksOf(account: KubeObject): Metadata {
  const { annotations = {} } = account.metadata;
  const added = annotations[addedPullSecretsAnnotation];
  const marks = {
    ...(isEnforcing(account) && { [enforceAnnotation]: "true" }),
    ...(added !== undefined && { [addedPullSecretsAnnotation]: added }),
  };
  return { ...identityOf(account), ...(Object.keys(marks).length > 0 && { annotations: marks }) };
}

/** Accounts that may use no other Secrets than they list, by namespace: a Pod of theirs would be refused with more. */
export function exemptAmong(
  accounts: readonly KubeObject[],
  isServed: (namespace: string) => boolean,
): Naming["exempt"] {
  const enforcing = accounts.filter((account) => isEnforcing(account) && isServed(namespaceOf(account)));
  const byNamespace = Map.groupBy(enforcing, namespaceOf);
  return new Map(
    [...byNamespace].map(([namespace, list]) => [namespace, list.map(({ metadata }) => metadata.name).sort()]),
  );
}

const attempts = 4;

/** Takes our entries out of an account. Tells whether there were any. */
export async function removeEntries({ metadata }: KubeObject, kube: Kube, { signal }: Call): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    const account = await kube.get<ServiceAccount>(serviceAccounts, metadata, { signal });
    if (!account || account.metadata.uid !== metadata.uid || !isMarked(account)) return false;
    const { imagePullSecrets = [] } = account;
    const plan = planAccount({ ...account, imagePullSecrets }, []) ?? { list: imagePullSecrets, added: [] };
    try {
      const body = accountOperations(account, plan, { hasAnnotations: true });
      await kube.patch(serviceAccounts, metadata, { type: "json", body }, { owner: "accounts", signal });
      return true;
    } catch (error) {
      if (isReason(error, "NotFound")) return false;
      if (attempt === attempts || !isReason(error, "Conflict")) throw error;
    }
  }
}

export const isMarked = ({ metadata }: KubeObject): boolean =>
  metadata.annotations?.[addedPullSecretsAnnotation] !== undefined;

/** The same for all accounts of a cluster, as they are now. Tells of how many. */
export async function removeAllEntries(kube: Kube, call: Call): Promise<number> {
  const marked = (await kube.listMetadata(serviceAccounts, {}, call)).filter(isMarked);
  const removed = await forAll(marked, (account) => removeEntries(account, kube, call));
  return removed.filter(Boolean).length;
}

export const describeAccounts = (keys: readonly string[], most = 10): string =>
  keys.length > most ? `${keys.slice(0, most).join(", ")} and ${keys.length - most} more` : keys.join(", ");

export const accountKey = (account: KubeObject): string => keyOf(account.metadata);
