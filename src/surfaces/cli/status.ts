import { crdNameOf, leases } from "../../api/objects.ts";
import type { FeatureEntry, Problem, Summary } from "../../features/feature.ts";
import type { Call, Kube } from "../../kube/client.ts";
import { type CrdState, getCrdState } from "../../kube/crd-state.ts";
import { type Lease, leaseMs, leaseName } from "../../runtime/lease-move.ts";
import { decideFeatureMode } from "../../runtime/modes.ts";

/** What the cluster tells about Latchkey; the JSON of `latchkey status -o json`. */
export interface StatusReport {
  readonly server: string;
  readonly operator: OperatorStatus;
  readonly features: readonly FeatureStatus[];
  readonly webhooks: readonly { readonly name: string; readonly kind: string; readonly leadsTo: string }[];
  readonly problems: readonly Problem[];
}

interface OperatorStatus {
  readonly namespace: string;
  /** Who holds the Lease; undefined when nobody does. */
  readonly leader: string | undefined;
  readonly renewed: string | undefined;
}

interface FeatureStatus {
  readonly name: string;
  /** The mode in which `auto` runs here. */
  readonly mode: string;
  readonly kinds: readonly { readonly name: string; readonly crd: CrdState }[];
  readonly counts: Summary["counts"];
  readonly table?: Summary["table"];
}

interface StatusSources {
  readonly kube: Kube;
  readonly namespace: string;
  readonly entries: readonly FeatureEntry[];
  readonly listWebhooks: (kube: Kube, call: Call) => Promise<StatusReport["webhooks"]>;
  readonly now: () => Date;
}

export async function getStatus(sources: StatusSources, call: Call): Promise<StatusReport> {
  const { kube, namespace, entries, listWebhooks, now } = sources;
  const lease = await kube.get<Lease>(leases, { namespace, name: leaseName }, call);
  const features: FeatureStatus[] = [];
  const problems: Problem[] = [...operatorProblems(namespace, lease, now())];
  for (const entry of entries) {
    const { feature, problems: own } = await getFeature(kube, entry, call);
    features.push(feature);
    problems.push(...own);
  }
  const operator = { namespace, leader: lease?.spec?.holderIdentity || undefined, renewed: lease?.spec?.renewTime };
  return { server: kube.server, operator, features, webhooks: await listWebhooks(kube, call), problems };
}

async function getFeature(kube: Kube, entry: FeatureEntry, call: Call) {
  const kinds = await Promise.all(
    entry.kinds.map(async (kind) => ({ name: crdNameOf(kind), crd: await getCrdState(kube, kind, call) })),
  );
  const missing = kinds.filter((kind) => kind.crd === "absent");
  if (missing.length > 0) {
    const names = missing.map((kind) => kind.name);
    return { feature: { name: entry.name, mode: "not installed", kinds, counts: [] }, problems: names.map(crdMissing) };
  }
  const decision = decideFeatureMode("auto", entry, kinds);
  if ("refusals" in decision) {
    const problems = decision.refusals.map((message) => ({
      object: `feature/${entry.name}`,
      reason: "ForeignCRD",
      message,
    }));
    return { feature: { name: entry.name, mode: "refused", kinds, counts: [] }, problems };
  }
  const { summarise } = await entry.load();
  const { counts, problems, table } = await summarise(kube, call);
  return { feature: { name: entry.name, mode: decision.mode, kinds, counts, ...(table && { table }) }, problems };
}

function crdMissing(name: string): Problem {
  return {
    object: `CustomResourceDefinition/${name}`,
    reason: "NotInstalled",
    message: "run `latchkey crds --apply`, or start the operator with --install-crds",
  };
}

/** By our own clock, which may differ from the holder's: good enough to tell people, not to act upon. */
function operatorProblems(namespace: string, lease: Lease | undefined, now: Date): readonly Problem[] {
  const { holderIdentity, renewTime } = lease?.spec ?? {};
  const object = `Lease/${namespace}/${leaseName}`;
  if (!holderIdentity) return [{ object, reason: "NoLeader", message: "no operator holds the Lease" }];
  const silentMs = now.getTime() - Date.parse(renewTime ?? "");
  if (!(silentMs > 2 * leaseMs)) return [];
  const message = `${holderIdentity} has not renewed it for ${Math.round(silentMs / 1000)} s`;
  return [{ object, reason: "LeaderSilent", message }];
}
