import { managedByLabel, managedByValue } from "../../api/marks.ts";
import type { Resource } from "../../api/objects.ts";
import type { Call, Kube } from "../../kube/client.ts";
import { validatingWebhookConfigurations, type WebhookConfiguration } from "./registration-plan.ts";

/** Kinds of objects in which webhooks are registered. */
const kinds: readonly Resource[] = [validatingWebhookConfigurations];
const ours = { labelSelector: `${managedByLabel}=${managedByValue}` };

/** A webhook configuration of Latchkey's and where it leads. */
interface ListedConfiguration {
  readonly name: string;
  readonly leadsTo: string;
}

export async function listConfigurations(kube: Kube, call: Call): Promise<readonly ListedConfiguration[]> {
  const found: ListedConfiguration[] = [];
  for (const kind of kinds) {
    for (const { metadata, webhooks } of await kube.list<WebhookConfiguration>(kind, ours, call)) {
      const { url, service } = webhooks?.[0]?.clientConfig ?? {};
      const leadsTo = url ?? (service ? `service ${service.namespace}/${service.name}` : "nowhere");
      found.push({ name: metadata.name, leadsTo });
    }
  }
  return found;
}

/** Deletes those of these names that carry our label: neither alone proves that one is ours. Answers which it deleted. */
export async function removeConfigurations(
  kube: Kube,
  names: readonly string[],
  call: Call,
): Promise<readonly string[]> {
  const removed: string[] = [];
  for (const kind of kinds) {
    for (const { metadata } of await kube.listMetadata(kind, ours, call)) {
      if (!names.includes(metadata.name)) continue;
      await kube.delete(kind, { name: metadata.name }, { ...call, preconditions: { uid: metadata.uid } });
      removed.push(metadata.name);
    }
  }
  return removed;
}
