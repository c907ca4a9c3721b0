import type { ClusterStatus } from "../../api/cluster.ts";
import { statusAnnotation } from "../../api/marks.ts";
import type { Condition } from "../../api/objects.ts";
import { encodeStatus } from "../../runtime/beside-status.ts";
import type { BesideWriter } from "../../runtime/beside-writer.ts";
import type { Pass } from "../../runtime/controller.ts";
import type { Outcome } from "../../runtime/outcome.ts";
import { announcementsOf } from "./announcements.ts";
import type { ClusterRecord } from "./record.ts";

/** A cluster that is being created answers nobody yet, and that is no news. */
const quietMs = 10 * 60_000;

/** Tells on the original's objects how they stand, by annotation. */
export class BesidePasses {
  readonly #writer: BesideWriter;
  /** What was told last, whole: the annotation leaves things out. */
  readonly #told = new Map<string, ClusterStatus>();

  constructor(writer: BesideWriter) {
    this.#writer = writer;
  }

  async tell(record: ClusterRecord, status: ClusterStatus, pass: Pass): Promise<Outcome> {
    const { uid, annotations = {}, creationTimestamp } = record.metadata;
    const text = encodeStatus(annotationOf(status));
    if (text === annotations[statusAnnotation]) {
      this.#told.set(uid, status);
      return {};
    }
    const waitMs = await this.#writer.write(record, text, pass);
    if (waitMs > 0) return { recheckAfterMs: waitMs };
    const before = this.#told.get(uid) ?? record.status;
    this.#told.set(uid, status);
    const isYoung = Date.now() - Date.parse(creationTimestamp) < quietMs;
    const events = announcementsOf(before, status, record);
    return { events: events.filter(({ reason }) => !isYoung || reason !== "Unreachable") };
  }

  /** There is nothing to tell any more. */
  async fallSilent(record: ClusterRecord, pass: Pass): Promise<Outcome> {
    const isTold = record.metadata.annotations?.[statusAnnotation] !== undefined;
    const waitMs = isTold ? await this.#writer.write(record, undefined, pass) : 0;
    if (waitMs > 0) return { recheckAfterMs: waitMs };
    this.#told.delete(record.metadata.uid);
    return {};
  }

  forget(uid: string): void {
    this.#told.delete(uid);
    this.#writer.forget(uid);
  }
}

/** No times: what was true before is told again without a write. */
function annotationOf({ conditions = [], namespaces, injection, credentialsFrom, clusterID }: ClusterStatus) {
  const said = conditions.map(({ lastTransitionTime: _, ...condition }): Condition => condition);
  return { conditions: said, namespaces, mode: injection?.mode, credentialsFrom, clusterID };
}
