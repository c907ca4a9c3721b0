import { keyOf, type NamespacedRef, namespaceOf, refOf } from "../../api/objects.ts";
import { type Pod, pods as podResource } from "../../api/pods.ts";
import type { Change, WatchCache } from "../../kube/cache.ts";
import type { Call, Kube, Page } from "../../kube/client.ts";
import type { NameWatches } from "../../kube/name-watches.ts";
import { type PodRecord, podRecordOf } from "./pod-record.ts";

interface LastLookOptions {
  /** Pods that something was put into. */
  readonly pods: Pick<WatchCache<PodRecord>, "by" | "subscribe">;
  readonly kube: Pick<Kube, "get" | "page">;
  /** For Pods of users, which no cache holds. */
  readonly podWatches: Pick<NameWatches, "follow">;
  /** Something may have changed for a source. */
  readonly wake: (source: string) => void;
}

/** A Pod that still names a copy of this source. */
interface Obstacle {
  readonly source: string;
  readonly pod: NamespacedRef;
  /** Ends the following of a Pod that no cache holds. */
  readonly stop?: () => void;
}

type Test = (pod: PodRecord) => boolean;

const unfinished = "status.phase!=Succeeded,status.phase!=Failed";
const pageSize = 500;

/** Looks for Pods that name a copy before it is deleted; remembers one that stands in the way. */
export class LastLook implements Disposable {
  readonly #options: LastLookOptions;
  /** By the key of the copy. */
  readonly #obstacles = new Map<string, Obstacle>();
  readonly #unsubscribe: () => void;

  constructor(options: LastLookOptions) {
    this.#options = options;
    this.#unsubscribe = options.pods.subscribe((change) => this.#onPod(change));
  }

  /** `counts` tells which Pods matter. */
  async mayGo(copy: NamespacedRef, source: string, counts: Test, call: Call): Promise<boolean> {
    const key = keyOf(copy);
    const isInTheWay: Test = (pod) => !pod.isFinished && pod.names.has(copy.name) && counts(pod);
    const cached = this.#options.pods.by("namespace", copy.namespace).find(isInTheWay);
    if (cached) {
      this.#set(key, { source, pod: refOf(cached) });
      return false;
    }
    if (await this.#isStillThere(key, isInTheWay, call)) return false;
    const found = await this.#find(copy.namespace, isInTheWay, call);
    this.#set(key, found && this.#followed(key, source, found, isInTheWay));
    return !found;
  }

  /** Another replica looks from now on. */
  clear(): void {
    for (const key of [...this.#obstacles.keys()]) this.#set(key, undefined);
  }

  [Symbol.dispose](): void {
    this.#unsubscribe();
    this.clear();
  }

  #set(copy: string, obstacle: Obstacle | undefined): void {
    this.#obstacles.get(copy)?.stop?.();
    if (obstacle) this.#obstacles.set(copy, obstacle);
    else this.#obstacles.delete(copy);
  }

  /** A namespace may have thousands of Pods: the one that stood in the way last time is asked first. */
  async #isStillThere(copy: string, isInTheWay: Test, { signal }: Call): Promise<boolean> {
    const obstacle = this.#obstacles.get(copy);
    if (!obstacle?.stop) return false;
    const pod = await this.#options.kube.get<Pod>(podResource, obstacle.pod, { signal });
    return pod !== undefined && isInTheWay(podRecordOf(pod));
  }

  async #find(namespace: string, isInTheWay: Test, { signal }: Call): Promise<PodRecord | undefined> {
    let continueToken: string | undefined;
    do {
      const options = { namespace, fieldSelector: unfinished, limit: pageSize, continueToken };
      const page: Page<Pod> = await this.#options.kube.page<Pod>(podResource, options, { signal });
      const found = page.items.map(podRecordOf).find(isInTheWay);
      if (found) return found;
      continueToken = page.continueToken;
    } while (continueToken);
    return undefined;
  }

  #followed(copy: string, source: string, pod: PodRecord, isInTheWay: Test): Obstacle {
    const { wake, podWatches } = this.#options;
    const { uid, resourceVersion } = pod.metadata;
    const look = async () => {
      // It may come and go between ready and not for years: that is nobody's business.
      if (!(await this.#isStillThere(copy, isInTheWay, {}).catch(() => false))) wake(source);
    };
    const stop = podWatches.follow(refOf(pod), (now) => {
      if (now?.metadata.resourceVersion === resourceVersion) return;
      if (now?.metadata.uid === uid) return void look();
      // Otherwise it would be followed on after the copy has gone in another way.
      this.#set(copy, undefined);
      wake(source);
    });
    return { source, pod: refOf(pod), stop };
  }

  #onPod({ key, before, after }: Change<PodRecord>): void {
    if (!before || (after && after.metadata.uid === before.metadata.uid && !after.isFinished)) return;
    for (const name of before.names) {
      const copy = keyOf({ namespace: namespaceOf(before), name });
      const obstacle = this.#obstacles.get(copy);
      if (!obstacle || keyOf(obstacle.pod) !== key) continue;
      this.#set(copy, undefined);
      this.#options.wake(obstacle.source);
    }
  }
}
