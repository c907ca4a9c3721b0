import { keyOf } from "../../api/objects.ts";
import type { Container, Pod, PodSpec, Volume } from "../../api/pods.ts";
import { entriesOf, injectedContainerOf, replacementOf, volumeNamesOf, wasInjected } from "./injected-container.ts";
import { bearsGeneration, bearsMarksOf, withMarks } from "./marks-of-pod.ts";
import type { SidecarSetRecord, SidecarsMode } from "./record.ts";

export interface Injection {
  readonly mode: SidecarsMode;
  /** In order of their names: active, selecting this Pod, and nothing speaks against them. */
  readonly sets: readonly SidecarSetRecord[];
  /** Others that are in it and stay as they are, with their marks. */
  readonly kept?: readonly SidecarSetRecord[];
  /** By the name of a SidecarSet: the pull secrets it gives the Pod. */
  readonly names: ReadonlyMap<string, readonly string[]>;
  /** By source, `namespace/name`: the name of its copy. */
  readonly recorded: ReadonlyMap<string, string>;
}

/** The Pod as it shall be. Giving it the result again changes nothing; without sets, forged marks go. */
export function inject(pod: Pod, { mode, kept = [], names, recorded, ...injection }: Injection): Pod {
  const sets = mode === "instead" ? injection.sets.filter(hasContainers) : injection.sets;
  const given = sets.flatMap(({ metadata }) => names.get(metadata.name) ?? []);
  const spec = withNames(mode === "instead" ? withContainers(pod, sets) : (pod.spec ?? {}), given);
  const sources = new Set(sets.flatMap(({ references }) => references.map(keyOf)));
  const copies = [...sources].flatMap((source) => {
    const name = recorded.get(source);
    return name === undefined ? [] : [{ source, name }];
  });
  const isInjected = mode === "instead" ? sets.length + kept.length > 0 : given.length > 0;
  return { ...pod, spec, metadata: withMarks(pod.metadata, { mode, sets, kept, copies, isInjected }) };
}

/** Its marks say that it has the containers of this SidecarSet, and it does. */
export function carries(pod: Pod, set: SidecarSetRecord): boolean {
  const { containers = [], initContainers = [] } = set.spec;
  const isIn = (list: readonly Container[] | undefined, { name }: Container) =>
    entriesOf(list).some((present) => present.name === name && wasInjected(present));
  return (
    bearsMarksOf(pod, set) &&
    containers.every((container) => isIn(pod.spec?.containers, container)) &&
    initContainers.every((container) => isIn(pod.spec?.initContainers, container))
  );
}

const containersOf = ({ spec: { containers = [], initContainers = [] } }: SidecarSetRecord) => [
  ...containers,
  ...initContainers,
];

const hasContainers = (set: SidecarSetRecord): boolean => containersOf(set).length > 0;

function withContainers(pod: Pod, sets: readonly SidecarSetRecord[]): PodSpec {
  const { spec = {} } = pod;
  const sidecars = sets.flatMap((set) => set.spec.containers ?? []);
  const bySide = Object.groupBy(sidecars, ({ podInjectPolicy }) =>
    podInjectPolicy === "AfterAppContainer" ? "after" : "before",
  );
  const before = bySide.before?.map(injectedContainerOf) ?? [];
  const after = bySide.after?.map(injectedContainerOf) ?? [];
  const init = sets
    .flatMap((set) => set.spec.initContainers ?? [])
    .map(injectedContainerOf)
    .sort(byName);
  const volumes = [...(spec.volumes ?? []), ...volumesFor([...before, ...after, ...init], spec, sets)];
  const replace = replacing(pod, sets, volumes);
  return {
    ...spec,
    ...(before.length + after.length > 0 && { containers: merged(spec.containers, before, after, replace) }),
    ...(init.length > 0 && { initContainers: merged(spec.initContainers, [], init, replace) }),
    ...(volumes.length > 0 && { volumes }),
  };
}

type Replace = (present: Container, ours: Container) => Container;

/** Only what came from this very generation may have been completed since: the rest is of another one, or forged. */
function replacing(pod: Pod, sets: readonly SidecarSetRecord[], volumes: readonly Volume[]): Replace {
  const current = sets.filter((set) => bearsGeneration(pod, set)).flatMap(containersOf);
  const names = new Set(current.map(({ name }) => name));
  return (present, ours) => (names.has(present.name) ? replacementOf(present, ours, volumes) : ours);
}

/** A container that is there already is replaced in its place. */
function merged(
  present: readonly Container[] | undefined,
  before: readonly Container[],
  after: readonly Container[],
  replace: Replace,
): readonly Container[] {
  const ours = new Map([...before, ...after].map((container) => [container.name, container]));
  const names = new Set(present?.map(({ name }) => name));
  const isNew = ({ name }: Container) => !names.has(name);
  const theirs = present?.map((container) => {
    const own = ours.get(container.name);
    return own ? replace(container, own) : container;
  });
  return [...before.filter(isNew), ...(theirs ?? []), ...after.filter(isNew)];
}

/** Those that are mounted; one that the Pod has under that name stays the Pod's. */
function volumesFor(
  containers: readonly Container[],
  spec: PodSpec,
  sets: readonly SidecarSetRecord[],
): readonly Volume[] {
  const mounted = new Set(containers.flatMap(volumeNamesOf));
  const present = new Set(spec.volumes?.map(({ name }) => name));
  const offered = sets.flatMap((set) => set.spec.volumes ?? []);
  return [...Map.groupBy(offered, ({ name }) => name)].flatMap(([name, [first]]) =>
    first && mounted.has(name) && !present.has(name) ? [first] : [],
  );
}

/** After the Pod's own, in order, without duplicates. */
function withNames(spec: PodSpec, names: readonly string[]): PodSpec {
  const own = spec.imagePullSecrets ?? [];
  const present = new Set(own.map(({ name }) => name));
  const added = [...new Set(names)].filter((name) => !present.has(name));
  if (added.length === 0) return spec;
  return { ...spec, imagePullSecrets: [...own, ...added.map((name) => ({ name }))] };
}

const byName = (a: Container, b: Container): number => (a.name < b.name ? -1 : 1);
