import type { SourceState } from "./report.ts";

/** What becomes of the copies of a source. */
export type Decision =
  /** Made where they are wanted, kept equal, collected where nobody wants them. */
  | { readonly kind: "serve" }
  /** Collected where nobody wants them, and otherwise left as they are. */
  | { readonly kind: "collect" }
  /** Left alone for a moment: the source may come back. */
  | { readonly kind: "wait"; readonly forMs: number }
  /** Deleted in all namespaces, in use or not. */
  | { readonly kind: "revoke" };

interface Facts {
  readonly state: SourceState;
  readonly isListed: boolean;
  /** Whoever lists it wants its copies to outlive it. */
  readonly isRetained: boolean;
  /** Whoever lists it wants everything to stay as it is. */
  readonly isHeld: boolean;
  readonly hasCopies: boolean;
  readonly missingForMs: number;
}

/** `kubectl replace --force` deletes a Secret and creates it again. */
const revocationDelayMs = 3_000;

export function decide({ state, isListed, isRetained, isHeld, hasCopies, missingForMs }: Facts): Decision {
  switch (state.kind) {
    case "usable":
      return { kind: isListed ? "serve" : "collect" };
    case "unreadable":
      return { kind: "collect" };
    case "missing": {
      if (isRetained) return { kind: "collect" };
      const forMs = revocationDelayMs - missingForMs;
      return hasCopies && forMs > 0 ? { kind: "wait", forMs } : { kind: "revoke" };
    }
    case "type-rejected":
    case "is-a-copy":
    case "vetoed":
      return { kind: isHeld ? "collect" : "revoke" };
  }
}
