import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { apiVersionOf, events, type KubeObject, keyOf, type Resource } from "../api/objects.ts";
import type { Kube } from "../kube/client.ts";
import { FairLimiter } from "../kube/limiter.ts";
import type { Log } from "../kube/log.ts";
import type { Announcement } from "./outcome.ts";
import { timestampOf } from "./status.ts";

interface RecorderOptions {
  readonly kube: Pick<Kube, "create">;
  /** Which replica speaks. */
  readonly identity: string;
  readonly log: Log;
}

const maxMessageLength = 1024;
const maxNameLength = 253;
const concurrentEvents = 4;
/** Situations told outside passes that are remembered. */
const maxTold = 1000;
/** The API server forgets events after this long: what still holds is told again. */
const toldForMs = 3_600_000;
const stopGraceMs = 5_000;

/** Shows Events on users' objects: one per change of situation. It never throws and holds up nobody. */
export class Recorder implements AsyncDisposable {
  readonly #options: RecorderOptions;
  readonly #lastSituation = new Map<string, string>();
  /** By uid and situation, the longest unheard of first: when it was told. */
  readonly #told = new Map<string, number>();
  readonly #limiter = new FairLimiter({ limit: concurrentEvents });
  readonly #sending = new Set<Promise<void>>();
  readonly #stop = new AbortController();

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  /** Sends what a pass announces, unless the last announcement for this object told of the same situation. */
  announce(resource: Resource, object: KubeObject, announcements: readonly Announcement[]): void {
    const { uid } = object.metadata;
    const situation = announcements.map((each) => each.situation ?? each.reason).join("\n");
    if (announcements.length === 0 || this.#stop.signal.aborted || this.#lastSituation.get(uid) === situation) return;
    this.#lastSituation.set(uid, situation);
    for (const announcement of announcements) this.#begin(resource, object, announcement);
  }

  /** Sends an event outside any pass, such as a review's: the same situation of one object is told once an hour. */
  tell(resource: Resource, object: KubeObject, announcement: Announcement): void {
    const situation = `${object.metadata.uid} ${announcement.situation ?? announcement.reason}`;
    const nowMs = performance.now();
    const toldAtMs = this.#told.get(situation) ?? Number.NEGATIVE_INFINITY;
    const isKnown = nowMs - toldAtMs < toldForMs;
    this.#told.delete(situation);
    this.#told.set(situation, isKnown ? toldAtMs : nowMs);
    if (isKnown || this.#stop.signal.aborted) return;
    const [oldest = ""] = this.#told.keys();
    if (this.#told.size > maxTold) this.#told.delete(oldest);
    this.#begin(resource, object, announcement);
  }

  /** The object is gone. */
  forget(uid: string): void {
    this.#lastSituation.delete(uid);
  }

  /** What is on its way may still arrive, within a few seconds. */
  async [Symbol.asyncDispose](): Promise<void> {
    const graceOver = new AbortController();
    await Promise.race([
      Promise.all(this.#sending),
      sleep(stopGraceMs, undefined, { signal: graceOver.signal }).catch(() => undefined),
    ]);
    graceOver.abort();
    this.#stop.abort();
    await Promise.all(this.#sending);
  }

  #begin(resource: Resource, object: KubeObject, announcement: Announcement): void {
    const sending = this.#send(resource, object, announcement).finally(() => this.#sending.delete(sending));
    this.#sending.add(sending);
  }

  async #send(resource: Resource, object: KubeObject, announcement: Announcement): Promise<void> {
    const { kube, identity, log } = this.#options;
    const draft = eventOf(resource, object, announcement, { identity, now: new Date() });
    const { signal } = this.#stop;
    try {
      await this.#limiter.run("events", () => kube.create(events, draft, { signal }), { signal });
    } catch (error) {
      log.debug("an event was not recorded", { object: keyOf(object.metadata), reason: announcement.reason, error });
    }
  }
}

/** A core/v1 Event; one about a cluster-scoped object lives in `default`. */
export function eventOf(
  resource: Resource,
  { metadata }: KubeObject,
  { type, reason, message }: Announcement,
  { identity, now }: { readonly identity: string; readonly now: Date },
) {
  const suffix = `.${randomBytes(8).toString("hex")}`;
  const time = timestampOf(now);
  return {
    metadata: {
      namespace: metadata.namespace ?? "default",
      name: `${metadata.name.slice(0, maxNameLength - suffix.length).replace(/[.-]+$/, "")}${suffix}`,
    },
    involvedObject: {
      apiVersion: apiVersionOf(resource),
      kind: resource.kind,
      name: metadata.name,
      ...(metadata.namespace && { namespace: metadata.namespace }),
      uid: metadata.uid,
      resourceVersion: metadata.resourceVersion,
    },
    type,
    reason,
    message: cut(message),
    count: 1,
    firstTimestamp: time,
    lastTimestamp: time,
    source: { component: "latchkey" },
    reportingComponent: "latchkey.dev/operator",
    reportingInstance: identity.slice(0, 128),
  };
}

/** The API server counts bytes where we count characters. */
function cut(message: string): string {
  if (Buffer.byteLength(message) <= maxMessageLength) return message;
  const bytes = Buffer.from(message).subarray(0, maxMessageLength - 3);
  return `${bytes.toString().replace(/\uFFFD+$/, "")}…`;
}
