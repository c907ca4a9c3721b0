import type { Ending } from "../child.ts";
import { type Operator, type OperatorOptions, startOperator } from "../operator.ts";

/** The operator that is shown: it may be stopped, and started again with the same flags. */
export class Latchkey implements AsyncDisposable {
  readonly #options: OperatorOptions;
  #operator: Operator;

  private constructor(options: OperatorOptions, operator: Operator) {
    this.#options = options;
    this.#operator = operator;
  }

  static async start(options: OperatorOptions): Promise<Latchkey> {
    return new Latchkey(options, await startOperator(options));
  }

  get metricsUrl(): string {
    return this.#operator.metricsUrl;
  }

  /** Resolves when the one that runs now has ended. */
  get ended(): Promise<Ending> {
    return this.#operator.ended;
  }

  async start(): Promise<void> {
    this.#operator = await startOperator(this.#options);
  }

  async stop(): Promise<void> {
    await this.#operator.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
