import { managedByLabel, managedByValue, ownerUidLabel, sourceLabel } from "../api/marks.ts";
import { namespaces, secrets } from "../api/objects.ts";
import { WatchCache } from "../kube/cache.ts";
import type { Call, Kube } from "../kube/client.ts";
import type { Log } from "../kube/log.ts";
import { type CopyRecord, copyRecordOf } from "./copy.ts";
import { type Fingerprint, openFingerprint } from "./fingerprint.ts";
import { type SourceRecord, sourceRecordWith } from "./source.ts";
import { Suspects } from "./suspects.ts";
import type { CopyWriter } from "./writes.ts";

/** What is known about the copies and sources of one cluster. */
export interface Replication {
  readonly fingerprint: Fingerprint;
  /** Index `owner`: by the owner's UID. */
  readonly copies: WatchCache<CopyRecord>;
  /** Index `manager`: by the field manager that holds our label. */
  readonly sources: WatchCache<SourceRecord>;
  readonly namespaces: WatchCache;
  readonly suspects: Suspects;
}

/** What it takes to write copies for one owner during one pass. */
export interface Copying extends Call, Replication {
  readonly kube: Kube;
  readonly writer: CopyWriter;
}

export interface ReplicationOptions extends Call {
  readonly kube: Kube;
  /** Where the key of the fingerprints is kept. */
  readonly namespace: string;
  readonly log: Log;
}

/** Opens the caches without starting them. Memory follows the Secrets that are served, not those in the cluster. */
export async function openReplication({ kube, namespace, log, signal }: ReplicationOptions): Promise<Replication> {
  const fingerprint = await openFingerprint(kube, namespace, { signal });
  const copies = new WatchCache<CopyRecord>({
    kube,
    log,
    name: "copies",
    resource: secrets,
    selection: { labelSelector: `${managedByLabel}=${managedByValue},${ownerUidLabel}` },
    metadataOnly: true,
    keepManagedFields: true,
    transform: copyRecordOf,
    indexes: { owner: (copy) => [copy.metadata.labels?.[ownerUidLabel] ?? ""] },
  });
  return {
    fingerprint,
    copies,
    suspects: new Suspects(copies),
    sources: new WatchCache<SourceRecord>({
      kube,
      log,
      name: "sources",
      resource: secrets,
      selection: { labelSelector: `${sourceLabel}=true` },
      keepManagedFields: true,
      transform: sourceRecordWith(fingerprint),
      indexes: { manager: (source) => source.labelManagers },
    }),
    namespaces: new WatchCache({ kube, log, name: "namespaces", resource: namespaces, metadataOnly: true }),
  };
}
