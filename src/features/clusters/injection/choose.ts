import type { InjectionMode } from "../../../api/cluster.ts";
import type { Call, Kube } from "../../../kube/client.ts";
import type { Way } from "./mode.ts";
import { type PolicyVersion, policiesIn, policyVersions } from "./objects.ts";

/** Which version of the policy kinds a cluster serves, if any. */
export async function findPolicyVersion(kube: Kube, call: Call): Promise<PolicyVersion | undefined> {
  for (const version of policyVersions) if (await kube.serves(policiesIn(version), call)) return version;
  return undefined;
}

export function chooseWay(mode: InjectionMode, version: PolicyVersion | undefined): Way {
  if (mode === "None" || mode === "ServiceAccount") return { kind: mode };
  if (version) return { kind: "Policy", version };
  if (mode === "Auto") return { kind: "ServiceAccount" };
  return {
    kind: "unavailable",
    message:
      "mode Policy needs mutatingadmissionpolicies in admissionregistration.k8s.io, which this cluster does not serve",
  };
}
