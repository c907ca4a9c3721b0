import { kubermaticConfigurations } from "../../api/kinds.ts";
import type { KubermaticConfiguration, KubermaticConfigurationStatus } from "../../api/kubermatic-configuration.ts";
import { referencesAnnotation } from "../../api/marks.ts";
import { apiVersionOf, controllerOf, type KubeObject, keyOf, type NamespacedRef } from "../../api/objects.ts";
import { stringOf } from "../../kube/json.ts";
import { parseReferences, type Reference } from "../../pullsecrets/references.ts";
import type { Fingerprint } from "../../replication/fingerprint.ts";
import { type ConfigVerdict, judgeDockerConfig } from "./docker-config.ts";
import { type ClustersMode, isReference, parseToldStatus, withoutApplied } from "./record.ts";

/** The default as its writer gave it. */
export type Given =
  /** The text itself: what it comes to, and what the Secret made of it will be like. The text is not kept. */
  | { readonly kind: "inline"; readonly verdict: ConfigVerdict; readonly fingerprint: string }
  | { readonly kind: "references"; readonly references: readonly Reference[] }
  | { readonly kind: "unreadable"; readonly objection: string };

/** What is remembered of a KubermaticConfiguration: no credential. */
export interface ConfigurationRecord extends KubeObject {
  readonly given: Given;
  readonly status?: KubermaticConfigurationStatus;
}

export const inlineSecretName = "latchkey-default-pull-secret";
export const inlineSecretType = "kubernetes.io/dockerconfigjson";

/** The Secret that an inline default becomes. */
export const inlineSourceOf = (namespace: string): NamespacedRef => ({ namespace, name: inlineSecretName });

/** Whether a Secret by that name was made of an inline default; of whichever configuration, for only one counts. */
export function isInlineSecret(secret: KubeObject): boolean {
  const { apiVersion, kind } = controllerOf(secret) ?? {};
  return kind === kubermaticConfigurations.kind && apiVersion === apiVersionOf(kubermaticConfigurations);
}

export const describeHeld = (namespace: string): string =>
  `Secret ${keyOf(inlineSourceOf(namespace))} is there already and is not ours`;

export const inlineDataOf = (text: string): Readonly<Record<string, string>> => ({
  ".dockerconfigjson": Buffer.from(text).toString("base64"),
});

export function configurationRecordOf(
  object: KubeObject,
  { mode, fingerprint }: { readonly mode: ClustersMode; readonly fingerprint: Fingerprint },
): ConfigurationRecord {
  const status = mode === "instead" ? (object as KubermaticConfiguration).status : parseToldStatus(object);
  return { metadata: withoutApplied(object), given: givenIn(object, mode, fingerprint), ...(status && { status }) };
}

function givenIn(object: KubeObject, mode: ClustersMode, fingerprint: Fingerprint): Given {
  const { imagePullSecret, imagePullSecretRef: reference } =
    (object as KubermaticConfiguration).spec?.userCluster ?? {};
  // The original's schema may have anything there.
  const text = stringOf(imagePullSecret);
  if (isReference(reference)) return { kind: "references", references: [reference] };
  const annotation = object.metadata.annotations?.[referencesAnnotation] ?? "";
  if (mode === "beside" && !text && annotation) {
    const parsed = parseReferences(annotation, {});
    return "objection" in parsed ? { kind: "unreadable", ...parsed } : { kind: "references", ...parsed };
  }
  const verdict = judgeDockerConfig(text);
  const print = verdict.kind === "valid" ? fingerprint(inlineSecretType, inlineDataOf(text ?? "")) : "";
  return { kind: "inline", verdict, fingerprint: print };
}
