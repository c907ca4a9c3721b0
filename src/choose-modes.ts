import { isDeepStrictEqual } from "node:util";
import { crdNameOf, crds, type Resource } from "./api/objects.ts";
import { type Config, modeOption } from "./config.ts";
import type { FeatureEntry } from "./features/feature.ts";
import type { Call, Kube } from "./kube/client.ts";
import { type CrdState, crdStateOf } from "./kube/crd-state.ts";
import { decideFeatureMode, type Mode, type ModeFlag } from "./runtime/modes.ts";

/** How a feature is to work, and what that was decided on. */
export interface Choice {
  readonly entry: FeatureEntry;
  readonly mode: Mode;
  /** Why it must not be on. */
  readonly refusals: readonly string[];
  /** CRDs that it waits for: without one of them a feature stays off, and the others need not wait with it. */
  readonly missing: readonly string[];
  readonly kinds: readonly SeenKind[];
  /** In the order of the kinds. */
  readonly modes: readonly Mode[];
}

export interface SeenKind {
  /** Name of its CRD. */
  readonly name: string;
  readonly crd: CrdState;
  /** Of the CRD: another one may serve other versions. */
  readonly generation: string;
}

/** Decides the mode of each feature by its flag and by whose CRDs are there. */
export function chooseModes(
  kube: Kube,
  config: Pick<Config, "settings" | "installCrds">,
  entries: readonly FeatureEntry[],
  call: Call,
): Promise<readonly Choice[]> {
  return Promise.all(
    entries.map(async (entry) => {
      const flag = config.settings.get(modeOption(entry));
      const kinds = flag === "off" ? [] : await Promise.all(entry.kinds.map((kind) => getKind(kube, kind, call)));
      return chooseMode(entry, flag, kinds, config);
    }),
  );
}

export function chooseMode(
  entry: FeatureEntry,
  flag: ModeFlag,
  kinds: readonly SeenKind[],
  { installCrds }: Pick<Config, "installCrds">,
): Choice {
  const off = { entry, mode: "off", refusals: [], missing: [], kinds, modes: [] } as const;
  if (flag === "off") return off;
  const decision = decideFeatureMode(flag, entry, kinds);
  if ("refusals" in decision) return { ...off, refusals: decision.refusals };
  const isWaitedFor = ({ crd }: SeenKind, at: number) =>
    crd === "absent" && !(decision.modes[at] === "instead" && installCrds);
  const missing = kinds.filter(isWaitedFor).map(({ name }) => name);
  return missing.length > 0 ? { ...off, missing } : { ...off, ...decision };
}

async function getKind(kube: Kube, kind: Resource, call: Call): Promise<SeenKind> {
  const name = crdNameOf(kind);
  const crd = await kube.getMetadata(crds, { name }, call);
  const { uid, generation } = crd?.metadata ?? {};
  return { name, crd: crdStateOf(crd), generation: `${uid} ${generation}` };
}

/** Whether a feature that was opened by one choice would be opened otherwise by another. */
export function isOutdated(before: Choice, now: Choice): boolean {
  // With the CRD all its objects are gone, and whoever served them still has to clean up after them.
  if (before.mode !== "off" && now.missing.length > 0) return false;
  if (before.mode !== now.mode || !isDeepStrictEqual(before.refusals, now.refusals)) return true;
  if (now.mode === "beside") return !isDeepStrictEqual(before.kinds, now.kinds);
  // We installed what was missing: if it is missing now, it is so again.
  return now.mode === "instead" && now.kinds.some(({ crd }) => crd === "absent");
}
