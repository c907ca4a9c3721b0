import { keyOf, type NamespacedRef } from "../../api/objects.ts";
import type { ServiceAccount } from "../../api/pods.ts";
import { candidatesOf } from "../../pullsecrets/names.ts";
import type { Resolution } from "../../pullsecrets/pull-secrets.ts";
import { mayName, nameLeftOut } from "./enforcing.ts";
import type { SidecarReference, SidecarSetRecord } from "./record.ts";
import type { Skipped } from "./skip.ts";

/** What the references of all SidecarSets come to in one Pod. */
export interface Names {
  /** By name of the SidecarSet: what it adds to the Pod's pull secrets, in order. */
  readonly names: ReadonlyMap<string, readonly string[]>;
  /** By source: the name that the copy has, or will have. */
  readonly recorded: ReadonlyMap<string, string>;
  readonly skipped: readonly Skipped[];
  /** References without a name: Secrets of others have all that there are. */
  readonly collisions: readonly { readonly set: SidecarSetRecord; readonly source: NamespacedRef }[];
  /** Names of the SidecarSets of which some copy could not be found out about in time. */
  readonly unsettled: ReadonlySet<string>;
}

export interface NamesOptions {
  /** The account of the Pod if it allows only the Secrets it lists. */
  readonly account: ServiceAccount | undefined;
  /** Which copy a source has in the Pod's namespace; told which names are reserved for other sources of this Pod. */
  resolve(source: NamespacedRef, isReserved: (name: string) => boolean): Promise<Resolution>;
}

/** One source, asked for once however many SidecarSets list it. */
interface Answer {
  readonly names: readonly string[];
  readonly isUnsettled: boolean;
  readonly isCollision: boolean;
  /** The source may be missing: the Secret of the Pod's own namespace may be meant. */
  readonly mayBeLocal: boolean;
}

/** Finds every name, all at once but where two sources could have the same one: there the earlier reference goes first. */
export async function resolveNames(sets: readonly SidecarSetRecord[], options: NamesOptions): Promise<Names> {
  const { account } = options;
  const allowed = (name: string) => mayName(account, name);
  const asked = sets.flatMap(({ references }) => references.filter((one) => candidatesOf(one).some(allowed)));
  const answers = await answersFor(asked, options);

  const names = new Map<string, readonly string[]>();
  const recorded = new Map<string, string>();
  const skipped: Skipped[] = [];
  const collisions: Names["collisions"][number][] = [];
  const unsettled = new Set<string>();
  for (const set of sets) {
    const ofSet = set.references.flatMap((reference) => {
      const answer = answers.get(keyOf(reference)) ?? { ...nothing, names: candidatesOf(reference).slice(0, 1) };
      const [copy] = answer.names.filter(allowed);
      if (copy !== undefined) recorded.set(keyOf(reference), copy);
      else if (account && answer.names[0]) skipped.push({ set, why: nameLeftOut(account, answer.names[0]) });
      if (answer.isCollision) collisions.push({ set, source: reference });
      if (answer.isUnsettled) unsettled.add(set.metadata.name);
      return allNamesOf(answer, reference).filter(allowed);
    });
    names.set(set.metadata.name, [...new Set(ofSet)]);
  }
  return { names, recorded, skipped, collisions, unsettled };
}

const nothing: Answer = { names: [], isUnsettled: false, isCollision: false, mayBeLocal: false };

const allNamesOf = (answer: Answer, { name, mayBeLocal }: SidecarReference): readonly string[] =>
  answer.mayBeLocal && mayBeLocal ? [...answer.names, name] : answer.names;

async function answersFor(
  sources: readonly NamespacedRef[],
  { resolve }: NamesOptions,
): Promise<ReadonlyMap<string, Answer>> {
  const answers = new Map<string, Promise<Answer>>();
  const byCandidate = new Map<string, readonly Promise<Answer>[]>();
  for (const source of sources) {
    if (answers.has(keyOf(source))) continue;
    const candidates = candidatesOf(source);
    const earlier = candidates.flatMap((name) => byCandidate.get(name) ?? []);
    const answer = answerAfter(earlier, source, resolve);
    answers.set(keyOf(source), answer);
    for (const name of candidates) byCandidate.set(name, [...(byCandidate.get(name) ?? []), answer]);
  }
  return new Map(await Promise.all([...answers].map(async ([key, answer]) => [key, await answer] as const)));
}

async function answerAfter(
  earlier: readonly Promise<Answer>[],
  source: NamespacedRef,
  resolve: NamesOptions["resolve"],
): Promise<Answer> {
  const taken = new Set((await Promise.all(earlier)).flatMap(({ names }) => names.slice(0, 1)));
  const resolution = await resolve(source, (name) => taken.has(name));
  switch (resolution.kind) {
    case "copy":
    case "refused":
      return { ...nothing, names: [resolution.name] };
    case "missing":
      return { ...nothing, names: [resolution.name], mayBeLocal: true };
    case "left-out":
      return { ...nothing, isCollision: resolution.why.kind === "collision" };
    case "unknown":
      return {
        ...nothing,
        names: candidatesOf(source).filter((name) => !taken.has(name)),
        isUnsettled: true,
        mayBeLocal: true,
      };
  }
}
