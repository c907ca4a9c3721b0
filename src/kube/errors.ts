import { isRecord, parseJsonOrUndefined, stringOf } from "./json.ts";

/** One entry of `status.details.causes`. */
interface Cause {
  readonly field?: string;
  readonly reason?: string;
  readonly message?: string;
}

/** What the refused request was about, as the API server names it. */
interface ErrorDetails {
  readonly group?: string;
  readonly kind?: string;
  readonly name?: string;
  readonly uid?: string;
}

/** The API server said no. The message is its own. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  /** `NotFound`, `AlreadyExists`, `Conflict`, ...; empty where the server gave none. */
  readonly reason: string;
  readonly causes: readonly Cause[];
  readonly details: ErrorDetails;
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    about: {
      readonly status: number;
      readonly reason?: string;
      readonly causes?: readonly Cause[];
      readonly details?: ErrorDetails;
      readonly retryAfterMs?: number | undefined;
    },
  ) {
    super(message);
    this.status = about.status;
    this.reason = about.reason ?? "";
    this.causes = about.causes ?? [];
    this.details = about.details ?? {};
    this.retryAfterMs = about.retryAfterMs;
  }
}

/** No answer: refused, reset, timed out, or not trusted. Names the host and the kind of failure, nothing else. */
export class UnreachableError extends Error {
  override readonly name = "UnreachableError";
  /** `ECONNREFUSED`, `UND_ERR_SOCKET`, `TimeoutError`, ... */
  readonly code: string;

  constructor(host: string, code: string) {
    super(`${host} is unreachable (${code})`);
    this.code = code;
  }
}

/** Any failure of the network, told by its code: the words of the original may quote what was sent. */
export function unreachable(host: string, error: unknown): UnreachableError {
  const { code, name } = isRecord(error) || error instanceof Error ? (error as { code?: unknown; name?: unknown }) : {};
  return new UnreachableError(host, stringOf(code) ?? stringOf(name) ?? "unknown");
}

/** This replica may not write: another one holds the lease. */
export class FencedError extends Error {
  override readonly name = "FencedError";

  constructor() {
    super("this replica does not hold the lease, so it does not write");
  }
}

const unfitPattern = /^failed to create typed patch object/;

export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Reads the `Status` of a refusal; anything else (a proxy's page) is left out of the message. */
export function apiErrorOf(status: number, body: string, headers: Headers): ApiError {
  const parsed = parseJsonOrUndefined(body);
  const given = isRecord(parsed) && parsed.kind === "Status" ? parsed : {};
  const details = isRecord(given.details) ? given.details : {};
  const message = stringOf(given.message) || `the server answered ${status} without a reason`;
  return new ApiError(message, {
    status,
    // The API server calls an apply that does not fit the schema a 500 without a reason, as if it were a hiccup.
    reason: stringOf(given.reason) ?? (unfitPattern.test(message) ? "Invalid" : ""),
    causes: Array.isArray(details.causes) ? details.causes.filter(isRecord) : [],
    details: detailsOf(details),
    retryAfterMs: retryAfterMsOf(headers["retry-after"], details.retryAfterSeconds),
  });
}

function detailsOf(details: Readonly<Record<string, unknown>>): ErrorDetails {
  const named = ["group", "kind", "name", "uid"].flatMap((field) => {
    const value = stringOf(details[field]);
    return value ? [[field, value]] : [];
  });
  return Object.fromEntries(named);
}

function retryAfterMsOf(header: unknown, detail: unknown): number | undefined {
  const seconds = header === undefined ? Number(detail) : Number(header);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}

export function isReason(error: unknown, ...reasons: readonly string[]): error is ApiError {
  return error instanceof ApiError && reasons.includes(error.reason);
}

/** Trying again later may well succeed, without anyone changing anything. */
export function isTransient(error: unknown): boolean {
  if (error instanceof UnreachableError) return true;
  if (!(error instanceof ApiError)) return error instanceof Error && error.name === "TimeoutError";
  return isTransientStatus(error.status, error.reason);
}

export function isTransientStatus(status: number, reason: string): boolean {
  return [429, 502, 503, 504].includes(status) || (status === 500 && reason === "");
}

/** Only at the beginning: what follows may quote what somebody wrote. */
const webhookDenial = /^admission webhook "[^"]+" denied the request/;
const policyDenial =
  /^[^\s"]+ "(?:[^"\\]|\\.)*" is forbidden: \w+AdmissionPolicy '[^']+' (?:with binding '[^']+' )?denied request/;

/** A webhook or a policy decided against it, whatever status it chose for that. The words are its own. */
export function isDenied(error: unknown): boolean {
  return error instanceof ApiError && (webhookDenial.test(error.message) || policyDenial.test(error.message));
}

/** Somebody decided against it, whatever status a webhook chose for that; other failures pass. */
export function isRefusal(error: unknown): error is ApiError {
  if (!(error instanceof ApiError)) return false;
  return isDenied(error) || (error.status < 500 && error.reason !== "Conflict" && !isTransient(error));
}

/** Creating in a namespace that is going away. */
export function isNamespaceTerminating(error: unknown): error is ApiError {
  return isReason(error, "Forbidden") && error.causes.some((cause) => cause.reason === "NamespaceTerminating");
}

/**
 * The object a write was meant for is gone or has been replaced by another of the same name. Only for writes that
 * carry a uid. The API server answers 409 to an apply whose object is gone and to a delete, 422 on `metadata.uid` to an
 * apply or a merge patch whose object was replaced.
 */
export function isGoneOrReplaced(error: unknown): error is ApiError {
  if (isReason(error, "NotFound")) return true;
  if (isReason(error, "Conflict")) return /uid mismatch|UID in the precondition/i.test(error.message);
  return isReason(error, "Invalid") && error.causes.some((cause) => cause.field === "metadata.uid");
}

export interface MissingVerb {
  readonly verb: string;
  /** With its subresource, as in `secretsyncs/status`. */
  readonly resource: string;
  readonly group: string;
  readonly namespace?: string;
}

const deniedPattern = /cannot (\S+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]+)")?/;

/** The right that a Forbidden is about; undefined where something other than RBAC refused. */
export function missingVerbOf(error: unknown): MissingVerb | undefined {
  if (!isReason(error, "Forbidden")) return undefined;
  const [, verb, resource, group, namespace] = deniedPattern.exec(error.message) ?? [];
  if (!verb || !resource) return undefined;
  return { verb, resource, group: group ?? "", ...(namespace && { namespace }) };
}
