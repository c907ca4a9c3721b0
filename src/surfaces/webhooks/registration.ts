import type { Call } from "../../kube/client.ts";
import { Alarm, repeat } from "../../runtime/alarm.ts";
import { removeStale } from "./configurations.ts";
import { Keeper, type KeeperOptions, recheckMs } from "./keeper.ts";
import type { Registration } from "./registration-plan.ts";

interface RegistrarOptions extends KeeperOptions {
  readonly registrations: readonly Registration[];
  /** Names of the configurations of all features, those that are off included. */
  readonly known: readonly string[];
}

/** Keeps all webhook configurations as they should be, each by itself, until disposed. */
export class Registrar implements AsyncDisposable {
  readonly #options: RegistrarOptions;
  readonly #keepers: readonly Keeper[];
  readonly #stopping = new AbortController();
  readonly #alarm = new Alarm();
  #sweeping: Promise<void> | undefined;
  #hasSwept = false;

  constructor(options: RegistrarOptions) {
    this.#options = options;
    this.#keepers = options.registrations.map((registration) => new Keeper(registration, options));
  }

  start(): void {
    const { log } = this.#options;
    const { signal } = this.#stopping;
    for (const keeper of this.#keepers) keeper.start();
    this.#sweeping ??= repeat(() => this.#sweep({ signal }), {
      alarm: this.#alarm,
      everyMs: recheckMs,
      signal,
      onFailure: (error) => log.warn("could not remove stale webhook configurations, trying again", { error }),
    });
  }

  /** Looks again now: certificates or leadership have changed. */
  wake(): void {
    this.#alarm.ring();
    for (const keeper of this.#keepers) keeper.wake();
  }

  /** Every configuration leads to this replica, or to another that is alive. */
  get isSettled(): boolean {
    return this.#keepers.every((keeper) => keeper.isSettled);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#sweeping;
    await Promise.all(this.#keepers.map((keeper) => keeper[Symbol.asyncDispose]()));
  }

  /** Configurations of features that are off now, once: the acting replica knows which features there are. */
  async #sweep(call: Call): Promise<void> {
    const { kube, registrations, known, role, log } = this.#options;
    if (this.#hasSwept || role() === "standby") return;
    const isWanted = (kind: string, name: string) =>
      registrations.some((registration) => registration.kind === kind && registration.name === name);
    const staleOf = (kind: string) => known.filter((name) => !isWanted(kind, name));
    const removed = await removeStale(kube, staleOf, call);
    for (const configuration of removed) log.info("stale webhook configuration removed", { configuration });
    this.#hasSwept = true;
  }
}
