import { statusAnnotation } from "../api/marks.ts";
import { apiVersionOf, type KubeObject, keyOf, type Resource } from "../api/objects.ts";
import type { WatchCache } from "../kube/cache.ts";
import { isDenied, isGoneOrReplaced, isReason } from "../kube/errors.ts";
import { Backoffs } from "./backoffs.ts";
import type { Pass } from "./controller.ts";
import { Gaps } from "./gaps.ts";

const gapMs = 10_000;

interface WriterOptions {
  readonly resource: Resource;
  /** Where these objects are cached. */
  readonly objects: () => Pick<WatchCache, "writing">;
}

/** Writes our annotation on the original's objects, and no other byte of them. */
export class BesideWriter {
  readonly #options: WriterOptions;
  readonly #gaps = new Gaps(gapMs);
  /** The original or a policy may refuse any write of an object that it would not accept today. */
  readonly #refused = new Backoffs();

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  /** Without text it is taken away. Tells how long to wait when the last time is too short ago, or it was refused. */
  async write(
    object: KubeObject,
    text: string | undefined,
    pass: Pick<Pass, "kube" | "signal" | "log">,
  ): Promise<number> {
    const { uid } = object.metadata;
    const waitMs = this.#refused.isDue(uid) ? this.#gaps.waitMs(uid) : this.#refused.nextDueMs(uid);
    if (waitMs) return waitMs;
    const write = () => (text === undefined ? this.#remove(object, pass) : this.#apply(object, text, pass));
    try {
      await this.#options.objects().writing(keyOf(object.metadata), write);
    } catch (error) {
      if (isRefused(error)) {
        pass.log.warn("the status cannot be told", { object: keyOf(object.metadata), error });
        this.#refused.failed(uid);
        return this.#refused.nextDueMs(uid) ?? gapMs;
      }
      if (!isGoneOrReplaced(error)) throw error;
    }
    this.#refused.clear(uid);
    this.#gaps.happened(uid);
    return 0;
  }

  forget(uid: string): void {
    this.#gaps.forget(uid);
    this.#refused.clear(uid);
  }

  #apply({ metadata }: KubeObject, text: string, { kube, signal }: Pick<Pass, "kube" | "signal">) {
    const { resource } = this.#options;
    const { name, namespace, uid } = metadata;
    const told = { name, ...(namespace && { namespace }), uid, annotations: { [statusAnnotation]: text } };
    const draft = { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata: told };
    return kube.apply<KubeObject>(resource, draft, { force: true, signal });
  }

  /** Whoever wrote it: an apply would leave what somebody else has pasted. */
  #remove({ metadata }: KubeObject, { kube, signal }: Pick<Pass, "kube" | "signal">) {
    const body = { metadata: { uid: metadata.uid, annotations: { [statusAnnotation]: null } } };
    return kube.patch<KubeObject>(this.#options.resource, metadata, { type: "merge", body }, { signal });
  }
}

const isRefused = (error: unknown): boolean =>
  !isGoneOrReplaced(error) && (isDenied(error) || isReason(error, "Forbidden", "Invalid"));
