import { setTimeout as sleep } from "node:timers/promises";
import { ApiError } from "./errors.ts";

/** Nobody waits longer for his turn: he hears at once that it is not yet his turn. */
const maxWaitMs = 10_000;
/** However much later a server wants to be asked again. */
const maxHeldOffMs = 10 * 60_000;

interface HeldOff {
  readonly untilMs: number;
  readonly error: ApiError;
}

/** Who was turned away and told when to come again does not come earlier, whoever sends him. */
export class Patience {
  readonly #heldOff = new Map<string, HeldOff>();

  async run<T>(
    key: string,
    send: () => Promise<T>,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<T> {
    await this.#waitOut(key, signal);
    try {
      const answer = await send();
      this.#heldOff.delete(key);
      return answer;
    } catch (error) {
      if (error instanceof ApiError && error.status === 429) this.#holdOff(key, error);
      throw error;
    }
  }

  async #waitOut(key: string, signal: AbortSignal | undefined): Promise<void> {
    const heldOff = this.#heldOff.get(key);
    const waitMs = (heldOff?.untilMs ?? 0) - performance.now();
    if (!heldOff || waitMs <= 0) return;
    if (waitMs > maxWaitMs) throw heldOff.error;
    await sleep(waitMs, undefined, { signal }).catch((error: unknown) => {
      throw signal?.reason ?? error;
    });
  }

  #holdOff(key: string, error: ApiError): void {
    const nowMs = performance.now();
    for (const [other, { untilMs }] of this.#heldOff) if (untilMs < nowMs) this.#heldOff.delete(other);
    if (error.retryAfterMs === undefined) return;
    this.#heldOff.set(key, { untilMs: nowMs + Math.min(error.retryAfterMs, maxHeldOffMs), error });
  }
}
