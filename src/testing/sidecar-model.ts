import { isDeepStrictEqual } from "node:util";
import type { Secret } from "../api/objects.ts";
import {
  dockerConfigType,
  injectedLabel,
  injectedListAnnotation,
  literalName,
  type Pod,
  pullSecretsAnnotation,
  pullSecretsOf,
  type SidecarSet,
  suffixedName,
} from "./sidecars.ts";

/** All that decides which copies there should be, and what there is. */
export interface World {
  readonly namespaces: readonly string[];
  readonly sets: readonly SidecarSet[];
  /** By `namespace/name`. */
  readonly sources: ReadonlyMap<string, Secret | undefined>;
  /** All in these namespaces. */
  readonly pods: readonly Pod[];
  readonly secrets: readonly Secret[];
  /** By `namespace/name`: Secrets of others, as they were made. */
  readonly foreign: ReadonlyMap<string, Secret>;
  /** Whether a Pod that is not forged was ever created there. */
  hadPods(namespace: string): boolean;
  /** Whether somebody else ever had a name there that a copy could have. */
  wasDisputed(source: string, namespace: string): boolean;
  /** Whether the source was there all the time, and nobody deleted a copy of it there. */
  wasSteady(source: string, namespace: string): boolean;
}

const vetoAnnotation = "latchkey.dev/no-copy";
const keyOf = ({ metadata: { namespace, name } }: Secret) => `${namespace}/${name}`;
const candidatesOf = (source: string) => [literalName(source), suffixedName(source)];
const sourceOf = ({ metadata }: Secret) => metadata.annotations?.["latchkey.dev/source"];

/** What is not as the spec says, in words; nothing when all is well. */
export function problemsIn(world: World): readonly string[] {
  const { namespaces, sources } = world;
  const places = namespaces.flatMap((namespace) => [...sources.keys()].map((source) => ({ namespace, source })));
  return [
    ...foreignProblems(world),
    ...places.flatMap(({ namespace, source }) => placeProblems(world, namespace, source)),
    ...world.sets.flatMap((set) => statusProblems(world, set)),
  ];
}

function foreignProblems({ foreign, secrets, sources }: World): readonly string[] {
  const now = new Map(secrets.map((secret) => [keyOf(secret), secret]));
  // In a list nothing says of which kind it is.
  const partsOf = (secret: Secret | undefined) => [secret?.metadata, secret?.data, secret?.type];
  const changed = [...foreign].filter(([key, before]) => !isDeepStrictEqual(partsOf(now.get(key)), partsOf(before)));
  const unknown = secrets.filter((secret) => !foreign.has(keyOf(secret)) && !sources.has(sourceOf(secret) ?? ""));
  return [
    ...changed.map(([key]) => `${key} is not as its owner left it`),
    ...unknown.map((secret) => `${keyOf(secret)} is nobody's`),
  ];
}

function placeProblems(world: World, namespace: string, source: string): readonly string[] {
  const secret = world.sources.get(source);
  const copies = copiesOf(world, namespace, source);
  const all = copies.map(({ metadata }) => metadata.name).join(" and ");
  const where = `${source} in ${namespace}`;
  if (!secret || !isUsable(secret)) return copies.length > 0 ? [`${where}: ${all} should be gone`] : [];

  const users = world.pods.filter((pod) => pod.metadata.namespace === namespace && isUnfinished(pod));
  const isNamed = ({ metadata }: Secret) => users.some((pod) => pullSecretsOf(pod).includes(metadata.name));
  const asking = users.filter((pod) => isAskingFor(pod, source, world.sets));
  const [standing, ...others] = copies;
  if (!world.hadPods(namespace)) return copies.length > 0 ? [`${where}: nobody ever asked for ${all}`] : [];
  const isMissed = world.wasSteady(source, namespace) && !standing && users.some((pod) => wasGiven(pod, source));
  if (isMissed) return [`${where}: a Pod still names a copy that is gone`];
  if (asking.length === 0) return copies.every(isNamed) ? [] : [`${where}: ${all} should be gone`];
  if (!standing) return isPlaceLeft(world, namespace, source) ? [`${where}: there is no copy`] : [];
  const carried = new Set(asking.flatMap(pullSecretsOf));
  return [
    ...(isDeepStrictEqual([standing.data, standing.type], [secret.data, secret.type]) ? [] : [`${where}: differs`]),
    ...others.filter((copy) => !isNamed(copy)).map((copy) => `${where}: ${copy.metadata.name} is one too many`),
    ...(carried.has(standing.metadata.name) || world.wasDisputed(source, namespace)
      ? []
      : [`${where}: no Pod names ${standing.metadata.name}`]),
  ];
}

/**
 * Pods that a SidecarSet gave no copy of a source it lists, where others hold all its names now: whether that was the
 * reason then, nobody can tell.
 */
export function podsInDoubt(world: World): readonly Pod[] {
  const { secrets, sets, pods } = world;
  const isHeld = (namespace: string, source: string) =>
    copiesOf(world, namespace, source).length === 0 &&
    candidatesOf(source).every((name) => secrets.some((secret) => keyOf(secret) === `${namespace}/${name}`));
  const lacks = (pod: Pod, source: string) =>
    sets.some((set) => isMatched(pod, set) && lists(set, source)) && !givenTo(pod).includes(source);
  return pods.filter((pod) =>
    [...world.sources.keys()].some((source) => lacks(pod, source) && isHeld(pod.metadata.namespace ?? "", source)),
  );
}

