import { setTimeout as sleep } from "node:timers/promises";
import { leases } from "../api/objects.ts";
import type { Kube } from "../kube/client.ts";
import { withDeadline } from "../kube/deadline.ts";
import { isReason } from "../kube/errors.ts";
import type { Log } from "../kube/log.ts";
import {
  decideMove,
  type Lease,
  type Move,
  renewDeadlineMs,
  type Sighting,
  sightingOf,
  specAfter,
  specReleased,
} from "./lease-move.ts";
import { leader } from "./metrics.ts";

interface ElectionOptions {
  /** Not fenced: it is the lease that the fence goes by. */
  readonly kube: Kube;
  readonly namespace: string;
  readonly name: string;
  /** Unique among the replicas. */
  readonly identity: string;
  readonly log: Log;
  /** Off: this replica leads from the start and no lease is written. */
  readonly enabled: boolean;
}

const retryMs = 2_000;
const attemptMs = 5_000;

/** What work goes by that is for the leader alone. */
export type Leadership = Pick<Election, "isLeader" | "onChange">;

/** It ends with the signal, too: passes that are under way then are cut off. */
export function leadingWithin(election: Leadership, signal: AbortSignal): Leadership {
  return {
    isLeader: () => !signal.aborted && election.isLeader(),
    onChange(listener) {
      const end = () => listener(false);
      const stop = election.onChange((isLeader) => listener(isLeader && !signal.aborted));
      signal.addEventListener("abort", end, { once: true });
      return () => {
        stop();
        signal.removeEventListener("abort", end);
      };
    },
  };
}

/** One replica acts, the others stand by. Losing the lease, or the API server, makes a standby and nothing worse. */
export class Election implements AsyncDisposable {
  readonly #options: ElectionOptions;
  readonly #listeners = new Set<(isLeader: boolean) => void>();
  readonly #stop = new AbortController();
  #loop: Promise<void> | undefined;
  #seen: Sighting | undefined;
  /** As we wrote it last: it is renewed without reading it again. */
  #held: Lease | undefined;
  /** Leader until then, by the monotonic clock. */
  #untilMs = Number.NEGATIVE_INFINITY;
  #expiry: NodeJS.Timeout | undefined;
  #announced = false;
  #failing = false;

  constructor(options: ElectionOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#options.enabled) this.#loop ??= this.#keepTrying();
    else this.#leadUntil(Number.POSITIVE_INFINITY);
  }

  /** Goes by the clock, not by events: true for no longer than the last renewal allows, even if nothing has run since. */
  isLeader(): boolean {
    return performance.now() < this.#untilMs;
  }

  /** Tells of each change from now on; returns what ends that. */
  onChange(listener: (isLeader: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Hands the lease over. Only once the passes have ended: the next leader starts at once. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#loop;
    const held = this.isLeader() ? this.#held : undefined;
    this.#leadUntil(Number.NEGATIVE_INFINITY);
    if (held) await this.#release(held);
  }

  async #keepTrying(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        // Not cut off by the end: whether a write that was given up has arrived, and what to hand over, nobody knows.
        await withDeadline(attemptMs, undefined, (attempt) => this.#attempt(attempt));
        if (this.#failing) this.#options.log.info("the lease can be read and written again");
        this.#failing = false;
      } catch (error) {
        this.#onFailure(error);
      }
      // Ends early by the abort, which the loop then sees.
      await sleep(retryMs * (0.9 + 0.2 * Math.random()), undefined, { signal }).catch(() => undefined);
    }
  }

  async #attempt(signal: AbortSignal): Promise<void> {
    const { kube, namespace, name, identity } = this.#options;
    const lease = this.#held ?? (await kube.get<Lease>(leases, { namespace, name }, { signal }));
    this.#seen = sightingOf(this.#seen, lease, performance.now());
    const move = decideMove(lease, this.#seen, identity, performance.now());
    if (move === "wait") return this.#leadUntil(Number.NEGATIVE_INFINITY);

    // The lease counts from before the request: whatever the answer takes is no gain of ours.
    const sentMs = performance.now();
    this.#held = await this.#write(move, lease, signal);
    // What ran out while the process slept is told before it begins anew.
    this.#announce();
    this.#leadUntil(sentMs + renewDeadlineMs);
  }

  #write(move: Exclude<Move, "wait">, lease: Lease | undefined, signal: AbortSignal): Promise<Lease> {
    const { kube, namespace, name, identity } = this.#options;
    const spec = specAfter(move, lease?.spec ?? {}, identity, new Date());
    if (!lease) return kube.create<Lease>(leases, { metadata: { namespace, name }, spec }, { signal });
    return kube.replace<Lease>(leases, { ...lease, spec }, { signal });
  }

  #onFailure(error: unknown): void {
    this.#held = undefined;
    if (this.#stop.signal.aborted) return;
    // It is gone, and another replica may create it at once.
    if (isReason(error, "NotFound")) this.#leadUntil(Number.NEGATIVE_INFINITY);
    // Another replica was faster, or our own last write arrived after all: the next attempt reads which.
    if (isReason(error, "Conflict", "AlreadyExists")) return;
    if (!this.#failing) this.#options.log.warn("the lease cannot be read or written", { error });
    this.#failing = true;
  }

  async #release(held: Lease): Promise<void> {
    const { kube, log } = this.#options;
    const released = { ...held, spec: specReleased(held.spec ?? {}, new Date()) };
    try {
      await withDeadline(attemptMs, undefined, (signal) => kube.replace(leases, released, { signal }));
    } catch (error) {
      log.debug("the lease was not released, it will run out", { error });
    }
  }

  #leadUntil(ms: number): void {
    this.#untilMs = ms;
    this.#announce();
  }

  #announce(): void {
    clearTimeout(this.#expiry);
    const leftMs = this.#untilMs - performance.now();
    if (leftMs > 0 && leftMs <= renewDeadlineMs) this.#expiry = setTimeout(() => this.#announce(), Math.ceil(leftMs));

    const isLeader = this.isLeader();
    if (isLeader === this.#announced) return;
    this.#announced = isLeader;
    leader.set(isLeader ? 1 : 0);
    this.#options.log.info(isLeader ? "leading" : "standing by", { replica: this.#options.identity });
    for (const listener of this.#listeners) listener(isLeader);
  }
}
