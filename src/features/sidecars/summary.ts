import { sidecarSets } from "../../api/kinds.ts";
import type { SidecarSet } from "../../api/sidecar-set.ts";
import type { Call, Kube } from "../../kube/client.ts";
import { getCrdState } from "../../kube/crd-state.ts";
import type { Problem, Summary } from "../feature.ts";
import { parseStatus } from "./beside-status.ts";
import { findServedKind } from "./served-kind.ts";

export async function summarise(kube: Kube, call: Call): Promise<Summary> {
  const isStandIn = (await getCrdState(kube, sidecarSets, call)) === "stand-in";
  const served = await findServedKind(kube, call);
  const all = served ? await kube.list<SidecarSet>(served, {}, call) : [];
  const statuses = all.map((set) => (isStandIn ? set.status : parseStatus(set)));
  return {
    counts: [
      { what: "SidecarSets", count: all.length },
      {
        what: "pull secrets",
        count: statuses.reduce((sum, status) => sum + (status?.imagePullSecrets?.length ?? 0), 0),
      },
    ],
    problems: all.flatMap((set, at) => problemsOf(set, statuses[at], isStandIn)),
  };
}

function problemsOf(
  { metadata, spec }: SidecarSet,
  status: SidecarSet["status"],
  isStandIn: boolean,
): readonly Problem[] {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const isPaused = isStandIn && spec.injectionStrategy?.paused === true;
  if (isPaused || ready?.status === "True") return [];
  const object = `${sidecarSets.kind}/${metadata.name}`;
  if (ready) return [{ object, reason: ready.reason, message: ready.message }];
  // Beside the original, most objects are no business of ours.
  return isStandIn ? [{ object, reason: "Unseen", message: "no operator has looked at it yet" }] : [];
}
