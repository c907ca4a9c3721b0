import { onAbort } from "./deadline.ts";
import { ApiError } from "./errors.ts";

/** How many writes of fan-outs are under way at once against one API server. */
export const maxFanOutWrites = 12;
/** After a 429 the limit grows back by one with each so many successes. */
export const successesPerGrowth = 20;

interface Waiter {
  readonly start: () => void;
}

interface Owner {
  readonly waiting: Set<Waiter>;
  running: number;
  served: number;
}

/**
 * Bounds what is under way at once and shares it fairly: the owner that was served least comes next, so a fan-out of
 * a thousand writes delays another owner's single write by one write at most. With so many under way and no more, the
 * rate follows the server's latency by itself; only a 429 asks for less than that.
 */
export class FairLimiter {
  readonly #most: number;
  readonly #owners = new Map<string, Owner>();
  #limit: number;
  #running = 0;
  #successes = 0;
  #shrinks = 0;

  constructor({ limit }: { readonly limit: number }) {
    this.#most = limit;
    this.#limit = limit;
  }

  /** How many may run at once just now. */
  get limit(): number {
    return this.#limit;
  }

  async run<T>(
    ownerName: string,
    task: () => Promise<T>,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<T> {
    signal?.throwIfAborted();
    const owner = this.#join(ownerName);
    await this.#slot(owner, signal).finally(() => this.#forgetIdle(ownerName, owner));
    const shrinksBefore = this.#shrinks;
    try {
      const result = await task();
      this.#grow();
      return result;
    } catch (error) {
      // Those that were under way together get their 429 together: that is one sign of overload, not many.
      if (error instanceof ApiError && error.status === 429 && this.#shrinks === shrinksBefore) this.#shrink();
      throw error;
    } finally {
      this.#running--;
      owner.running--;
      this.#forgetIdle(ownerName, owner);
      this.#startNext();
    }
  }

  #join(name: string): Owner {
    const known = this.#owners.get(name);
    if (known) return known;
    // A newcomer starts level with the least served: neither behind the others nor with a debt of theirs to collect.
    const served = Math.min(...this.#owners.values().map((owner) => owner.served));
    const owner = { waiting: new Set<Waiter>(), running: 0, served: Number.isFinite(served) ? served : 0 };
    this.#owners.set(name, owner);
    return owner;
  }

  #slot(owner: Owner, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const giveUp = () => {
      owner.waiting.delete(waiter);
      reject(signal?.reason);
    };
    const waiter: Waiter = {
      start: () => {
        stop();
        resolve();
      },
    };
    const stop = onAbort(signal, giveUp);
    owner.waiting.add(waiter);
    this.#startNext();
    return promise;
  }

  #startNext(): void {
    while (this.#running < this.#limit) {
      const owner = this.#nextOwner();
      const [waiter] = owner?.waiting ?? [];
      if (!owner || !waiter) return;
      owner.waiting.delete(waiter);
      owner.running++;
      owner.served++;
      this.#running++;
      waiter.start();
    }
  }

  #nextOwner(): Owner | undefined {
    let next: Owner | undefined;
    for (const owner of this.#owners.values()) {
      if (owner.waiting.size > 0 && (!next || isBefore(owner, next))) next = owner;
    }
    return next;
  }

  #forgetIdle(name: string, owner: Owner): void {
    if (owner.running === 0 && owner.waiting.size === 0 && this.#owners.get(name) === owner) this.#owners.delete(name);
  }

  #shrink(): void {
    this.#shrinks++;
    this.#successes = 0;
    this.#limit = Math.max(1, Math.floor(this.#limit / 2));
  }

  #grow(): void {
    if (this.#limit === this.#most) return;
    this.#successes++;
    if (this.#successes < successesPerGrowth) return;
    this.#successes = 0;
    this.#limit++;
  }
}

function isBefore(owner: Owner, other: Owner): boolean {
  return owner.served === other.served ? owner.running < other.running : owner.served < other.served;
}
