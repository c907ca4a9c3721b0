import { statusAnnotation } from "../../api/marks.ts";
import type { SidecarSetStatus } from "../../api/sidecar-set.ts";
import { encodeStatus } from "../../runtime/beside-status.ts";
import type { BesideWriter } from "../../runtime/beside-writer.ts";
import type { Pass } from "../../runtime/controller.ts";
import type { Outcome } from "../../runtime/outcome.ts";
import { announcementsOf } from "./announcements.ts";
import { parseStatus } from "./beside-status.ts";
import { findingsOf, type Sight } from "./findings.ts";
import type { SidecarSetRecord } from "./record.ts";
import { besideStatusOf } from "./status.ts";

/** Passes over the original's SidecarSets: those that concern us are told how their references stand, by annotation. */
export class BesidePasses {
  readonly #sight: Sight;
  readonly #writer: BesideWriter;
  /** What was told last, whole: the annotation may leave things out. */
  readonly #told = new Map<string, SidecarSetStatus>();

  constructor(sight: Sight, writer: BesideWriter) {
    this.#sight = sight;
    this.#writer = writer;
  }

  async pass(record: SidecarSetRecord, pass: Pass): Promise<Outcome> {
    const { uid, resourceVersion, annotations = {} } = record.metadata;
    const findings = await findingsOf(record, this.#sight, pass);
    if (!findings) return {};
    const isOurs = record.references.length > 0 || record.objection !== undefined;
    const status = isOurs ? besideStatusOf(record, findings) : undefined;
    const text = status && encodeStatus(status);
    const recheckAfterMs = this.#sight.leftOut.nextDueMs(uid);
    if (text === annotations[statusAnnotation]) return { recheckAfterMs };

    const waitMs = await this.#writer.write(record, text, pass);
    if (waitMs > 0) return { recheckAfterMs: waitMs };
    const before = this.#told.get(uid) ?? parseStatus(record);
    if (status) this.#told.set(uid, status);
    else this.#told.delete(uid);
    return { events: announcementsOf(before, findings.standings, resourceVersion), recheckAfterMs };
  }

  forget(uid: string): void {
    this.#told.delete(uid);
    this.#writer.forget(uid);
  }
}
