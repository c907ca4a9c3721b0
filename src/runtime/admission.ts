import type { Resource } from "../api/objects.ts";
import type { User } from "../kube/access-review.ts";
import type { Call, JsonPatchOp } from "../kube/client.ts";

/** One AdmissionReview request, as far as hooks need it. */
export interface Review {
  readonly uid: string;
  readonly operation: "CREATE" | "UPDATE" | "DELETE";
  readonly user: User;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly object?: unknown;
  readonly oldObject?: unknown;
  readonly dryRun: boolean;
}

export type Verdict =
  | {
      readonly allowed: true;
      readonly warnings?: readonly string[] | undefined;
      /** What a mutating hook changes about the object. */
      readonly patch?: readonly JsonPatchOp[] | undefined;
    }
  | {
      readonly allowed: false;
      /** HTTP status shown to the user, e.g. 403. */
      readonly code: number;
      readonly message: string;
      readonly warnings?: readonly string[] | undefined;
    };

/** Name of the objects in which the webhooks of a feature are registered: what has another name is not ours to remove. */
export const webhookConfigurationOf = (feature: string): string => `latchkey-${feature}`;

/** A webhook that a feature brings along; `surfaces/webhooks` serves and registers it. */
export interface Hook {
  /** A mutating one is called again when a later hook has changed the object. */
  readonly kind: "validating" | "mutating";
  /** Name of the webhook, e.g. `secretsyncs.latchkey.dev`. */
  readonly name: string;
  readonly path: string;
  readonly resource: Resource;
  readonly operations: readonly ("CREATE" | "UPDATE")[];
  readonly failurePolicy: "Fail" | "Ignore";
  readonly sideEffects: "None" | "NoneOnDryRun";
  /** Which namespaces the API server asks about; all unless told. */
  readonly namespaceSelector?: object | undefined;
  readonly matchConditions?: readonly { readonly name: string; readonly expression: string }[] | undefined;
  /** Name of the webhook configuration object it is registered in: `webhookConfigurationOf` the feature. */
  readonly configuration: string;
  review(review: Review, call: Call): Promise<Verdict>;
}
