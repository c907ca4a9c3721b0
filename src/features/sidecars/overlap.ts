import { canonicalJson } from "./hash.ts";
import type { SidecarSetRecord } from "./record.ts";
import { isSatisfiable, namespaceRequirementsOf, requirementsOf, type Scope } from "./selector.ts";

/** Whether a Pod is possible that both are for. Only what is provably apart does not overlap. */
export function canOverlap(a: Scope, b: Scope): boolean {
  return (
    canBothHold(requirementsOf(a.selector), requirementsOf(b.selector)) &&
    canBothHold(namespaceRequirementsOf(a), namespaceRequirementsOf(b))
  );
}

type Compared = Pick<SidecarSetRecord, "metadata" | "spec">;

/** What of `a` cannot be in one Pod together with `b`, in words. */
export function conflictOf(a: Compared, b: Compared): string | undefined {
  const words = containerConflictOf(a, b) ?? volumeConflictOf(a, b);
  return words !== undefined && canOverlap(a.spec, b.spec) ? words : undefined;
}

function containerConflictOf(a: Compared, b: Compared): string | undefined {
  const taken = new Set(containerNamesOf(b));
  const name = containerNamesOf(a).find((one) => taken.has(one));
  return name && `container ${name} is also injected by SidecarSet ${b.metadata.name}`;
}

function volumeConflictOf(a: Compared, b: Compared): string | undefined {
  const contents = new Map(b.spec.volumes?.map((volume) => [volume.name, canonicalJson(volume)]));
  const volume = a.spec.volumes?.find((one) => {
    const other = contents.get(one.name);
    return other !== undefined && other !== canonicalJson(one);
  });
  return volume && `volume ${volume.name} has another content in SidecarSet ${b.metadata.name}`;
}

const containerNamesOf = ({ spec: { containers = [], initContainers = [] } }: Compared): readonly string[] =>
  [...containers, ...initContainers].map(({ name }) => name);

type Requirements = ReturnType<typeof requirementsOf>;

const canBothHold = (a: Requirements, b: Requirements): boolean =>
  a !== undefined && b !== undefined && isSatisfiable([...a, ...b]);
