import {
  injectLabel,
  managedByLabel,
  managedByValue,
  ownerUidLabel,
  sourceAnnotation,
  sourceLabel,
} from "../api/marks.ts";
import { type KubeObject, type Metadata, namespaces, secrets } from "../api/objects.ts";
import { WatchCache } from "../kube/cache.ts";
import type { Call, Kube } from "../kube/client.ts";
import type { Log } from "../kube/log.ts";
import { NameWatches } from "../kube/name-watches.ts";
import { type CopyRecord, copyRecordOf, identityOf } from "./copy.ts";
import { type Fingerprint, openFingerprint } from "./fingerprint.ts";
import { type SourceRecord, sourceRecordWith } from "./source.ts";
import { Suspects } from "./suspects.ts";
import type { CopyWriter } from "./writes.ts";

/** What is known about the copies and sources of one cluster; all features share it. */
export interface Replication extends AsyncDisposable {
  readonly fingerprint: Fingerprint;
  /** Indexes `owner`: by the owner's UID; `source`: by the key of the source that the annotation names. */
  readonly copies: WatchCache<CopyRecord>;
  /** Index `manager`: by the field manager that holds our label. */
  readonly sources: WatchCache<SourceRecord>;
  readonly namespaces: WatchCache;
  readonly suspects: Suspects;
  /** Single Secrets that carry no label of ours: a missing source, whatever holds a place. */
  readonly names: NameWatches;
  /** To be started, and counted into readiness and liveness. */
  readonly caches: readonly Pick<WatchCache, "name" | "start" | "isSynced" | "health">[];
}

/** What it takes to write copies for one owner during one pass. */
export interface Copying extends Call, Pick<Replication, "fingerprint" | "copies" | "suspects"> {
  readonly namespaces: Pick<WatchCache, "get">;
  readonly kube: Kube;
  readonly writer: CopyWriter;
}

export interface ReplicationOptions extends Call {
  readonly kube: Kube;
  /** Where the key of the fingerprints is kept. */
  readonly namespace: string;
  readonly log: Log;
}

/** Every Secret that says it is a copy of ours. */
export const copiesSelector = `${managedByLabel}=${managedByValue},${ownerUidLabel}`;

/** Opens the caches without starting them. Memory follows the Secrets that are served, not those in the cluster. */
export async function openReplication({ kube, namespace, log, signal }: ReplicationOptions): Promise<Replication> {
  const fingerprint = await openFingerprint(kube, namespace, { signal });
  const copies = openCopies(kube, log);
  const sources = new WatchCache<SourceRecord>({
    ...{ kube, log, name: "sources", resource: secrets },
    selection: { labelSelector: `${sourceLabel}=true` },
    keepManagedFields: true,
    transform: sourceRecordWith(fingerprint),
    indexes: { manager: (source) => source.labelManagers },
  });
  const served = new WatchCache({ kube, log, name: "namespaces", resource: namespaces, metadataOnly: true });
  const names = new NameWatches({ kube, resource: secrets, log });
  return {
    ...{ fingerprint, copies, sources, namespaces: served, suspects: new Suspects(copies), names },
    caches: [copies, sources, served],
    async [Symbol.asyncDispose]() {
      await Promise.all([copies, sources, served, names].map((part) => part[Symbol.asyncDispose]()));
    },
  };
}

/** Copies in another cluster, of sources that are at home. Closing it leaves what is the home's. */
export function openReplicationAway(kube: Kube, home: Replication, log: Log): Replication {
  const copies = openCopies(kube, log);
  const served = new WatchCache({
    ...{ kube, log, resource: namespaces, metadataOnly: true },
    transform: (namespace) => ({ metadata: { ...identityOf(namespace), ...optOutOf(namespace) } }),
  });
  return {
    ...home,
    ...{ copies, namespaces: served, suspects: new Suspects(copies) },
    caches: [copies, served],
    async [Symbol.asyncDispose]() {
      await Promise.all([copies, served].map((part) => part[Symbol.asyncDispose]()));
    },
  };
}

/** All that matters about a namespace besides that it is there. */
function optOutOf({ metadata }: KubeObject): Pick<Metadata, "labels"> {
  const value = metadata.labels?.[injectLabel];
  return value === undefined ? {} : { labels: { [injectLabel]: value } };
}

function openCopies(kube: Kube, log: Log): WatchCache<CopyRecord> {
  return new WatchCache<CopyRecord>({
    ...{ kube, log, name: "copies", resource: secrets },
    selection: { labelSelector: copiesSelector },
    metadataOnly: true,
    keepManagedFields: true,
    transform: copyRecordOf,
    indexes: {
      owner: ({ metadata }) => [metadata.labels?.[ownerUidLabel] ?? ""],
      source: ({ metadata }) => [metadata.annotations?.[sourceAnnotation] ?? ""],
    },
  });
}
