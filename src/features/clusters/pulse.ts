import { unreachableAfterMs } from "./reachability.ts";

/** How often a cluster that is silent by itself is asked for a sign of life. */
const beatMs = 10_000;
/** How often one that is in trouble is. */
const troubledBeatMs = 1_000;

/** The signs of life of one cluster. */
export class Pulse {
  readonly #now: () => number;
  #heardAtMs = Number.NEGATIVE_INFINITY;
  #troubleSinceMs: number | undefined;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  get isTroubled(): boolean {
    return this.#troubleSinceMs !== undefined;
  }

  /** It answered. */
  heard(): void {
    this.#heardAtMs = this.#now();
    this.#troubleSinceMs = undefined;
  }

  /** Nothing is known against it. */
  clear(): void {
    this.#troubleSinceMs = undefined;
  }

  /** It did not answer, or is about to be tried; trouble counts from the first time. */
  doubt(sinceMs = this.#now()): void {
    this.#troubleSinceMs ??= sinceMs;
  }

  /** How long until silence is to be told of. */
  get leftMs(): number {
    const nowMs = this.#now();
    return (this.#troubleSinceMs ?? nowMs) + unreachableAfterMs - nowMs;
  }

  /** Whether it is to be asked; watches tell by themselves how long ago they heard something. */
  isDoubtful(agesMs: readonly number[]): boolean {
    return this.isTroubled || this.#silentMs(agesMs) >= beatMs;
  }

  nextBeatMs(agesMs: readonly number[]): number {
    return this.isTroubled ? troubledBeatMs : Math.max(troubledBeatMs, beatMs - this.#silentMs(agesMs));
  }

  #silentMs(agesMs: readonly number[]): number {
    return Math.min(this.#now() - this.#heardAtMs, ...agesMs);
  }
}