/** The better name first. */
function copiesOf({ secrets, foreign }: World, namespace: string, source: string): readonly Secret[] {
  const keys = candidatesOf(source).map((name) => `${namespace}/${name}`);
  const there = keys.flatMap((key) => secrets.find((secret) => keyOf(secret) === key) ?? []);
  return there.filter((secret) => !foreign.has(keyOf(secret)) && sourceOf(secret) === source);
}

/** The better name may be promised to another source that has the same one; the other is nobody else's. */
function isPlaceLeft({ foreign, sources }: World, namespace: string, source: string): boolean {
  const isShared = [...sources.keys()].some((other) => other !== source && literalName(other) === literalName(source));
  const [literal, suffixed] = candidatesOf(source).map((name) => !foreign.has(`${namespace}/${name}`));
  return Boolean(suffixed || (literal && !isShared));
}

const isUsable = ({ type, metadata }: Secret): boolean =>
  type === dockerConfigType && metadata.annotations?.[vetoAnnotation] !== "true";

const isUnfinished = ({ status }: Pod): boolean => status?.phase !== "Succeeded" && status?.phase !== "Failed";

const listOf = ({ metadata }: Pod, annotation: string) => metadata.annotations?.[annotation]?.split(",") ?? [];

/** It had its copy when it was created. With both names nobody knew it then; a forged one has no `app`. */
function wasGiven(pod: Pod, source: string): boolean {
  const names = pullSecretsOf(pod);
  const isForged = pod.metadata.labels?.app === undefined;
  const isUnsettled = candidatesOf(source).every((name) => names.includes(name));
  return !isForged && !isUnsettled && givenTo(pod).includes(source);
}

const givenTo = (pod: Pod) => listOf(pod, pullSecretsAnnotation).map((entry) => entry.split("=")[0]);

/** Its marks say that it was given the copy, and a SidecarSet says that it should be. */
function isAskingFor(pod: Pod, source: string, sets: readonly SidecarSet[]): boolean {
  return givenTo(pod).includes(source) && sets.some((set) => isMatched(pod, set) && lists(set, source));
}

const isMatched = (pod: Pod, set: SidecarSet): boolean =>
  isUnfinished(pod) &&
  pod.metadata.labels?.[injectedLabel] === "true" &&
  listOf(pod, injectedListAnnotation).includes(set.metadata.name) &&
  selects(set, pod);

function selects({ spec }: SidecarSet, { metadata }: Pod): boolean {
  const wanted = Object.entries(spec.selector.matchLabels ?? {});
  if (spec.namespace && spec.namespace !== metadata.namespace) return false;
  return wanted.every(([key, value]) => metadata.labels?.[key] === value);
}

const lists = ({ spec }: SidecarSet, source: string): boolean =>
  (spec.imagePullSecrets ?? []).some(({ namespace, name }) => `${namespace}/${name}` === source);

function statusProblems(world: World, set: SidecarSet): readonly string[] {
  const { name, generation } = set.metadata;
  const { observedGeneration, imagePullSecrets = [], conditions = [], matchedPods } = set.status ?? {};
  if (observedGeneration !== generation) return [`${name}: its status is of before`];
  const matched = world.pods.filter((pod) => isMatched(pod, set));
  const copies = imagePullSecrets.reduce((sum, told) => sum + told.copies, 0);
  const told = conditions.find(({ type, status }) => type === "Ready" && status === "True")?.message;
  const message = `${counted(matched, "Pod")} in ${counted(namespacesOf(matched), "namespace")}, ${copies} cop${copies === 1 ? "y" : "ies"}`;
  return [
    ...(matchedPods === matched.length ? [] : [`${name}: ${matchedPods} Pods, not ${matched.length}`]),
    ...(told === undefined || told === message ? [] : [`${name}: says ${told}, not ${message}`]),
    ...imagePullSecrets.flatMap((entry) => entryProblems(world, set, entry)),
  ];
}

const namespacesOf = (pods: readonly Pod[]) => [...new Set(pods.flatMap(({ metadata }) => metadata.namespace ?? []))];

const counted = ({ length }: readonly unknown[], one: string) => `${length} ${one}${length === 1 ? "" : "s"}`;

type Entry = NonNullable<NonNullable<SidecarSet["status"]>["imagePullSecrets"]>[number];

function entryProblems(world: World, set: SidecarSet, told: Entry): readonly string[] {
  const source = `${told.namespace}/${told.name}`;
  const asking = world.pods.filter((pod) => isUnfinished(pod) && isAskingFor(pod, source, [set]));
  const namespaces = namespacesOf(asking);
  const copies = namespaces.flatMap((namespace) => copiesOf(world, namespace, source)[0] ?? []);
  const suffixed = copies.filter(({ metadata }) => metadata.name === suffixedName(source)).length;
  const wanted = stateOf(world.sources.get(source), namespaces.length, copies.length);
  const [is, should] = [told, { state: wanted, copies: copies.length, suffixed }].map(
    (each) => `${each.state} with ${each.copies} copies, ${each.suffixed} of them suffixed`,
  );
  const waiting = `${source} does not exist; ${counted(asking, "Pod")}`;
  const isTold = set.status?.conditions?.some(({ message }) => message.includes(waiting));
  return [
    ...(is === should ? [] : [`${source} is ${is}, not ${should}`]),
    ...(wanted !== "SourceMissing" || isTold ? [] : [`nothing says: ${waiting}`]),
  ].map((problem) => `${set.metadata.name}: ${problem}`);
}

function stateOf(source: Secret | undefined, wanted: number, copied: number): string {
  if (!source) return "SourceMissing";
  if (source.metadata.annotations?.[vetoAnnotation] === "true") return "SourceVetoed";
  if (source.type !== dockerConfigType) return "SourceTypeRejected";
  if (copied < wanted) return "Collision";
  return wanted > 0 ? "Copied" : "Unused";
}
