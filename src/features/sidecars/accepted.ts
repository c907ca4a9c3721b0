import type { Condition } from "../../api/objects.ts";
import type { Rejected, Verdict } from "./judge.ts";
import type { Judged } from "./judged.ts";
import type { SidecarSetRecord } from "./record.ts";

/** What the status says about a generation: this one's, or an earlier one's. */
function acceptedConditionOf({ status }: SidecarSetRecord): Condition | undefined {
  return status?.conditions?.find(({ type }) => type === "Accepted");
}

function isOfThisGeneration({ metadata }: SidecarSetRecord, condition: Condition | undefined): condition is Condition {
  return condition !== undefined && condition.observedGeneration === metadata.generation;
}

/** Whether its containers are put into new Pods. Of a generation that nobody has judged nothing is. */
export function isActive(record: SidecarSetRecord, judged: Pick<Judged, "has">): boolean {
  if (record.spec.injectionStrategy?.paused) return false;
  const condition = acceptedConditionOf(record);
  if (isOfThisGeneration(record, condition)) return condition.status === "True";
  return judged.has(record.metadata.uid, record.digest);
}

/** Nobody has judged its present generation, as far as this replica knows. */
export function isUnjudged(record: SidecarSetRecord, judged: Pick<Judged, "has">): boolean {
  if (record.spec.injectionStrategy?.paused || isOfThisGeneration(record, acceptedConditionOf(record))) return false;
  return !judged.has(record.metadata.uid, record.digest);
}

/** Its status says that its present generation puts nothing into Pods. */
export function isToldRejected(record: SidecarSetRecord): boolean {
  const condition = acceptedConditionOf(record);
  return isOfThisGeneration(record, condition) && condition.status === "False";
}

interface Known {
  readonly generation: number | undefined;
  readonly verdict?: Verdict;
  /** About its containers alone: of one generation the API server says always the same. */
  readonly containers?: Verdict;
}

/** What the controller of this replica has judged: the status tells of it a moment later. */
export class Verdicts {
  readonly #known = new Map<string, Known>();

  /** Pods that have its containers count until a later generation is judged. */
  isAccepted(record: SidecarSetRecord): boolean {
    const known = this.#known.get(record.metadata.uid)?.verdict;
    return known ? known.accepted : acceptedConditionOf(record)?.status === "True";
  }

  /** Its present generation is judged, and puts nothing into Pods. */
  isRejected(record: SidecarSetRecord): boolean {
    const known = this.#of(record)?.verdict;
    return known ? !known.accepted : isToldRejected(record);
  }

  /** What is known about the containers of this generation. */
  containersOf(record: SidecarSetRecord): Verdict | undefined {
    return this.#of(record)?.containers ?? toldByStatus(record);
  }

  noteContainers(record: SidecarSetRecord, containers: Verdict): void {
    this.#note(record, { containers });
  }

  /** True when others should hear of it. */
  note(record: SidecarSetRecord, verdict: Verdict): boolean {
    const before = [this.isAccepted(record), this.isRejected(record)];
    this.#note(record, { verdict });
    return this.isAccepted(record) !== before[0] || this.isRejected(record) !== before[1];
  }

  forget(uid: string): void {
    this.#known.delete(uid);
  }

  /** Another replica judges from now on. */
  clear(): void {
    this.#known.clear();
  }

  #of({ metadata }: SidecarSetRecord): Known | undefined {
    const known = this.#known.get(metadata.uid);
    return known?.generation === metadata.generation ? known : undefined;
  }

  #note(record: SidecarSetRecord, news: Partial<Known>): void {
    const { uid, generation } = record.metadata;
    this.#known.set(uid, { ...this.#of(record), generation, ...news });
  }
}

function toldByStatus(record: SidecarSetRecord): Verdict | undefined {
  const condition = acceptedConditionOf(record);
  if (!isOfThisGeneration(record, condition)) return undefined;
  if (condition.status === "True") return { accepted: true };
  const { reason, message } = condition;
  // With a conflict of names nobody asked about the containers.
  return isAboutContainers(reason) ? { accepted: false, reason, message } : undefined;
}

const isAboutContainers = (reason: string): reason is Rejected["reason"] => reason === "InvalidContainers";
