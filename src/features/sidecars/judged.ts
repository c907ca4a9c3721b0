const maxRemembered = 1_000;

/** What admission on this replica has let pass: such a SidecarSet injects before the controller has looked at it. */
export class Judged {
  /** In the order of their arrival. */
  readonly #passed = new Set<string>();

  accept(uid: string, digest: string): void {
    const entry = `${uid} ${digest}`;
    this.#passed.delete(entry);
    this.#passed.add(entry);
    if (this.#passed.size <= maxRemembered) return;
    for (const oldest of this.#passed) {
      this.#passed.delete(oldest);
      break;
    }
  }

  has(uid: string, digest: string): boolean {
    return this.#passed.has(`${uid} ${digest}`);
  }
}
