import { keyOf } from "../../api/objects.ts";
import { type Container, isEnforcing, type Pod, type ServiceAccount, type Volume } from "../../api/pods.ts";
import { unlistedIn } from "./enforcing.ts";
import { entriesOf, volumeNamesOf } from "./injected-container.ts";
import { conflictOf } from "./overlap.ts";
import type { SidecarSetRecord } from "./record.ts";

export interface Skipped {
  readonly set: SidecarSetRecord;
  /** In words, for the event. */
  readonly why: string;
}

interface Choice {
  readonly chosen: readonly SidecarSetRecord[];
  readonly skipped: readonly Skipped[];
}

interface Where {
  /** Of the Pod. */
  readonly namespace: string;
  readonly account?: ServiceAccount | undefined;
}

type Sets = readonly SidecarSetRecord[];
/** What speaks against a SidecarSet among others, in words. */
type Judge = (sets: Sets) => (set: SidecarSetRecord) => string | undefined;

/**
 * Which of the SidecarSets for this Pod, given in order of their names, go into it: the others would make it invalid.
 * The answer is the same for a Pod that they are in already.
 */
export function choose(pod: Pod, sets: Sets, { namespace, account }: Where): Choice {
  const where = `Pods of namespace ${namespace}`;
  const fitting = divide(sets, where, misfitsOf(pod));
  const allowed = divideByAccount(fitting.chosen, pod, namespace, account);
  const complete = divideUntilSettled(allowed.chosen, where, missingVolumesOf(pod));
  return {
    chosen: complete.chosen,
    skipped: [...fitting.skipped, ...allowed.skipped, ...complete.skipped],
  };
}

function divide(sets: Sets, where: string, judge: Judge): Choice {
  const reasonOf = judge(sets);
  const judged = sets.map((set) => ({ set, words: reasonOf(set) }));
  return {
    chosen: judged.flatMap(({ set, words }) => (words === undefined ? [set] : [])),
    skipped: judged.flatMap(({ set, words }) =>
      words === undefined ? [] : [{ set, why: `not injected into ${where}: ${words}` }],
    ),
  };
}

/** A SidecarSet that is left out takes its volumes along: others may have mounted them. */
function divideUntilSettled(sets: Sets, where: string, judge: Judge): Choice {
  const first = divide(sets, where, judge);
  if (first.skipped.length === 0) return first;
  const rest = divideUntilSettled(first.chosen, where, judge);
  return { chosen: rest.chosen, skipped: [...first.skipped, ...rest.skipped] };
}

function divideByAccount(sets: Sets, pod: Pod, namespace: string, account: ServiceAccount | undefined): Choice {
  if (!account || !isEnforcing(account)) return { chosen: sets, skipped: [] };
  const where = `Pods of ServiceAccount ${keyOf({ namespace, name: account.metadata.name })}`;
  return divide(sets, where, (all) => {
    const mounted = new Set(all.flatMap(containersOf).flatMap(volumeNamesOf));
    const present = namesIn(pod.spec?.volumes);
    const isAdded = ({ name }: Volume) => mounted.has(name) && !present.has(name);
    return (set) => unlistedIn(account, containersOf(set), set.spec.volumes?.filter(isAdded) ?? []);
  });
}

/** Of two that claim a name the first keeps it, whether or not it goes into this Pod. */
const misfitsOf =
  ({ spec }: Pod): Judge =>
  (sets) => {
    const conflicts = conflictsAmong(sets);
    const containers = namesIn(spec?.containers);
    const initContainers = namesIn(spec?.initContainers);
    return (set) => {
      const container = set.spec.containers?.find(({ name }) => initContainers.has(name));
      if (container) return `${container.name} is an initContainer there`;
      const initContainer = set.spec.initContainers?.find(({ name }) => containers.has(name));
      if (initContainer) return `${initContainer.name} is no initContainer there`;
      const resized = spec?.restartPolicy === "Never" ? containersOf(set).find(restartsWhenResized) : undefined;
      return resized ? `${resized.name} restarts when it is resized, which is not allowed there` : conflicts.get(set);
    };
  };

const restartsWhenResized = ({ resizePolicy }: Container): boolean =>
  entriesOf(resizePolicy as readonly { readonly restartPolicy?: string }[] | undefined).some(
    ({ restartPolicy }) => restartPolicy !== "NotRequired",
  );

function conflictsAmong(sets: Sets): ReadonlyMap<SidecarSetRecord, string> {
  const conflicts = new Map<SidecarSetRecord, string>();
  const holders = new Map<string, SidecarSetRecord>();
  for (const set of sets) {
    for (const name of claimsOf(set)) {
      const holder = holders.get(name);
      if (!holder) holders.set(name, set);
      const words = holder && holder !== set ? conflictOf(set, holder) : undefined;
      if (words && !conflicts.has(set)) conflicts.set(set, words);
    }
  }
  return conflicts;
}

const missingVolumesOf =
  ({ spec }: Pod): Judge =>
  (sets) => {
    const present = namesIn([...(spec?.volumes ?? []), ...sets.flatMap((set) => set.spec.volumes ?? [])]);
    const missingOf = (container: Container) => volumeNamesOf(container).find((name) => !present.has(name));
    return (set) => {
      const container = containersOf(set).find((one) => missingOf(one) !== undefined);
      return container && `container ${container.name} mounts volume ${missingOf(container)}, which is not there`;
    };
  };

const containersOf = ({ spec: { containers = [], initContainers = [] } }: SidecarSetRecord): readonly Container[] => [
  ...containers,
  ...initContainers,
];

const claimsOf = (set: SidecarSetRecord): readonly string[] => [
  ...containersOf(set).map(({ name }) => `container ${name}`),
  ...(set.spec.volumes ?? []).map(({ name }) => `volume ${name}`),
];

const namesIn = (list: readonly { readonly name: string }[] | undefined): ReadonlySet<string> =>
  new Set(list?.map(({ name }) => name));
