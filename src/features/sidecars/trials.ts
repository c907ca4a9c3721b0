import { Backoffs } from "../../runtime/backoffs.ts";
import type { Pass } from "../../runtime/controller.ts";
import type { Verdicts } from "./accepted.ts";
import { judgeContainers, type Verdict } from "./judge.ts";
import type { SidecarSetRecord } from "./record.ts";

interface TrialsOptions {
  readonly verdicts: Verdicts;
  /** Where Pods may be tried. */
  readonly namespace: string;
}

/** What the API server says about containers: asked once a generation, and again where the answer proved nothing. */
export class Trials {
  readonly #options: TrialsOptions;
  readonly #unproven = new Backoffs();

  constructor(options: TrialsOptions) {
    this.#options = options;
  }

  async verdictOf(record: SidecarSetRecord, { kube, signal }: Pick<Pass, "kube" | "signal">): Promise<Verdict> {
    const { verdicts, namespace } = this.#options;
    const { uid } = record.metadata;
    const known = verdicts.containersOf(record);
    if (known && (!isUnproven(known) || !this.#unproven.isDue(uid))) return known;
    const verdict = await judgeContainers(record, { kube, namespace, signal });
    verdicts.noteContainers(record, verdict);
    if (isUnproven(verdict)) this.#unproven.failed(uid);
    else this.#unproven.clear(uid);
    return verdict;
  }

  nextDueMs(uid: string): number | undefined {
    return this.#unproven.nextDueMs(uid);
  }

  /** Nobody asks any more. */
  forget(uid: string): void {
    this.#unproven.clear(uid);
  }
}

const isUnproven = (verdict: Verdict): boolean => verdict.accepted && verdict.isUnproven === true;
