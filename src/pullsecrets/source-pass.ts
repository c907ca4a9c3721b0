import type { NamespacedRef } from "../api/objects.ts";
import type { FairLimiter } from "../kube/limiter.ts";
import type { Follows } from "../replication/follows.ts";
import type { Propagation } from "../replication/propagation.ts";
import type { Copying } from "../replication/replication.ts";
import type { KeyedPass } from "../runtime/run-keyed.ts";
import type { Ground } from "./ground.ts";
import type { Memory } from "./memory.ts";

/** One pass over one source. */
export interface SourcePass extends Ground, KeyedPass {
  readonly source: NamespacedRef;
  /** `namespace/name` of the source. */
  readonly key: string;
  readonly copying: Copying;
  readonly memory: Memory;
  /** Sources that are followed by their names. */
  readonly follows: Follows;
  readonly propagation: Propagation;
  /** Bounds the last looks before copies go. */
  readonly looks: FairLimiter;
}
