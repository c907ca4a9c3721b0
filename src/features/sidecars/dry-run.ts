import { pods } from "../../api/pods.ts";
import type { Call, Kube } from "../../kube/client.ts";
import { ApiError, isDenied, isTransient } from "../../kube/errors.ts";
import { checkPodOf } from "./check-pod.ts";
import type { SidecarSetRecord } from "./record.ts";

/** What came of it; `words` are the server's. */
export type Trial =
  | { readonly kind: "valid" }
  | { readonly kind: "invalid"; readonly words: string }
  /** Somebody else said no before the containers were looked at. */
  | { readonly kind: "unproven" };

/**
 * Whether the API server would refuse a Pod with these containers. A quota or the words of a webhook prove nothing
 * about them. A server that is away throws: the question is still open.
 */
export async function dryRun(
  kube: Kube,
  namespace: string,
  record: SidecarSetRecord,
  { signal }: Call,
): Promise<Trial> {
  try {
    await kube.create(pods, checkPodOf(record, namespace), { dryRun: true, fieldValidation: "Strict", signal });
    return { kind: "valid" };
  } catch (error) {
    if (!(error instanceof ApiError) || (isTransient(error) && !isDenied(error))) throw error;
    return isAboutThePod(error) ? { kind: "invalid", words: wordsOf(error) } : { kind: "unproven" };
  }
}

const isAboutThePod = (error: ApiError): boolean =>
  (error.status === 422 || error.status === 400) && !isDenied(error) && !isAgainstDryRuns(error);

/** A webhook registered long ago may have side effects: then the API server refuses any dry run. */
const isAgainstDryRuns = ({ message }: ApiError): boolean =>
  /^admission webhook "[^"]+" does not support dry run/.test(message);

/** Without the name of the Pod, which is another one every time. */
const wordsOf = ({ message }: ApiError): string => message.replace(/^Pod "[^"]*" is invalid: /, "");
