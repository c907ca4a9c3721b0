import { isDeepStrictEqual } from "node:util";
import type { WatchCache } from "../../kube/cache.ts";
import type { Call } from "../../kube/client.ts";
import { unlessAborted } from "../../kube/deadline.ts";
import type { NameWatches } from "../../kube/name-watches.ts";
import type { Reference } from "../../pullsecrets/references.ts";
import { type ConfigurationRecord, inlineSourceOf, isInlineSecret } from "./configuration-record.ts";
import { type Credentials, countingOf, globalCredentials } from "./credentials.ts";

interface DefaultsOptions {
  /** Where a configuration counts. */
  readonly namespace: string;
  readonly fallback: Reference | undefined;
  /** Of Secrets at home. */
  readonly names: Pick<NameWatches, "follow">;
}

/** The default of all clusters, as configurations come and go. */
export class Defaults implements Disposable {
  readonly #options: DefaultsOptions;
  readonly #listeners = new Set<(before: Credentials) => void>();
  readonly #attached = Promise.withResolvers<WatchCache<ConfigurationRecord>>();
  readonly #inlineSeen = Promise.withResolvers<void>();
  readonly #stop: () => void;
  #configurations: WatchCache<ConfigurationRecord> | undefined;
  #isInlineHeld = false;
  #current: Credentials;

  constructor(options: DefaultsOptions) {
    this.#options = options;
    this.#current = this.#compute();
    this.#stop = options.names.follow(inlineSourceOf(options.namespace), (secret) => {
      this.#isInlineHeld = secret !== undefined && !isInlineSecret(secret);
      this.#inlineSeen.resolve();
      this.#look();
    });
  }

  [Symbol.dispose](): void {
    this.#stop();
  }

  get namespace(): string {
    return this.#options.namespace;
  }

  attach(configurations: WatchCache<ConfigurationRecord>): void {
    this.#configurations = configurations;
    configurations.subscribe(() => this.#look());
    this.#attached.resolve(configurations);
  }

  /** Resolves once what is said can be believed. */
  async synced({ signal }: Call = {}): Promise<void> {
    const configurations = await unlessAborted(this.#attached.promise, signal);
    await configurations.synced({ signal });
    await unlessAborted(this.#inlineSeen.promise, signal);
    this.#look();
  }

  /** Which pull secrets clusters get that name none. */
  get credentials(): Credentials {
    return this.#current;
  }

  /** The configuration that counts. */
  get counting(): ConfigurationRecord | undefined {
    return countingOf(this.#configurations?.list() ?? [], this.#options.namespace);
  }

  onChange(listener: (before: Credentials) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #compute(): Credentials {
    const configurations = this.#configurations?.list() ?? [];
    return globalCredentials({ ...this.#options, configurations, isInlineHeld: this.#isInlineHeld });
  }

  #look(): void {
    const now = this.#compute();
    if (isDeepStrictEqual(now, this.#current)) return;
    const before = this.#current;
    this.#current = now;
    for (const listener of [...this.#listeners]) listener(before);
  }
}
