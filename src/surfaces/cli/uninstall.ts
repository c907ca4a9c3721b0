import { setTimeout as sleep } from "node:timers/promises";
import { managedByLabel, managedByValue } from "../../api/marks.ts";
import { crdNameOf, crds, keyOf, leases, type NamespacedRef, type Resource, secrets } from "../../api/objects.ts";
import type { FeatureEntry } from "../../features/feature.ts";
import type { Call, Kube } from "../../kube/client.ts";
import { getCrdState } from "../../kube/crd-state.ts";
import type { Settings } from "../../options.ts";
import type { Owner } from "../../ownership/holder.ts";
import { fingerprintKeySecret } from "../../replication/fingerprint.ts";
import { type Lease, leaseName, renewDeadlineMs } from "../../runtime/lease-move.ts";

interface UninstallPlan {
  readonly kube: Kube;
  readonly namespace: string;
  readonly entries: readonly FeatureEntry[];
  readonly installation: Owner;
  readonly settings: Settings;
  readonly copies: "keep" | "delete";
  readonly crds: "keep" | "delete";
  /** Name of the Secret with the certificates of the webhook server. */
  readonly certificateSecret: string;
  readonly removeWebhooks: (kube: Kube, call: Call) => Promise<readonly string[]>;
  readonly write: (text: string) => void;
}

/** Takes everything back, webhooks first: one that is left without an operator refuses what users write. */
export async function uninstall(plan: UninstallPlan, call: Call): Promise<number> {
  const { kube, namespace, entries, write } = plan;
  const lease = { namespace, name: leaseName };
  const holder = await findLiveHolder(kube, lease, call);
  if (holder) {
    write(`The operator is running (${holder} holds the Lease ${keyOf(lease)}). Stop it first, all replicas.\n`);
    return 1;
  }
  for (const configuration of await plan.removeWebhooks(kube, call)) write(`${configuration} deleted\n`);
  const left: string[] = [];
  for (const entry of entries) left.push(...(await uninstallFeature(plan, entry, call)));
  await removeOwn(plan, secrets, plan.certificateSecret, call);
  // While copies name an owner that is still there, an operator installed again must know their fingerprints.
  if (plan.crds === "delete") await removeOwn(plan, secrets, fingerprintKeySecret, call);
  if (await kube.delete(leases, lease, call)) write(`Lease ${keyOf(lease)} deleted\n`);
  for (const line of left) write(`left: ${line}\n`);
  return left.length > 0 ? 1 : 0;
}

/** Tells what could not be taken back. */
async function uninstallFeature(plan: UninstallPlan, entry: FeatureEntry, call: Call): Promise<readonly string[]> {
  const { kube, installation, settings, write } = plan;
  // With their owners gone, the garbage collector would take copies that still name them.
  const copies = plan.crds === "delete" && plan.copies === "keep" ? "orphan" : plan.copies;
  const module = await entry.load();
  // Also when the kinds are gone: what was left on other objects did not go with them.
  const { done, left } = await module.uninstall(kube, { copies, installation, settings, ...call });
  for (const line of done) write(`${line}\n`);
  if (plan.crds === "keep") return left;
  for (const kind of entry.kinds) {
    // Only what we installed ourselves: deleting a CRD deletes all its objects.
    if ((await getCrdState(kube, kind, call)) !== "stand-in") continue;
    if (await kube.delete(crds, { name: crdNameOf(kind) }, call)) {
      write(`CustomResourceDefinition ${crdNameOf(kind)} deleted\n`);
    }
  }
  return left;
}

async function removeOwn(
  { kube, namespace, write }: UninstallPlan,
  kind: Resource,
  name: string,
  call: Call,
): Promise<void> {
  const found = await kube.getMetadata(kind, { namespace, name }, call);
  if (found?.metadata.labels?.[managedByLabel] !== managedByValue) return;
  const preconditions = { uid: found.metadata.uid };
  if (await kube.delete(kind, { namespace, name }, { ...call, preconditions })) {
    write(`${kind.kind} ${namespace}/${name} deleted\n`);
  }
}

/**
 * The replica that acts, if one does. A stopped operator gives the Lease back; one that was killed leaves its name in
 * it, so we look whether the Lease is renewed. The times in it are by another clock and tell nothing.
 */
async function findLiveHolder(kube: Kube, lease: NamespacedRef, call: Call): Promise<string | undefined> {
  const read = () => kube.get<Lease>(leases, lease, call);
  const first = (await read())?.spec;
  if (!first?.holderIdentity) return undefined;
  const giveUpAtMs = performance.now() + renewDeadlineMs + 1000;
  while (performance.now() < giveUpAtMs) {
    await sleep(500, undefined, { signal: call.signal });
    const spec = (await read())?.spec;
    if (!spec?.holderIdentity) return undefined;
    if (spec.renewTime !== first.renewTime) return spec.holderIdentity;
  }
  return undefined;
}
