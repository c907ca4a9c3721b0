import { isDeepStrictEqual } from "node:util";
import { candidatesOf } from "../../pullsecrets/names.ts";
import type { Reference } from "../../pullsecrets/references.ts";
import type { Naming } from "./injection/record.ts";

/** What is known about the copy of one source in one namespace. */
export type Sight =
  /** Ours, and it stands there by this name; or by this name it was refused. */
  | { readonly kind: "named"; readonly name: string }
  /** Others hold all names that it could have. */
  | { readonly kind: "collision" }
  | { readonly kind: "nothing" };

export interface NamingFacts {
  readonly references: readonly Reference[];
  /** Of a source whose copies must not be, Pods get no name. */
  isInjected(source: Reference): boolean;
  sightOf(source: Reference, namespace: string): Sight;
  /** Our own copy of another source has this name there. */
  isTaken(name: string, source: Reference, namespace: string): boolean;
  readonly recorded: Recorded;
}

/** What Pods have been given up to now. */
export interface Recorded {
  readonly names: readonly string[];
  readonly special: { get(namespace: string): readonly string[] | undefined };
}

/** The names for Pods of namespaces where nothing stands in the way, one for each reference. */
export function usualNames({ references, isInjected, recorded }: Omit<NamingFacts, "sightOf" | "isTaken">) {
  const kept = references.map((source) => (isInjected(source) ? recordedName(source, recorded.names) : undefined));
  const taken = new Set(kept.filter((name) => name !== undefined));
  return references.map((source, at) => {
    if (!isInjected(source)) return "";
    const isFirst = kept[at] !== undefined && kept.indexOf(kept[at]) === at;
    const name = isFirst ? kept[at] : candidatesOf(source).find((candidate) => !taken.has(candidate));
    if (name !== undefined) taken.add(name);
    return name ?? "";
  });
}

/** The names for Pods of one namespace; empty for a reference that cannot be served there. */
export function namesIn(namespace: string, usual: readonly string[], facts: NamingFacts): readonly string[] {
  const { references, isInjected, sightOf, isTaken, recorded } = facts;
  const sights = references.map((source) => sightOf(source, namespace));
  const taken = new Set(sights.flatMap((sight) => (sight.kind === "named" ? [sight.name] : [])));
  return references.map((source, at) => {
    const sight = sights[at];
    if (!isInjected(source) || !sight || sight.kind === "collision") return "";
    if (sight.kind === "named") return sight.name;

    const remembered = rememberedIn(namespace, source, recorded);
    if (remembered === "") return "";
    const wishes = [remembered, usual[at], ...candidatesOf(source)].filter((name) => name !== undefined);
    const name = wishes.find((wish) => wish !== "" && !taken.has(wish) && !isTaken(wish, source, namespace));
    if (name !== undefined) taken.add(name);
    return name ?? "";
  });
}

/** By which name Pods there were given this source; empty if they were given the others and not this one. */
function rememberedIn(namespace: string, source: Reference, { names, special }: Recorded): string | undefined {
  const list = special.get(namespace);
  const found = recordedName(source, list ?? names);
  if (found !== undefined || !list) return found;
  return recordedName(source, names) === undefined ? undefined : "";
}

/** The suffixed name is nobody else's; the literal one may be there for another source. */
const recordedName = (source: Reference, names: readonly string[]): string | undefined =>
  candidatesOf(source).findLast((name) => names.includes(name));

/** What all Pods of a cluster are given: the usual names, and the lists of namespaces that differ. */
export function namingOf(
  namespaces: readonly string[],
  facts: NamingFacts,
  exempt: Naming["exempt"] = new Map(),
): Naming {
  const names = usualNames(facts);
  const lists = namespaces.map((namespace) => [namespace, namesIn(namespace, names, facts)] as const);
  return { names, special: new Map(lists.filter(([, list]) => !isDeepStrictEqual(list, names))), exempt };
}

/** How many namespaces have a copy by another than the usual name. */
export const suffixedIn = ({ names, special }: Naming): number =>
  [...special.values()].filter((list) => list.some((name, at) => name !== "" && name !== names[at])).length;
