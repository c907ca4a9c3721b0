/** An Event to show on the object; given only by a pass that found another situation than the status told before. */
export interface Announcement {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  /** Two announcements in a row with the same situation are one; the reason by default. */
  readonly situation?: string | undefined;
}

/** What came of a pass. */
export interface Outcome {
  /**
   * The whole new status: what it leaves out is removed. Conditions come without `lastTransitionTime`.
   * Left out: the status stays as it is.
   */
  readonly status?: object | undefined;
  /** Run again this long after the end of the pass, unless something wakes the object before. */
  readonly recheckAfterMs?: number | undefined;
  /** Run again with growing back-off; whichever comes first of this and `recheckAfterMs`. */
  readonly retry?: boolean | undefined;
  readonly events?: readonly Announcement[] | undefined;
}

/** What came of a pass over an object that is being deleted. */
export interface Finalized extends Outcome {
  /** Finalizers that may go now. A status given along is written first. */
  readonly remove?: readonly string[] | undefined;
}
