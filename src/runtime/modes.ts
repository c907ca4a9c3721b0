import type { CrdState } from "../kube/crd-state.ts";

export type ModeFlag = "auto" | "instead" | "beside" | "off";
export type Mode = Exclude<ModeFlag, "auto">;

interface AboutFeature {
  readonly name: string;
  /** Is there a released project whose kinds these are? A kind of our own has nothing to be beside of. */
  readonly hasOriginal: boolean;
}

interface KindState {
  /** Name of its CRD, e.g. `secretsyncs.package-operator.run`. */
  readonly name: string;
  readonly crd: CrdState;
}

/** Where one kind of several is the original project's, the feature works beside it; each kind has a mode of its own. */
export function decideFeatureMode(
  flag: ModeFlag,
  feature: AboutFeature,
  kinds: readonly KindState[],
): { readonly mode: Mode; readonly modes: readonly Mode[] } | { readonly refusals: readonly string[] } {
  const decisions = kinds.map((kind) => decideMode(flag, feature, kind));
  const refusals = decisions.flatMap((decision) => ("refuse" in decision ? [decision.refuse] : []));
  if (refusals.length > 0) return { refusals };
  const modes = decisions.flatMap((decision) => ("mode" in decision ? [decision.mode] : []));
  return { mode: modes.find((mode) => mode !== "instead") ?? "instead", modes };
}

/** Does Latchkey do the whole job, add to what the original project does, or keep out? */
export function decideMode(
  flag: ModeFlag,
  { name: feature, hasOriginal }: AboutFeature,
  { name: crdName, crd }: KindState,
): { readonly mode: Mode } | { readonly refuse: string } {
  if (flag === "off") return { mode: "off" };
  if (flag === "beside" && !hasOriginal) {
    return { refuse: `--${feature}=beside: no other project serves ${crdName}, use auto, instead or off` };
  }
  if (flag === "beside") return { mode: "beside" };
  if (crd !== "foreign") return { mode: "instead" };
  if (flag === "auto" && hasOriginal) return { mode: "beside" };
  const waysOut = hasOriginal ? "use auto, beside or off" : `remove it or use --${feature}=off`;
  return { refuse: `--${feature}=${flag}: the CRD ${crdName} was not installed by Latchkey, ${waysOut}` };
}
