import { unlessAborted } from "./deadline.ts";

/** Runs tasks of one key one after the other, in the order they came; different keys do not wait for each other. */
export class Turns {
  readonly #last = new Map<string, Promise<void>>();

  /** Whoever gives up waiting leaves the line; those behind still wait for those before. */
  async take<T>(
    key: string,
    task: () => Promise<T>,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const ended = unlessAborted(before, signal).then(task);
    const mine = Promise.allSettled([before, ended]).then(() => {
      if (this.#last.get(key) === mine) this.#last.delete(key);
    });
    this.#last.set(key, mine);
    return await ended;
  }
}
