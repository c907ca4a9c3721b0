import type { WatchCache } from "../../kube/cache.ts";
import type { Reference } from "../../pullsecrets/references.ts";
import { type Credentials, credentialsOf } from "./credentials.ts";
import type { Defaults } from "./defaults.ts";
import type { ClusterRecord } from "./record.ts";

/** All Clusters there are, and which pull secrets each of them gets. */
export class Roster {
  readonly defaults: Defaults;
  readonly #attached = Promise.withResolvers<WatchCache<ClusterRecord>>();
  #records: WatchCache<ClusterRecord> | undefined;

  constructor(defaults: Defaults) {
    this.defaults = defaults;
  }

  attach(records: WatchCache<ClusterRecord>): void {
    this.#records = records;
    this.#attached.resolve(records);
  }

  /** Resolves once what is said here can be believed. */
  async synced(): Promise<void> {
    await Promise.all([this.#attached.promise.then((records) => records.synced()), this.defaults.synced()]);
  }

  get records(): readonly ClusterRecord[] {
    return this.#records?.list() ?? [];
  }

  credentialsOf(record: ClusterRecord): Credentials {
    return credentialsOf(record.wish, this.defaults.credentials);
  }

  /** Everything that somebody references; a Cluster that is being deleted wants nothing any more. */
  *references(): Iterable<Reference> {
    for (const record of this.#staying) yield* this.credentialsOf(record).references;
    yield* this.defaults.credentials.references;
  }

  /** One of the Clusters is the home, or was when it was last looked at. */
  hasHome(homeId: string): boolean {
    return this.#staying.some(({ wish, status }) => wish.isHome || status?.clusterID === homeId);
  }

  /** Tells which references a change of Clusters or of the default concerns. */
  onChange(listener: (references: readonly Reference[]) => void): void {
    this.defaults.onChange((before) => listener([...before.references, ...this.defaults.credentials.references]));
    void this.#attached.promise.then((records) => {
      records.subscribe(({ before, after }) => {
        for (const record of [before, after]) if (record) listener(this.credentialsOf(record).references);
      });
    });
  }

  get #staying(): readonly ClusterRecord[] {
    return this.records.filter(({ metadata }) => !metadata.deletionTimestamp);
  }
}
