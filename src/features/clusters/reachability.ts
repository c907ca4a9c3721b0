import { ApiError, UnreachableError } from "../../kube/errors.ts";
import { describeMissingVerb } from "./words.ts";

/** Why a cluster cannot be served now. */
export type Failure =
  | { readonly kind: "unreachable"; readonly message: string }
  | { readonly kind: "unauthorized"; readonly message: string }
  | { readonly kind: "forbidden"; readonly message: string };

/** No success for this long means that the cluster is not reachable. */
export const unreachableAfterMs = 10_000;

const classes: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset",
  UND_ERR_SOCKET: "connection closed",
  ETIMEDOUT: "timed out",
  TimeoutError: "timed out",
  UND_ERR_CONNECT_TIMEOUT: "timed out",
  EHOSTUNREACH: "no route to host",
  ENETUNREACH: "no route to host",
  ENOTFOUND: "no such host",
  EAI_AGAIN: "no such host",
  CERT_HAS_EXPIRED: "certificate expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "certificate is for another host",
  DEPTH_ZERO_SELF_SIGNED_CERT: "certificate not trusted",
  SELF_SIGNED_CERT_IN_CHAIN: "certificate not trusted",
  UNABLE_TO_GET_ISSUER_CERT: "certificate not trusted",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "certificate not trusted",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "certificate not trusted",
  CERT_SIGNATURE_FAILURE: "certificate not trusted",
};

/** The host and the kind of failure, nothing of what was said. */
export function failureOf(error: unknown, server: string): Failure {
  if (error instanceof ApiError && error.status === 403) {
    const message = describeMissingVerb(error) ?? `${server} refuses to answer the kubeconfig's user`;
    return { kind: "forbidden", message };
  }
  if (error instanceof ApiError && error.status === 401) {
    return { kind: "unauthorized", message: `${server} refuses the credentials of the kubeconfig` };
  }
  const seconds = unreachableAfterMs / 1000;
  return { kind: "unreachable", message: `no answer from ${server} for ${seconds} s: ${classOf(error)}` };
}

/** The kind of failure, in none of the server's words. */
export function classOf(error: unknown): string {
  if (error instanceof ApiError) return `it answers ${error.status}`;
  if (error instanceof UnreachableError) return classes[error.code] ?? error.code;
  return error instanceof Error && error.name === "TimeoutError" ? "timed out" : "failed";
}
