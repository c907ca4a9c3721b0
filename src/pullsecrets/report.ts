import type { MissingVerb } from "../kube/errors.ts";

/** What is to be said about a source. */
export type SourceState =
  | { readonly kind: "usable" }
  | { readonly kind: "missing" }
  | { readonly kind: "type-rejected"; readonly type: string }
  /** It was made by us: `original` is where it comes from. */
  | { readonly kind: "is-a-copy"; readonly original: string }
  | { readonly kind: "vetoed" }
  /** It could not be read. */
  | { readonly kind: "unreadable"; readonly message: string };

/** What came of the copy of one source in one namespace. */
export type Place =
  | { readonly kind: "copied"; readonly name: string }
  /** All names that it could have are held by Secrets that are not its copy. */
  | { readonly kind: "collision"; readonly names: readonly string[] }
  | {
      readonly kind: "refused";
      /** That it would have had. */
      readonly name?: string;
      readonly message: string;
      readonly missing?: MissingVerb;
    }
  /**
   * Not there yet: the namespace is going, or it is tried again soon; in the words of the server if it failed, which
   * may last until somebody cares for it.
   */
  | { readonly kind: "pending"; readonly message?: string; readonly isLasting?: boolean };

/** What the last pass over a source found. */
export interface Report {
  readonly state: SourceState;
  /** By namespace: where a copy is wanted. A source that is not usable has none. */
  readonly places: ReadonlyMap<string, Place>;
  /** By namespace: copies that ought to be gone and could not be deleted; absent where there are none. */
  readonly leftovers?: ReadonlyMap<string, Place>;
}
