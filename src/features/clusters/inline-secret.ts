import { kubermaticConfigurations } from "../../api/kinds.ts";
import type { KubermaticConfiguration } from "../../api/kubermatic-configuration.ts";
import { managedByLabel, managedByValue } from "../../api/marks.ts";
import {
  apiVersionOf,
  controllerOf,
  type KubeObject,
  keyOf,
  namespaceOf,
  type Secret,
  secrets,
} from "../../api/objects.ts";
import type { Call, Kube } from "../../kube/client.ts";
import { isGoneOrReplaced, isReason } from "../../kube/errors.ts";
import { unchangedSince } from "../../ownership/marks.ts";
import type { Fingerprint } from "../../replication/fingerprint.ts";
import { withoutQuotes } from "../../replication/redact.ts";
import type { SourceRecord } from "../../replication/source.ts";
import {
  type ConfigurationRecord,
  inlineDataOf,
  inlineSecretType,
  inlineSourceOf,
  isInlineSecret,
} from "./configuration-record.ts";

interface Writing extends Call {
  readonly kube: Kube;
  readonly fingerprint: Fingerprint;
  /** What the cache has of it, if it is followed. */
  readonly known: SourceRecord | undefined;
}

export type Ensured = "kept" | "written" | "held-by-others" | "outdated";

/** Keeps the Secret that an inline default becomes. The text is read when something has to be written, and not kept. */
export async function ensureInlineSecret(
  record: ConfigurationRecord,
  wanted: string,
  writing: Writing,
): Promise<Ensured> {
  const { kube, fingerprint, known, signal } = writing;
  const ref = inlineSourceOf(namespaceOf(record));
  const found = await kube.getMetadata(secrets, ref, { signal });
  if (found && !isInlineSecret(found)) return "held-by-others";
  const isOwn = found !== undefined && isOwnedBy(found, record);
  if (isOwn && known?.metadata.resourceVersion === found.metadata.resourceVersion && known.fingerprint === wanted) {
    return "kept";
  }
  const present = found && (await kube.get<Secret>(secrets, ref, { signal }));
  if (isOwn && present && fingerprint(present.type ?? "", present.data ?? {}) === wanted) return "kept";
  if (present && !isWritable(present)) {
    await removeSecret(present, kube, { signal });
    return "outdated";
  }
  const text = await readText(record, kube, { signal });
  const data = inlineDataOf(text ?? "");
  if (fingerprint(inlineSecretType, data) !== wanted) return "outdated";
  try {
    await withoutQuotes(kube, ref, data, { signal }, () => write(record, present, data, { kube, signal }));
    return "written";
  } catch (error) {
    if (isReason(error, "AlreadyExists", "Conflict", "NotFound")) return "outdated";
    throw error;
  }
}

async function write(
  record: ConfigurationRecord,
  present: Secret | undefined,
  data: Readonly<Record<string, string>>,
  { kube, signal }: Call & { readonly kube: Kube },
): Promise<unknown> {
  const ref = inlineSourceOf(namespaceOf(record));
  const { name, uid } = record.metadata;
  const { kind } = kubermaticConfigurations;
  const ownerReferences = [{ apiVersion: apiVersionOf(kubermaticConfigurations), kind, name, uid, controller: true }];
  if (present) {
    const body = [
      unchangedSince(present.metadata),
      { op: "add", path: "/metadata/ownerReferences", value: ownerReferences } as const,
      { op: "add", path: "/data", value: data } as const,
    ];
    return kube.patch(secrets, ref, { type: "json", body }, { metadataOnly: true, signal });
  }
  const metadata = { ...ref, labels: { [managedByLabel]: managedByValue }, ownerReferences };
  return kube.create<Secret>(secrets, { metadata, type: inlineSecretType, data }, { metadataOnly: true, signal });
}

async function readText({ metadata }: KubeObject, kube: Kube, call: Call): Promise<string | undefined> {
  const found = await kube.get<KubermaticConfiguration>(kubermaticConfigurations, metadata, call);
  return found?.metadata.uid === metadata.uid ? found.spec?.userCluster?.imagePullSecret : undefined;
}

/** Whether the Secret of an inline default is there and this configuration's. */
export async function findInlineSecret(
  record: ConfigurationRecord,
  kube: Kube,
  call: Call,
): Promise<KubeObject | undefined> {
  const found = await kube.getMetadata(secrets, inlineSourceOf(namespaceOf(record)), call);
  return found && isOwnedBy(found, record) ? found : undefined;
}

/** Takes it away if it is this configuration's. Tells whether it was there. */
export async function removeInlineSecret(record: ConfigurationRecord, kube: Kube, { signal }: Call): Promise<boolean> {
  const found = await findInlineSecret(record, kube, { signal });
  return found !== undefined && (await removeSecret(found, kube, { signal }));
}

async function removeSecret({ metadata }: KubeObject, kube: Kube, { signal }: Call): Promise<boolean> {
  const { uid, resourceVersion } = metadata;
  try {
    return await withoutQuotes(kube, metadata, {}, { signal }, () =>
      kube.delete(secrets, metadata, { preconditions: { uid, resourceVersion }, signal }),
    );
  } catch (error) {
    if (isGoneOrReplaced(error)) return false;
    throw error;
  }
}

/** The configuration that counted before leaves it to the next. */
const isOwnedBy = (secret: KubeObject, { metadata }: KubeObject): boolean => controllerOf(secret)?.uid === metadata.uid;

/** Neither can be changed: somebody put another one there. */
const isWritable = ({ type, immutable }: Secret): boolean => type === inlineSecretType && immutable !== true;

export const inlineKeyOf = (record: KubeObject): string => keyOf(inlineSourceOf(namespaceOf(record)));
