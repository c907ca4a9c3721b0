import type { Selection } from "./paths.ts";
import type { RequestSeen } from "./transport.ts";

export interface Call {
  readonly signal?: AbortSignal | undefined;
}

export interface GetOptions extends Call {
  /** Something this new is good enough: the API server answers from its memory and spares etcd. */
  readonly notOlderThan?: string | undefined;
}

export interface WriteOptions extends Call {
  readonly dryRun?: boolean | undefined;
  /** `latchkey` unless told. */
  readonly fieldManager?: string | undefined;
  /** For whom this is written: fan-outs queue behind one limit, shared fairly. Writes without an owner do not queue. */
  readonly owner?: string | undefined;
  readonly subresource?: "status" | undefined;
  /** Unknown and duplicate fields are refused instead of dropped. */
  readonly fieldValidation?: "Strict" | undefined;
  /** The answer is the metadata alone: no secret bytes come back. */
  readonly metadataOnly?: boolean | undefined;
}

export interface ApplyOptions extends WriteOptions {
  /** Takes over fields that another manager holds. */
  readonly force?: boolean | undefined;
}

interface Preconditions {
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

export interface DeleteOptions extends WriteOptions {
  readonly preconditions?: Preconditions | undefined;
  readonly propagationPolicy?: "Background" | "Foreground" | "Orphan" | undefined;
}

export interface JsonPatchOp {
  readonly op: "add" | "remove" | "replace" | "test";
  readonly path: string;
  readonly value?: unknown;
}

export type Patch =
  | { readonly type: "merge"; readonly body: object }
  | { readonly type: "json"; readonly body: readonly JsonPatchOp[] };

export interface PageOptions extends Selection {
  readonly metadataOnly?: boolean | undefined;
  /** Objects per page. */
  readonly limit?: number | undefined;
  /** Of the page before. */
  readonly continueToken?: string | undefined;
}

export interface Page<T> {
  readonly items: T[];
  /** Of the list as a whole: a watch goes on from here. */
  readonly resourceVersion: string;
  /** Of the next page; undefined on the last one. */
  readonly continueToken: string | undefined;
}

export interface RawOptions extends Call {
  readonly body?: unknown;
  /** A POST that stores nothing, such as an access review: a fenced client may send it. */
  readonly storesNothing?: boolean | undefined;
}

/** For a new client. */
export interface KubeOptions {
  readonly userAgent?: string | undefined;
  readonly onRequest?: ((request: RequestSeen) => void) | undefined;
  /** How many writes of fan-outs are under way at once. */
  readonly maxFanOut?: number | undefined;
}
