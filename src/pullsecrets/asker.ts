import type { NamespacedRef } from "../api/objects.ts";
import type { Call } from "../kube/client.ts";

/** Where a copy of a source is wanted: the names under which it is asked for there, the best first; often none. */
export type Wanted = ReadonlyMap<string, readonly string[]>;

/** A feature on whose behalf the installation keeps copies. Sources and copies are told by their keys, `namespace/name`. */
export interface Asker {
  /** What metrics call it, e.g. `sidecars`. */
  readonly feature: string;
  /** Resolves once it knows what it goes by: until then it would take every copy for unwanted. */
  synced(call?: Call): Promise<void>;
  /** Every source that some object lists. */
  sources(): Iterable<string>;
  /** While some object lists a source its copies are kept equal to it, wanted or not. */
  lists(source: string): boolean;
  /** Copies stay as they are when the source is deleted, for as long as all who list it say so. */
  retains(source: string): boolean;
  /** Copies stay as they are whatever becomes of the source, for as long as all who list it say so. */
  holds?(source: string): boolean;
  /** Namespaces that need a copy now. */
  wanted(source: string): Wanted;
  /** Somebody counts on this name for a copy of another source. */
  isReserved(place: NamespacedRef, source: string): boolean;
  /** How long a copy may stay after the last need for it; 0 for one of a source that nobody lists. */
  graceMs(source: string): number;
  /** The last look, live, before a copy goes that nobody wants. Whoever says no wakes the source when that may have changed. */
  mayGo(copy: NamespacedRef, source: string, call: Call): Promise<boolean>;
  /** It had copies made and takes them back: besides it, only those who list the source are asked whether they may go. */
  withdraws?(source: string): boolean;
  /** What is known about a source has changed. */
  onReport(source: string): void;
}
