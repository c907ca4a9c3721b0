import { isDeepStrictEqual } from "node:util";
import { managedByLabel, managedByValue } from "../../api/marks.ts";
import type { Draft, KubeObject, Resource } from "../../api/objects.ts";
import type { Hook } from "../../runtime/admission.ts";

/** Kinds of objects in which hooks are registered. */
export const webhookConfigurations: Readonly<Record<Hook["kind"], Resource>> = {
  validating: configurations("Validating"),
  mutating: configurations("Mutating"),
};

function configurations(type: "Validating" | "Mutating"): Resource {
  return {
    group: "admissionregistration.k8s.io",
    version: "v1",
    plural: `${type.toLowerCase()}webhookconfigurations`,
    kind: `${type}WebhookConfiguration`,
    namespaced: false,
  };
}

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
  readonly reinvocationPolicy?: string;
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
  readonly kind: Hook["kind"];
  readonly name: string;
  readonly hooks: readonly Hook[];
}

export function registrationsOf(hooks: readonly Hook[]): readonly Registration[] {
  const byKind = Map.groupBy(hooks, ({ kind }) => kind);
  return [...byKind].flatMap(([kind, ofKind]) => {
    const byName = Map.groupBy(ofKind, ({ configuration }) => configuration);
    return [...byName].map(([name, own]) => ({ kind, name, hooks: own }));
  });
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
      namespaceSelector: hook.namespaceSelector ?? {},
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
      sideEffects: hook.sideEffects,
      timeoutSeconds: 3,
      ...(hook.kind === "mutating" && { reinvocationPolicy: "IfNeeded" }),
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
