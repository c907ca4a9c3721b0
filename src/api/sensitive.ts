import { inspect } from "node:util";

/** Holds something secret: prints as `[redacted]` wherever it is logged, joined or serialised. */
export class Sensitive<T> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  /** Marks each place that needs the real value. */
  reveal(): T {
    return this.#value;
  }

  toString(): string {
    return "[redacted]";
  }

  toJSON(): string {
    return "[redacted]";
  }

  [inspect.custom](): string {
    return "[redacted]";
  }
}
