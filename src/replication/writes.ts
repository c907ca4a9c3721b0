import { fingerprintAnnotation, sourceAnnotation } from "../api/marks.ts";
import { apiVersionOf, type KubeObject, keyOf, type NamespacedRef, type Ref, secrets } from "../api/objects.ts";
import type { WatchCache } from "../kube/cache.ts";
import type { Call, JsonPatchOp, Kube } from "../kube/client.ts";
import { type Marks, markingOperations, unchangedSince } from "../ownership/marks.ts";
import { type CopyRecord, copyRecordOf } from "./copy.ts";
import { copyWrites } from "./metrics.ts";
import { type Data, withoutQuotes } from "./redact.ts";
import type { SourceContent } from "./source.ts";

export interface WriterOptions extends Call {
  readonly kube: Kube;
  /** Told of each write; the cache of copies, where there is one. */
  readonly copies: Pick<WatchCache, "writing">;
  readonly feature: string;
  /** Whose turn these writes count for. */
  readonly asker: string;
  /** Called after each answered write: the pass is getting on. */
  readonly onWritten?: (() => void) | undefined;
}

/** For whoever keeps no cache of copies. */
export const noCache: WriterOptions["copies"] = { writing: (_key, write) => write() };

/** Writes copies of Secrets, counts the writes, and tells the cache of copies, which then wakes nobody. */
export class CopyWriter {
  readonly #options: WriterOptions;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  /** Create, not apply: an apply would overwrite a Secret that our cache has not seen yet. */
  create(target: NamespacedRef, source: SourceContent, marks: Marks): Promise<CopyRecord> {
    const { namespace, name } = target;
    const draft = {
      metadata: { namespace, name, ...marks },
      type: source.type,
      data: source.data.reveal(),
    };
    return this.#write("create", target, draft.data, (options) => this.#options.kube.create(secrets, draft, options));
  }

  /** In place: the kubelet counts on the UID. */
  update(actual: CopyRecord, source: SourceContent, marks: Marks): Promise<CopyRecord> {
    const annotation = (name: string): JsonPatchOp => ({
      op: "add",
      path: `/metadata/annotations/${name.replaceAll("/", "~1")}`,
      value: marks.annotations[name],
    });
    return this.#patch("update", actual, source.data.reveal(), [
      annotation(fingerprintAnnotation),
      annotation(sourceAnnotation),
      ...contentOperations(source),
    ]);
  }

  /** Data and marks; `actual` is the whole metadata, so that nobody else's labels are lost. */
  take(actual: KubeObject, source: SourceContent, marks: Marks): Promise<CopyRecord> {
    const operations = [...markingOperations(actual, marks), ...contentOperations(source)];
    return this.#patch("update", actual, source.data.reveal(), operations);
  }

  /** Makes us the owner of every key even where the value was right already: a patch that changes nothing does not. */
  own(actual: CopyRecord, source: SourceContent): Promise<CopyRecord> {
    const { name, namespace, uid } = actual.metadata;
    const draft = {
      apiVersion: apiVersionOf(secrets),
      kind: secrets.kind,
      metadata: { name, ...(namespace && { namespace }), uid },
      data: source.data.reveal(),
    };
    return this.#write("update", actual.metadata, draft.data, (options) =>
      this.#options.kube.apply(secrets, draft, { ...options, force: true }),
    );
  }

  async unmark(actual: KubeObject, operations: readonly JsonPatchOp[]): Promise<void> {
    await this.#patch("release", actual, {}, operations);
  }

  /** Deletes this very object in this very state, or throws a conflict. */
  async remove(actual: KubeObject): Promise<void> {
    const { kube, copies, asker, signal } = this.#options;
    const { uid, resourceVersion } = actual.metadata;
    const preconditions = { uid, resourceVersion };
    await this.#counted("delete", actual.metadata, {}, () =>
      copies.writing(keyOf(actual.metadata), async () => {
        await kube.delete(secrets, actual.metadata, { preconditions, owner: asker, signal });
        return undefined;
      }),
    );
  }

  #patch(verb: string, actual: KubeObject, sent: Data, operations: readonly JsonPatchOp[]): Promise<CopyRecord> {
    const body = [unchangedSince(actual.metadata), ...operations];
    return this.#write(verb, actual.metadata, sent, (options) =>
      this.#options.kube.patch(secrets, actual.metadata, { type: "json", body }, options),
    );
  }

  async #write(
    verb: string,
    ref: Ref,
    sent: Data,
    write: (options: { metadataOnly: true; owner: string; signal: AbortSignal | undefined }) => Promise<KubeObject>,
  ): Promise<CopyRecord> {
    const { copies, asker, signal } = this.#options;
    let answer: KubeObject | undefined;
    await this.#counted(verb, ref, sent, () =>
      copies.writing(keyOf(ref), async () => {
        answer = await write({ metadataOnly: true, owner: asker, signal });
        return answer;
      }),
    );
    return copyRecordOf(answer as KubeObject);
  }

  async #counted<T>(verb: string, ref: Ref, sent: Data, write: () => Promise<T>): Promise<T> {
    const { kube, feature, onWritten, signal } = this.#options;
    try {
      const answer = await withoutQuotes(kube, ref, sent, { signal }, write);
      copyWrites.inc({ feature, verb, result: "ok" });
      return answer;
    } catch (error) {
      copyWrites.inc({ feature, verb, result: "error" });
      throw error;
    } finally {
      onWritten?.();
    }
  }
}

/** The whole data, so that keys of others go. Another type is refused by the API server, and the copy made anew. */
const contentOperations = (source: SourceContent): readonly JsonPatchOp[] => [
  { op: "add", path: "/type", value: source.type },
  { op: "add", path: "/data", value: source.data.reveal() },
];
