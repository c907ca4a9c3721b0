import { sourceLabel, vetoAnnotation } from "../api/marks.ts";
import { apiVersionOf, type KubeObject, type NamespacedRef, type Secret, secrets } from "../api/objects.ts";
import { Sensitive } from "../api/sensitive.ts";
import type { Call, GetOptions, Kube } from "../kube/client.ts";
import { isGoneOrReplaced } from "../kube/errors.ts";
import { describeSource, isShared } from "../ownership/holder.ts";
import { type Content, identityOf } from "./copy.ts";
import type { Fingerprint } from "./fingerprint.ts";
import { labelManagersOf } from "./managed-keys.ts";
import { withoutQuotes } from "./redact.ts";

/** What is remembered of a source that carries our label. */
export interface SourceRecord extends KubeObject, Content {
  readonly type: string;
  /** Field managers that hold our label on it. */
  readonly labelManagers: readonly string[];
  /** Its owner wants it in no shared copy. */
  readonly isVetoed: boolean;
  /** Source of which this Secret is itself a shared copy. */
  readonly copyOf?: string;
}

/** A source with its bytes: for the length of a pass. */
export interface SourceContent extends SourceRecord {
  readonly data: Sensitive<Readonly<Record<string, string>>>;
}

export const sourceRecordWith =
  (fingerprint: Fingerprint) =>
  (object: KubeObject): SourceRecord => {
    const { type = "Opaque", data = {}, metadata } = object as Secret;
    return {
      metadata: identityOf(object),
      type,
      keys: Object.keys(data).sort(),
      fingerprint: fingerprint(type, data),
      labelManagers: labelManagersOf(metadata.managedFields, sourceLabel),
      isVetoed: metadata.annotations?.[vetoAnnotation] === "true",
      ...(isShared(object) && { copyOf: describeSource(object) }),
    };
  };

/** Only the bookkeeping about who follows the source is different. */
export function isSameContent(before: SourceRecord, after: SourceRecord): boolean {
  const { metadata: old } = before;
  const { metadata: now } = after;
  return (
    before.fingerprint === after.fingerprint &&
    before.isVetoed === after.isVetoed &&
    before.copyOf === after.copyOf &&
    old.uid === now.uid &&
    old.deletionTimestamp === now.deletionTimestamp
  );
}

export async function readSource(
  kube: Kube,
  ref: NamespacedRef,
  fingerprint: Fingerprint,
  options: GetOptions,
): Promise<SourceContent | undefined> {
  const secret = await kube.get<Secret>(secrets, ref, options);
  if (!secret) return undefined;
  return { ...sourceRecordWith(fingerprint)(secret), data: new Sensitive(secret.data ?? {}) };
}

/** Puts our label on a source in the name of one asker. The API server counts them: each has a field manager of its own. */
export async function labelSource(kube: Kube, source: SourceRecord, manager: string, call: Call): Promise<void> {
  if (source.labelManagers.includes(manager)) return;
  await applyLabels(kube, source, manager, { [sourceLabel]: "true" }, call);
}

/** Withdraws one asker; the label goes with the last, unless somebody else put it there. */
export async function unlabelSource(kube: Kube, ref: NamespacedRef, manager: string, call: Call): Promise<void> {
  const source = await kube.getMetadata(secrets, ref, call);
  if (!source) return;
  if (!labelManagersOf(source.metadata.managedFields, sourceLabel).includes(manager)) return;
  await applyLabels(kube, source, manager, undefined, call).catch((error) => {
    if (!isGoneOrReplaced(error)) throw error;
  });
}

async function applyLabels(
  kube: Kube,
  { metadata }: KubeObject,
  manager: string,
  /** None: our field manager goes altogether; an empty map would keep it listed on the source for ever. */
  labels: Readonly<Record<string, string>> | undefined,
  { signal }: Call,
): Promise<void> {
  const { name, namespace, uid } = metadata;
  // The uid makes sure that a source deleted meanwhile is not created by the apply.
  const draft = {
    apiVersion: apiVersionOf(secrets),
    kind: secrets.kind,
    metadata: { name, ...(namespace && { namespace }), uid, ...(labels && { labels }) },
  };
  const options = { fieldManager: manager, force: true, metadataOnly: true, signal };
  await withoutQuotes(kube, { name, namespace }, {}, { signal }, () => kube.apply(secrets, draft, options));
}
