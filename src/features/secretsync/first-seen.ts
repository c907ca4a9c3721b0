/** The order in which objects came into sight. */
export class FirstSeen {
  readonly #order = new Map<string, number>();
  #next = 0;

  /** What a change tells: which object was there before, and which is now. */
  note(before: string | undefined, after: string | undefined): void {
    if (before !== undefined && before !== after) this.#order.delete(before);
    if (after !== undefined && !this.#order.has(after)) this.#order.set(after, this.#next++);
  }

  /** Whoever has not been seen yet comes last. */
  get(uid: string): number {
    return this.#order.get(uid) ?? Number.POSITIVE_INFINITY;
  }
}
