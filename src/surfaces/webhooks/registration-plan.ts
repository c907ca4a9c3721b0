import { isDeepStrictEqual } from "node:util";
import { managedByLabel, managedByValue } from "../../api/marks.ts";
import type { Draft, KubeObject, Resource } from "../../api/objects.ts";
import type { ValidatingHook } from "../../runtime/admission.ts";

export const validatingWebhookConfigurations: Resource = {
  group: "admissionregistration.k8s.io",
  version: "v1",
  plural: "validatingwebhookconfigurations",
  kind: "ValidatingWebhookConfiguration",
  namespaced: false,
};

/** The Service of the deployment that leads to the webhook server, on port 443. */
export const admissionServiceName = "latchkey-admission";

export interface WebhookConfiguration extends KubeObject {
  readonly webhooks?: readonly WebhookEntry[];
}

interface WebhookEntry {
  readonly name: string;
  readonly admissionReviewVersions: readonly string[];
  readonly clientConfig: ClientConfig;
  readonly failurePolicy?: string;
  readonly matchPolicy?: string;
  readonly namespaceSelector?: object;
  readonly objectSelector?: object;
  readonly rules?: readonly object[];
  readonly sideEffects?: string;
  readonly timeoutSeconds?: number;
  readonly matchConditions?: readonly object[];
}

interface ClientConfig {
  readonly url?: string;
  readonly service?: {
    readonly namespace: string;
    readonly name: string;
    readonly path?: string;
    readonly port?: number;
  };
  readonly caBundle?: string;
}

/** How the API server reaches the webhook server. */
export type Reach =
  | { readonly kind: "service"; readonly namespace: string }
  | { readonly kind: "url" /** Without a slash at the end. */; readonly baseUrl: string };

/** One webhook configuration object as it should be. */
export interface Registration {
  readonly resource: Resource;
  readonly name: string;
  readonly hooks: readonly ValidatingHook[];
}

export function registrationsOf(hooks: readonly ValidatingHook[]): readonly Registration[] {
  const byName = Map.groupBy(hooks, (hook) => hook.configuration);
  return [...byName].map(([name, own]) => ({ resource: validatingWebhookConfigurations, name, hooks: own }));
}

/** Every field is written out, those the API server would default too: then what is stored can be compared as it is. */
export function configurationOf(
  registration: Registration,
  reach: Reach,
  caBundlePem: string,
): Draft<WebhookConfiguration> {
  const caBundle = Buffer.from(caBundlePem, "utf8").toString("base64");
  return {
    metadata: { name: registration.name, labels: { [managedByLabel]: managedByValue } },
    webhooks: registration.hooks.map((hook) => ({
      name: hook.name,
      admissionReviewVersions: ["v1"],
      clientConfig: { ...addressOf(reach, hook.path), caBundle },
      failurePolicy: hook.failurePolicy,
      matchPolicy: "Equivalent",
      namespaceSelector: {},
      objectSelector: {},
      rules: [
        {
          apiGroups: [hook.resource.group],
          apiVersions: [hook.resource.version],
          operations: hook.operations,
          resources: [hook.resource.plural],
          scope: "*",
        },
      ],
      sideEffects: "None",
      timeoutSeconds: 3,
      ...(hook.matchConditions && hook.matchConditions.length > 0 && { matchConditions: hook.matchConditions }),
    })),
  };
}

function addressOf(reach: Reach, path: string): Omit<ClientConfig, "caBundle"> {
  if (reach.kind === "url") return { url: `${reach.baseUrl}${path}` };
  return { service: { namespace: reach.namespace, name: admissionServiceName, path, port: 443 } };
}

/** Whether what is stored is what we want. Entries and conditions that others added count as a difference: the object is ours. */
export function isRegistered(actual: WebhookConfiguration, desired: Draft<WebhookConfiguration>): boolean {
  return (
    actual.metadata.labels?.[managedByLabel] === managedByValue && isDeepStrictEqual(actual.webhooks, desired.webhooks)
  );
}

/** The base URL under which another replica registered itself; undefined where none can be told. */
export function registeredUrlOf(actual: WebhookConfiguration, { hooks }: Registration): string | undefined {
  for (const entry of actual.webhooks ?? []) {
    const path = hooks.find((hook) => hook.name === entry.name)?.path;
    const url = entry.clientConfig.url;
    if (path && url?.endsWith(path)) return url.slice(0, -path.length);
  }
  return undefined;
}

export function registeredCaOf(actual: WebhookConfiguration): string | undefined {
  const bundle = actual.webhooks?.[0]?.clientConfig.caBundle;
  return bundle && Buffer.from(bundle, "base64").toString("utf8");
}

export interface Sight {
  readonly actual: WebhookConfiguration | undefined;
  readonly desired: Draft<WebhookConfiguration>;
  /** `alone`: no election is held. */
  readonly role: "leader" | "standby" | "alone";
  /** What is stored but for the URL is what we want; only outside a cluster. */
  readonly isHeldByPeer: boolean;
  /** The last probe of the registered URL; `unknown` before the first. */
  readonly peer: "alive" | "dead" | "unknown";
}

type RegistrationStep = "keep" | "write" | "leave" | "probe";

/**
 * Replicas outside a cluster share one registration. The elected leader has it; anyone takes it whose holder is dead;
 * nobody else touches it, so that replicas of two versions do not fight over its content either.
 */
export function planRegistration({ actual, desired, role, isHeldByPeer, peer }: Sight): RegistrationStep {
  if (!actual) return "write";
  if (isRegistered(actual, desired)) return "keep";
  if (role === "leader") return "write";
  if (role === "alone" && !isHeldByPeer) return "write";
  if (peer === "unknown") return "probe";
  return peer === "dead" ? "write" : "leave";
}
