import { setTimeout as sleep } from "node:timers/promises";
import { Contents } from "../lib/contents.ts";
import { changePullSecret, checkCopies, configKey, copyLabel, pullSecretData } from "../lib/sidecars.ts";
import type { Ground, Member } from "./ground.ts";

/** Between rounds: what follows from one, the status above all, is not in the way of the next. */
const pauseMs = 500;

interface Watched extends Member {
  readonly copies: Contents;
}

/** Changes of the source, and how long the healthy clusters take to have each. */
export class Rounds implements AsyncDisposable {
  readonly #ground: Ground;
  readonly #healthy: readonly Watched[];
  #mark = "";
  #count = 0;

  constructor(ground: Ground) {
    this.#ground = ground;
    this.#healthy = ground.healthy.map((member) => {
      return { ...member, copies: new Contents(member.kube, copyLabel, configKey) };
    });
  }

  async synced(): Promise<void> {
    await Promise.all(this.#healthy.map(({ copies }) => copies.synced()));
  }

  /** One change: milliseconds until the last copy in the last of the healthy clusters was right. */
  async run(): Promise<number> {
    this.#mark = `propagation ${this.#count++}`;
    const value = pullSecretData(this.#mark)[configKey];
    const seen = Promise.all(this.#healthy.map(({ copies, spaces }) => copies.untilAll(spaces.length, value)));
    const from = performance.now();
    await changePullSecret(this.#ground.arena.kube, 0, this.#mark);
    const ms = Math.max(...(await seen)) - from;
    for (const { copies, spaces } of this.#healthy) copies.check(spaces.length, value);
    await sleep(pauseMs);
    return ms;
  }

  async runMany(count: number): Promise<readonly number[]> {
    const times: number[] = [];
    for (let at = 0; at < count; at++) times.push(await this.run());
    return times;
  }

  /** Resolves once all clusters have what the last round brought. */
  async untilEqual(): Promise<void> {
    for (const { kube, spaces } of this.#ground.all) {
      while (!(await isRight(() => checkCopies(kube, spaces, this.#mark)))) await sleep(100);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { copies } of this.#healthy) await copies[Symbol.asyncDispose]();
  }
}

const isRight = (check: () => Promise<void>): Promise<boolean> =>
  check().then(
    () => true,
    () => false,
  );
