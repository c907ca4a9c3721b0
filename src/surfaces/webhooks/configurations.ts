import { managedByLabel, managedByValue } from "../../api/marks.ts";
import type { Call, Kube } from "../../kube/client.ts";
import type { Hook } from "../../runtime/admission.ts";
import { type WebhookConfiguration, webhookConfigurations } from "./registration-plan.ts";

const kinds = Object.keys(webhookConfigurations) as readonly Hook["kind"][];
const ours = { labelSelector: `${managedByLabel}=${managedByValue}` };

/** A webhook configuration of Latchkey's and where it leads. */
interface ListedConfiguration {
  readonly name: string;
  readonly kind: Hook["kind"];
  readonly leadsTo: string;
}

export async function listConfigurations(kube: Kube, call: Call): Promise<readonly ListedConfiguration[]> {
  const found: ListedConfiguration[] = [];
  for (const kind of kinds) {
    const listed = await kube.list<WebhookConfiguration>(webhookConfigurations[kind], ours, call);
    for (const { metadata, webhooks } of listed) {
      const { url, service } = webhooks?.[0]?.clientConfig ?? {};
      const leadsTo = url ?? (service ? `service ${service.namespace}/${service.name}` : "nowhere");
      found.push({ name: metadata.name, kind, leadsTo });
    }
  }
  return found;
}

/** Deletes those of these names that carry our label: neither alone proves that one is ours. Answers what it deleted. */
export async function removeConfigurations(
  kube: Kube,
  names: readonly string[],
  call: Call,
): Promise<readonly string[]> {
  return await removeStale(kube, () => names, call);
}

/** As `removeConfigurations`, where each kind has names of its own. */
export async function removeStale(
  kube: Kube,
  namesOf: (kind: Hook["kind"]) => readonly string[],
  call: Call,
): Promise<readonly string[]> {
  const removed: string[] = [];
  for (const kind of kinds) {
    const resource = webhookConfigurations[kind];
    const names = namesOf(kind);
    for (const { metadata } of await kube.listMetadata(resource, ours, call)) {
      const { name, uid } = metadata;
      if (!names.includes(name)) continue;
      await kube.delete(resource, { name }, { ...call, preconditions: { uid } });
      removed.push(`${resource.kind} ${name}`);
    }
  }
  return removed;
}
