import { isDeepStrictEqual } from "node:util";
import { namespaceOf } from "../../../api/objects.ts";
import { serviceAccounts } from "../../../api/pods.ts";
import type { KeyedPass } from "../../../runtime/run-keyed.ts";
import { suffixedIn } from "../naming.ts";
import { type AccountPlan, type AccountRecord, accountOperations, addedTo, planAccount } from "./account-plan.ts";
import { accountKey, openLists } from "./accounts.ts";
import { Contests } from "./contests.ts";
import { type Ending, type WayOptions, type WorkingWay, wholeCluster } from "./injector.ts";
import { removeObjects } from "./objects.ts";

const lookAgainMs = 500;

/** Pods get their names by way of their accounts. */
export function accountWay(options: WayOptions): WorkingWay {
  const { kube, log, installation, version, replication } = options;
  const accounts = openLists(kube, log);
  const contests = new Contests();
  /** What we last wrote into accounts, by UID: what is no longer so was undone by somebody else. */
  const written = new Map<string, AccountPlan>();
  let isAlone = false;
  let isBegun = false;

  return {
    caches: [accounts],
    recorded: () => ({ names: [], special: { get: addedIn } }),
    keys: () => accounts.keys(),
    begin(wake) {
      const stops = [
        accounts.subscribe(({ key, before, after }) => {
          if (before && !after) forget(before);
          wake(key);
        }),
        replication.namespaces.subscribe((change) => {
          if (!options.demand().concerns(change)) return;
          for (const account of accounts.by("namespace", change.key)) wake(accountKey(account));
        }),
      ];
      return () => {
        for (const stop of stops) stop();
      };
    },
    pass: (key, pass) => (key === wholeCluster ? leavePolicy(pass) : serveAccount(key, pass)),
    state() {
      if (!isBegun || accounts.list().some(isOpen)) return { kind: "pending" };
      const suffixed = suffixedIn(options.demand().naming());
      return { kind: "active", suffixed, exempt: 0, contested: contests.keys() };
    },
  };

  function forget(account: AccountRecord): void {
    contests.forget(accountKey(account));
    written.delete(account.metadata.uid);
  }

  function addedIn(namespace: string): readonly string[] {
    return [...new Set(accounts.by("namespace", namespace).flatMap(addedTo))];
  }

  function wantedOf(account: AccountRecord): readonly string[] {
    const demand = options.demand();
    const namespace = namespaceOf(account);
    return demand.isServed(replication.namespaces.get(namespace)) ? demand.namesIn(namespace) : [];
  }

  function isOpen(account: AccountRecord): boolean {
    const isGoing = replication.namespaces.get(namespaceOf(account))?.metadata.deletionTimestamp !== undefined;
    if (isGoing || contests.leftMs(accountKey(account)) > 0) return false;
    return planAccount(account, wantedOf(account)) !== undefined;
  }

  async function serveAccount(key: string, { kube: fenced, signal }: KeyedPass): Promise<Ending> {
    await options.demand().learn({ signal });
    const account = accounts.get(key);
    const plan = account && isOpen(account) ? planAccount(account, wantedOf(account)) : undefined;
    if (!account || !plan) return leftOf(key);
    const { uid, resourceVersion } = account.metadata;
    if (isUndone(account, plan)) contests.noteRevert(key, resourceVersion);
    if (contests.leftMs(key) > 0) return leftOf(key);

    const hasAnnotations = await isAnnotated(account, { kube: fenced, signal });
    const body = accountOperations(account, plan, { hasAnnotations });
    await accounts.writing(key, () =>
      fenced.patch(serviceAccounts, account.metadata, { type: "json", body }, { owner: "accounts", signal }),
    );
    written.set(uid, plan);
    return {};
  }

  /** An entry of ours is missing, or we would write once more what we wrote last: somebody wants it otherwise. */
  function isUndone(account: AccountRecord, plan: AccountPlan): boolean {
    const last = written.get(account.metadata.uid);
    const listed = account.imagePullSecrets.map(({ name }) => name);
    const isMissing = (name: string) => plan.added.includes(name) && !listed.includes(name);
    return (last?.added ?? addedTo(account)).some(isMissing) || isDeepStrictEqual(last, plan);
  }

  /** The cache keeps none but ours. */
  async function isAnnotated(
    { metadata }: AccountRecord,
    { kube: client, signal }: Pick<KeyedPass, "kube" | "signal">,
  ) {
    if (metadata.annotations) return true;
    return (await client.getMetadata(serviceAccounts, metadata, { signal }))?.metadata.annotations !== undefined;
  }

  function leftOf(key: string): Ending {
    const leftMs = contests.leftMs(key);
    return leftMs > 0 ? { recheckAfterMs: leftMs } : {};
  }

  /** The policy of another way goes once all accounts are served. */
  async function leavePolicy({ kube: fenced, signal }: KeyedPass): Promise<Ending> {
    await options.demand().learn({ signal });
    isBegun = true;
    // Until then Pods are given names of before, whose copies must not go.
    if (accounts.list().some(isOpen)) return { recheckAfterMs: lookAgainMs, isPutOff: true };
    if (isAlone) return {};
    await removeObjects(version, { kube: fenced, installation, signal });
    isAlone = true;
    return {};
  }
}
