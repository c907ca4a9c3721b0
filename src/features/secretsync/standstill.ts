/** Calls back once if nothing has moved for a while. A pass that is getting on, however long, is not worth a status. */
export class Standstill implements Disposable {
  readonly #onStandstill: () => void;
  readonly #afterMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(afterMs: number, onStandstill: () => void) {
    this.#afterMs = afterMs;
    this.#onStandstill = onStandstill;
    this.moved();
  }

  moved(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#onStandstill, this.#afterMs);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}
