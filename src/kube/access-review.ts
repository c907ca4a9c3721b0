import type { Call, Kube } from "./client.ts";
import { isRecord, stringOf } from "./json.ts";

/** Who asks, as an admission review names them. */
export interface User {
  readonly username: string;
  readonly groups?: readonly string[] | undefined;
  readonly uid?: string | undefined;
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined;
}

export interface AccessAttributes {
  readonly verb: string;
  readonly resource: string;
  readonly group: string;
  readonly subresource?: string | undefined;
  /** None: in all namespaces. */
  readonly namespace?: string | undefined;
  /** None: any of them. */
  readonly name?: string | undefined;
}

interface Access {
  readonly allowed: boolean;
  readonly reason?: string | undefined;
}

const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
const reviewsAtOnce = 8;

/** Asks the API server whether a user may do something. */
export async function mayDo(kube: Kube, user: User, attributes: AccessAttributes, call: Call = {}): Promise<Access> {
  const { username, groups, uid, extra } = user;
  const review = await kube.request("POST", path, {
    body: {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      spec: { user: username, groups, uid, extra, resourceAttributes: attributes },
    },
    storesNothing: true,
    signal: call.signal,
  });
  return statusOf(review);
}

function statusOf(review: unknown): Access {
  const status = isRecord(review) && isRecord(review.status) ? review.status : {};
  return { allowed: status.allowed === true && status.denied !== true, reason: stringOf(status.reason) };
}

/** The same about whoever asks. */
export async function mayWe(kube: Kube, attributes: AccessAttributes, call: Call = {}): Promise<boolean> {
  const review = await kube.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
    body: {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { resourceAttributes: attributes },
    },
    storesNothing: true,
    signal: call.signal,
  });
  return statusOf(review).allowed;
}

/** Those of the rights that the user lacks, in the order given. */
export async function missingRights(
  kube: Kube,
  user: User,
  wanted: readonly AccessAttributes[],
  call: Call = {},
): Promise<AccessAttributes[]> {
  const lacking = new Set<AccessAttributes>();
  const queue = wanted.values();
  const reviewer = async () => {
    for (const attributes of queue) {
      const { allowed } = await mayDo(kube, user, attributes, call);
      if (!allowed) lacking.add(attributes);
    }
  };
  await Promise.all(Array.from({ length: Math.min(reviewsAtOnce, wanted.length) }, reviewer));
  return wanted.filter((attributes) => lacking.has(attributes));
}
