import { setTimeout as sleep } from "node:timers/promises";
import { type Child, describeEnding, lastLines, startChild } from "./child.ts";
import { ask, type Identity } from "./http.ts";

export interface ComponentOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly logFile: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Answers 200 once the component serves. */
  readonly readyUrl: string;
  readonly identity?: Identity;
}

/** Slow on purpose: two loaded cores, and a build may be running beside. */
const readyWithinMs = 120_000;

/** One server of a control plane, to be broken and mended by tests. */
export class Component implements AsyncDisposable {
  readonly name: string;
  readonly logFile: string;
  readonly #options: ComponentOptions;
  #child: Child | undefined;

  constructor(options: ComponentOptions) {
    this.name = options.name;
    this.logFile = options.logFile;
    this.#options = options;
  }

  get pid(): number | undefined {
    return this.isRunning ? this.#child?.pid : undefined;
  }

  /** Also true while paused. */
  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.ending === undefined;
  }

  /** Resolves once it serves; rejects with the end of its log when it does not come up. */
  async start({ signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<void> {
    if (this.isRunning) return;
    signal?.throwIfAborted();
    this.#child = await startChild(this.#options);
    try {
      await this.#serving(this.#child, signal);
    } catch (error) {
      await this.kill();
      throw error;
    }
  }

  async stop(): Promise<void> {
    await this.#child?.stop();
  }

  /** As a crash would end it. */
  async kill(): Promise<void> {
    await this.#child?.kill();
  }

  /** Stops answering without closing a connection. */
  pause(): void {
    this.#child?.pause();
  }

  resume(): void {
    this.#child?.resume();
  }

  /** Same port, same data. */
  async restart(call: { readonly signal?: AbortSignal | undefined } = {}): Promise<void> {
    await this.stop();
    await this.start(call);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #serving(child: Child, signal: AbortSignal | undefined): Promise<void> {
    const giveUpAt = performance.now() + readyWithinMs;
    while (performance.now() < giveUpAt) {
      signal?.throwIfAborted();
      if (child.ending) throw this.#failure(`ended (${describeEnding(child.ending)})`);
      const answer = await ask(this.#options.readyUrl, this.#options.identity, { signal }).catch(() => undefined);
      if (answer?.status === 200) return;
      await Promise.race([sleep(50), child.ended]);
    }
    throw this.#failure(`does not serve within ${readyWithinMs / 1000} s`);
  }

  #failure(what: string): Error {
    return new Error(`${this.name} ${what}; its log ends with:\n${lastLines(this.logFile)}`);
  }
}
