import type { Pass } from "../../runtime/controller.ts";
import { Gaps } from "../../runtime/gaps.ts";
import type { Outcome } from "../../runtime/outcome.ts";
import { announcementsOf } from "./announcements.ts";
import { findingsOf, type Sight } from "./findings.ts";
import type { Verdict } from "./judge.ts";
import type { SidecarSetRecord } from "./record.ts";
import { differenceOf, statusOf, withVerdict } from "./status.ts";

interface InsteadOptions {
  readonly sight: Sight;
  /** Between two writes because of numbers. */
  readonly gapMs: number;
  judge(record: SidecarSetRecord, pass: Pass): Promise<Verdict>;
  /** When to judge again though nothing has changed. */
  nextTrialMs(uid: string): number | undefined;
}

/** Passes over our own SidecarSets: each is judged and told the whole of its status. */
export class InsteadPasses {
  readonly #options: InsteadOptions;
  readonly #gaps: Gaps;

  constructor(options: InsteadOptions) {
    this.#options = options;
    this.#gaps = new Gaps(options.gapMs);
  }

  async pass(record: SidecarSetRecord, pass: Pass): Promise<Outcome> {
    const { sight, judge, nextTrialMs } = this.#options;
    const { uid, resourceVersion } = record.metadata;
    const verdict = await judge(record, pass);
    const findings = await findingsOf(record, sight, pass);
    // Replicas wait for it with Pods in hand.
    if (!findings) return { status: withVerdict(record, verdict), recheckAfterMs: nextTrialMs(uid) };

    const status = statusOf(record, { ...findings, verdict });
    const difference = differenceOf(record.status, status);
    const waitMs = difference === "numbers" ? this.#gaps.waitMs(uid) : 0;
    if (waitMs > 0) return { recheckAfterMs: waitMs };
    if (difference !== "none") this.#gaps.happened(uid);
    const events = announcementsOf(record.status, findings.standings, resourceVersion);
    return { status, events, recheckAfterMs: earlier(sight.leftOut.nextDueMs(uid), nextTrialMs(uid)) };
  }

  forget(uid: string): void {
    this.#gaps.forget(uid);
  }
}

const earlier = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
