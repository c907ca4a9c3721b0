import { isDeepStrictEqual } from "node:util";
import { type KubeObject, keyOf } from "../../../api/objects.ts";
import { isEnforcing } from "../../../api/pods.ts";
import { forAll } from "../../../kube/all-of.ts";
import type { Change } from "../../../kube/cache.ts";
import { Gaps } from "../../../runtime/gaps.ts";
import type { KeyedPass } from "../../../runtime/run-keyed.ts";
import { suffixedIn } from "../naming.ts";
import { exemptAmong, isMarked, openIdentities, removeEntries } from "./accounts.ts";
import { type Ending, type WayOptions, type WorkingWay, wholeCluster } from "./injector.ts";
import { type InjectionState, noNames } from "./mode.ts";
import {
  bindingKind,
  ensureObject,
  heededAfterMs,
  type InjectionKind,
  isOurs,
  openObject,
  type PolicyVersion,
  policyKind,
  recordKind,
} from "./objects.ts";
import { bindingSpecOf, fitting, policySpecOf } from "./policy.ts";
import { type Naming, parseRecord, recordDataOf } from "./record.ts";

/** The API server goes by a new policy within a second. */
const inForceAfterMs = 2_000;
/** Whoever undoes what we restore gets no quicker answer. */
const restoreGapMs = 1_000;

interface Wanted {
  readonly naming: Naming;
  /** Namespaces whose names do not fit. */
  readonly leftOut: readonly string[];
  readonly excluded: readonly string[];
}

/** Pods get their names from a policy of the cluster itself, which goes on without us. */
export function policyWay(version: PolicyVersion, options: WayOptions): WorkingWay {
  const { kube, log, installation, replication } = options;
  const kinds = { record: recordKind, policy: policyKind(version), binding: bindingKind(version) };
  const record = openObject(kinds.record, kube, log);
  const policy = openObject(kinds.policy, kube, log);
  const binding = openObject(kinds.binding, kube, log);
  const accounts = openIdentities(kube, log);
  const gaps = new Gaps(restoreGapMs);
  let read: { readonly version: string; readonly naming: Naming } | undefined;
  let state: InjectionState = { kind: "pending" };
  let writtenAtMs = Number.NEGATIVE_INFINITY;
  let lastWanted: Wanted | undefined;

  return {
    caches: [record, policy, binding, accounts],
    recorded() {
      const found = record.get(keyOf(kinds.record.ref));
      if (!found || !isOurs(found, kinds.record.ref, installation)) return noNames;
      const { resourceVersion } = found.metadata;
      if (read?.version !== resourceVersion) read = { version: resourceVersion, naming: parseRecord(found.data) };
      return read.naming;
    },
    keys: () => [],
    begin(wake) {
      const wakeAll = () => wake(wholeCluster);
      const stops = [
        ...[record, policy, binding].map((cache) => cache.subscribe(wakeAll)),
        accounts.subscribe((change) => void (concernsPods(change) && wakeAll())),
        replication.namespaces.subscribe((change) => void (options.demand().concerns(change) && wakeAll())),
      ];
      return () => {
        for (const stop of stops) stop();
      };
    },
    async pass(_key, pass) {
      const wanted = await wantedObjects(pass);
      const waitMs = isDeepStrictEqual(wanted, lastWanted) ? gaps.waitMs(wholeCluster) : 0;
      if (waitMs > 0) return { isPutOff: true, recheckAfterMs: waitMs };
      lastWanted = wanted;
      await writeObjects(wanted, pass);
      const { recheckAfterMs = leftMs(heededAfterMs) } = await leaveAccounts(pass);
      return { recheckAfterMs };
    },
    // Pods that are created right now may still get the names of before.
    state: () => (state.kind === "active" && leftMs(heededAfterMs) !== undefined ? { kind: "pending" } : state),
  };

  async function wantedObjects({ signal }: KeyedPass): Promise<Wanted> {
    const demand = options.demand();
    await demand.learn({ signal });
    const isServed = (name: string) => demand.isServed(replication.namespaces.get(name));
    const { naming, leftOut } = fitting(demand.naming(exemptAmong(accounts.list(), isServed)));
    return { naming, leftOut, excluded: demand.claims.excluded };
  }

  /** The binding is refused before its policy is there. */
  async function writeObjects({ naming, leftOut, excluded }: Wanted, { kube: fenced, signal }: KeyedPass) {
    const ensure = async (kind: InjectionKind, content: object, cache: typeof record) => {
      if (!(await ensureObject(kind, content, cache, { kube: fenced, installation, signal }))) return;
      writtenAtMs = performance.now();
      gaps.happened(wholeCluster);
    };
    await ensure(kinds.record, recordDataOf(naming), record);
    await ensure(kinds.policy, policySpecOf(naming), policy);
    await ensure(kinds.binding, bindingSpecOf({ excludedNamespaces: excluded }), binding);
    const exempt = [...naming.exempt.values()].flat().length;
    state = { kind: "active", suffixed: suffixedIn(naming), exempt, contested: [] };
    if (leftOut.length > 0) {
      const message = `the names of ${leftOut.length} namespaces do not fit into the policy, e.g. ${leftOut[0]}`;
      state = { kind: "failed", reason: "Collision", message };
    }
  }

  /** Until the last write is that old. */
  function leftMs(ageMs: number): number | undefined {
    const waitMs = writtenAtMs + ageMs - performance.now();
    return waitMs > 0 ? waitMs : undefined;
  }

  /** What another way has put into accounts goes once the policy is in force. */
  async function leaveAccounts({ kube: fenced, signal }: KeyedPass): Promise<Ending> {
    const marked = accounts.list().filter(isMarked);
    if (marked.length === 0) return {};
    const waitMs = leftMs(inForceAfterMs);
    if (waitMs !== undefined) return { recheckAfterMs: waitMs };
    await forAll(marked, (account) => removeEntries(account, fenced, { signal }));
    return {};
  }
}

function concernsPods({ before, after }: Change<KubeObject>): boolean {
  const factsOf = (account: KubeObject | undefined) => account && [isEnforcing(account), isMarked(account)];
  return !isDeepStrictEqual(factsOf(before) ?? [false, false], factsOf(after) ?? [false, false]);
}
