import { injectLabel } from "../../api/marks.ts";
import { type Pod, pods } from "../../api/pods.ts";
import { withDeadline } from "../../kube/deadline.ts";
import { span } from "../../kube/trace.ts";
import { type Hook, type Review, type Verdict, webhookConfigurationOf } from "../../runtime/admission.ts";
import { countInjection } from "./injections.ts";
import { type Injecting, reviewPod } from "./review-pod.ts";

interface PodHookOptions extends Injecting {
  readonly failurePolicy: Hook["failurePolicy"];
}

/** For all API work of one review together. */
const budgetMs = 1000;

/** Puts the containers of SidecarSets into a Pod that is being created, and the names of their pull secrets. */
export function podHook({ failurePolicy, ...injecting }: PodHookOptions): Hook {
  return {
    kind: "mutating",
    name: "pods.sidecars.latchkey.dev",
    path: "/mutate/pods",
    configuration: webhookConfigurationOf("sidecars"),
    resource: pods,
    operations: ["CREATE"],
    failurePolicy,
    sideEffects: "NoneOnDryRun",
    namespaceSelector: namespaceSelectorOf(injecting.ownNamespace, failurePolicy),
    review: (review, { signal }) => allowingAlways(review, injecting, signal),
  };
}

/** A hook that fails closed must not keep the cluster itself from coming up. */
function namespaceSelectorOf(ownNamespace: string, failurePolicy: Hook["failurePolicy"]): object {
  const never = failurePolicy === "Fail" ? [ownNamespace, "kube-system"] : [ownNamespace];
  return {
    matchExpressions: [
      { key: "kubernetes.io/metadata.name", operator: "NotIn", values: never },
      { key: injectLabel, operator: "NotIn", values: ["false"] },
    ],
  };
}

/** A Pod without its sidecar is better than no Pod: whatever goes wrong, it is allowed. */
async function allowingAlways(
  { object, namespace = "", dryRun }: Review,
  injecting: Injecting,
  signal: AbortSignal | undefined,
): Promise<Verdict> {
  const pod = object as Pod;
  const { name, generateName } = pod.metadata as Pod["metadata"] & { readonly generateName?: string };
  const attributes = { namespace, pod: name ?? generateName ?? "" };
  try {
    return await span("sidecars.review", attributes, () =>
      withDeadline(budgetMs, signal, (budget) => reviewPod(pod, namespace, { ...injecting, dryRun, signal: budget })),
    );
  } catch (error) {
    if (!dryRun) countInjection("error");
    injecting.log.error("a Pod was admitted as it was", { ...attributes, error });
    return { allowed: true, warnings: ["Latchkey could not review this Pod: it may lack its sidecars"] };
  }
}
