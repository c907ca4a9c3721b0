import type { PolicyVersion } from "./objects.ts";
import type { Naming } from "./record.ts";

/** How the injection of a cluster stands. */
export type InjectionState =
  | { readonly kind: "pending" }
  | {
      readonly kind: "active";
      /** Namespaces with names of their own. */
      readonly suffixed: number;
      /** Accounts whose Pods get nothing. */
      readonly exempt: number;
      /** Accounts that are left alone, as somebody else takes our entries out of them. */
      readonly contested: readonly string[];
    }
  | { readonly kind: "disabled" }
  | {
      readonly kind: "failed";
      readonly reason: "ModeNotAvailable" | "Forbidden" | "Collision" | "TargetRefused";
      readonly message: string;
    };

/** The way by which Pods of a cluster get their names. */
export type Way =
  | { readonly kind: "Policy"; readonly version: PolicyVersion }
  | { readonly kind: "ServiceAccount" }
  | { readonly kind: "None" }
  /** What was asked for cannot be had here. Nothing else is tried, and what is there stays. */
  | { readonly kind: "unavailable"; readonly message: string };

export const noNames: Naming = { names: [], special: new Map(), exempt: new Map() };
