import { setTimeout as sleep } from "node:timers/promises";
import type { Kube } from "../kube/client.ts";
import { uniqueName } from "./cluster.ts";
import { injectedLabel, type Pod, type PodOptions, pod, pods, serviceAccounts } from "./sidecars.ts";
import { until } from "./wait.ts";

const paceMs = 100;
const patienceMs = 120_000;

export const isInjected = ({ metadata }: Pod): boolean => metadata.labels?.[injectedLabel] === "true";

interface Outcome {
  /** Which one it is, in the order in which they were begun. */
  readonly number: number;
  readonly pod?: Pod;
  readonly refusal?: string;
}

/** Somebody who creates Pods all the time, whatever happens to Latchkey meanwhile. */
export class PodStream {
  readonly #kube: Kube;
  readonly #namespace: string;
  readonly #options: PodOptions;
  readonly #outcomes: Outcome[] = [];
  readonly #stopping = new AbortController();
  #begun = 0;
  #running: Promise<void> | undefined;

  private constructor(kube: Kube, namespace: string, options: PodOptions) {
    this.#kube = kube;
    this.#namespace = namespace;
    this.#options = options;
  }

  static async start(kube: Kube, namespace: string, options: PodOptions): Promise<PodStream> {
    await until(kube, serviceAccounts, { namespace, name: "default" }, "exists", (account) => account !== undefined);
    const stream = new PodStream(kube, namespace, options);
    stream.#running = stream.#run();
    return stream;
  }

  /** Resolves with all Pods that were begun after this call, once they are accepted. */
  async next(what: string, accept: (created: readonly Pod[]) => boolean): Promise<readonly Pod[]> {
    const from = this.#begun;
    for (const deadline = performance.now() + patienceMs; ; await sleep(50)) {
      const created = this.#outcomes.flatMap(({ number, pod: one }) => (one && number > from ? [one] : []));
      if (accept(created)) return created;
      if (performance.now() > deadline) throw new Error(`waited in vain for ${what}; ${this.#describe(created)}`);
    }
  }

  /** So many more, whatever they look like. */
  more(count: number): Promise<readonly Pod[]> {
    return this.next(`${count} more Pods`, (created) => created.length >= count);
  }

  /** One into which something was put. */
  untilInjected(): Promise<readonly Pod[]> {
    return this.next("a Pod with a sidecar", (created) => created.some(isInjected));
  }

  get created(): readonly Pod[] {
    return this.#outcomes.flatMap((outcome) => outcome.pod ?? []);
  }

  /** What was said to those that were not created. */
  get refusals(): readonly string[] {
    return this.#outcomes.flatMap((outcome) => outcome.refusal ?? []);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const prefix = uniqueName("streamed");
    while (!this.#stopping.signal.aborted) {
      const number = ++this.#begun;
      const draft = pod(`${this.#namespace}/${prefix}-${number}`, this.#options);
      const outcome = await this.#kube.create<Pod>(pods, draft).then(
        (created) => ({ number, pod: created }),
        (error: Error) => ({ number, refusal: error.message }),
      );
      this.#outcomes.push(outcome);
      await sleep(paceMs, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
    }
  }

  #describe(created: readonly Pod[]): string {
    return `${created.length} were created, ${created.filter(isInjected).length} of them injected; refused: ${this.refusals.join("; ") || "none"}`;
  }
}
