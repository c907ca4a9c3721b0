import type { User } from "../../kube/access-review.ts";
import type { JsonPatchOp } from "../../kube/client.ts";
import { isRecord, stringOf } from "../../kube/json.ts";
import type { Review, Verdict } from "../../runtime/admission.ts";

/** What came is no AdmissionReview: answered with 400. The message never quotes what was sent. */
export class MalformedReviewError extends Error {
  override readonly name = "MalformedReviewError";
}

export function parseReview(body: unknown): Review {
  if (!isRecord(body) || body.kind !== "AdmissionReview" || body.apiVersion !== "admission.k8s.io/v1") {
    throw new MalformedReviewError("the body is not an AdmissionReview of admission.k8s.io/v1");
  }
  const request = body.request;
  if (!isRecord(request)) throw new MalformedReviewError("the AdmissionReview has no request");

  const uid = stringOf(request.uid);
  if (!uid) throw new MalformedReviewError("the request has no uid");
  return {
    uid,
    operation: operationOf(request.operation),
    user: userOf(request.userInfo),
    namespace: stringOf(request.namespace) || undefined,
    name: stringOf(request.name) || undefined,
    object: request.object ?? undefined,
    oldObject: request.oldObject ?? undefined,
    dryRun: request.dryRun === true,
  };
}

/** By the reason, not by the code, kubectl tells what kind of refusal it was. */
const reasons: Readonly<Record<number, string>> = { 403: "Forbidden", 422: "Invalid", 500: "InternalError" };

/** The AdmissionReview to answer with. */
export function responseOf(uid: string, verdict: Verdict): object {
  const { allowed, warnings } = verdict;
  return {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    response: {
      uid,
      allowed,
      ...(!allowed && { status: { code: verdict.code, reason: reasons[verdict.code], message: verdict.message } }),
      ...(warnings && warnings.length > 0 && { warnings }),
      ...(allowed && patchOf(verdict.patch)),
    },
  };
}

/** An empty patch is none: the API server would take the object apart and put it together again. */
function patchOf(patch: readonly JsonPatchOp[] = []): object {
  if (patch.length === 0) return {};
  return { patchType: "JSONPatch", patch: Buffer.from(JSON.stringify(patch), "utf8").toString("base64") };
}

function operationOf(operation: unknown): Review["operation"] {
  if (operation === "CREATE" || operation === "UPDATE" || operation === "DELETE") return operation;
  throw new MalformedReviewError("the request's operation is none of CREATE, UPDATE, DELETE");
}

function userOf(userInfo: unknown): User {
  const username = isRecord(userInfo) ? stringOf(userInfo.username) : undefined;
  // Rights are judged by this name: a request without one must not pass as anybody.
  if (!isRecord(userInfo) || !username) throw new MalformedReviewError("the request has no userInfo.username");
  const extra = isRecord(userInfo.extra)
    ? Object.fromEntries(Object.entries(userInfo.extra).map(([key, values]) => [key, stringsOf(values)]))
    : undefined;
  return { username, uid: stringOf(userInfo.uid), groups: stringsOf(userInfo.groups), extra };
}

function stringsOf(values: unknown): readonly string[] {
  return Array.isArray(values) ? values.filter((value) => typeof value === "string") : [];
}
