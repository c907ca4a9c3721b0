import { isDnsLabel } from "../../api/dns-names.ts";
import { injectedLabel, pullSecretsAnnotation } from "../../api/marks.ts";
import { keyOf, type Metadata } from "../../api/objects.ts";
import type { Pod } from "../../api/pods.ts";
import { isRecord, parseJsonOrUndefined } from "../../kube/json.ts";
import { sharing } from "../../kube/sharing.ts";
import { candidatesOf, literalNameOf } from "../../pullsecrets/names.ts";
import { parseSource } from "../../pullsecrets/ours.ts";
import { longRunningOf } from "./hash.ts";
import type { SidecarSetRecord, SidecarsMode } from "./record.ts";

export const hashAnnotation = "kruise.io/sidecarset-hash";
export const hashWithoutImageAnnotation = "kruise.io/sidecarset-hash-without-image";
/** Comma list of the SidecarSets that are in a Pod. */
export const injectedListAnnotation = "kruise.io/sidecarset-injected-list";

const ownAnnotations = [hashAnnotation, hashWithoutImageAnnotation, injectedListAnnotation];

interface Marking {
  readonly mode: SidecarsMode;
  readonly sets: readonly SidecarSetRecord[];
  /** Others, whose marks stay as they are. */
  readonly kept?: readonly SidecarSetRecord[];
  readonly copies: readonly { readonly source: string; readonly name: string }[];
  /** Otherwise all marks go. */
  readonly isInjected: boolean;
}

/** Computed anew, never trusted: whatever stood under our keys is gone. Beside the original, its annotations are its own. */
export function withMarks(present: Metadata, marking: Marking): Metadata {
  const { labels, annotations, ...metadata } = present;
  const isOriginals = marking.mode === "beside";
  const replaced = isOriginals ? [pullSecretsAnnotation] : [pullSecretsAnnotation, ...ownAnnotations];
  const newLabels = marking.isInjected ? { [injectedLabel]: "true" } : {};
  const newAnnotations = marking.isInjected
    ? { ...copiesMarkOf(present, marking), ...(isOriginals ? {} : setMarksOf(present, marking)) }
    : {};
  return {
    ...metadata,
    ...entry("labels", replacing(labels, [injectedLabel], newLabels)),
    ...entry("annotations", replacing(annotations, replaced, newAnnotations)),
  };
}

/** Anyone may write such marks on a Pod: more than these belong to no Pod of ours. */
const maxLength = 65_536;
const maxCopies = 512;
const maxSets = 256;
const maxHashLength = 64;

/** By source: the name under which a Pod names its copy. */
export function pullSecretsOf({ metadata }: Pick<Pod, "metadata">): ReadonlyMap<string, string> {
  return readPullSecrets(metadata.annotations?.[pullSecretsAnnotation] ?? "");
}

const readPullSecrets = sharing((text): ReadonlyMap<string, string> => {
  const entries = listOf(text, maxCopies).map((entry) => entry.split("="));
  return new Map(
    entries.flatMap(([source = "", name = "", ...more]) =>
      more.length === 0 && isCopyName(name, source) ? [[source, name]] : [],
    ),
  );
});

export function injectedListOf({ metadata }: Pick<Pod, "metadata">): readonly string[] {
  return readInjectedList(metadata.annotations?.[injectedListAnnotation] ?? "");
}

const readInjectedList = sharing((text) => listOf(text, maxSets).filter(isDnsLabel));

/** By SidecarSet that it lists: the hash of what the Pod got from it. */
export function hashesOf(pod: Pick<Pod, "metadata">): ReadonlyMap<string, string> {
  const { [hashAnnotation]: hashes = "", [injectedListAnnotation]: list = "" } = pod.metadata.annotations ?? {};
  return readHashes(`${list}\n${hashes}`);
}

const readHashes = sharing((text): ReadonlyMap<string, string> => {
  const end = text.indexOf("\n");
  const entries = entriesOf(text.slice(end + 1));
  return new Map(
    readInjectedList(text.slice(0, end)).flatMap((set) => {
      const hash = entries.get(set)?.hash;
      return typeof hash === "string" && hash.length <= maxHashLength ? [[set, hash]] : [];
    }),
  );
});

/** It says that it has something of this SidecarSet. */
export const bearsMarksOf = (pod: Pick<Pod, "metadata">, { metadata }: SidecarSetRecord): boolean =>
  pod.metadata.labels?.[injectedLabel] === "true" && injectedListOf(pod).includes(metadata.name);

/** It says that what it has of this SidecarSet is of its present generation. */
export function bearsGeneration({ metadata }: Pick<Pod, "metadata">, set: SidecarSetRecord): boolean {
  const { hash, updateTimestamp } = entriesOf(metadata.annotations?.[hashAnnotation]).get(set.metadata.name) ?? {};
  return hash === set.hash && updateTimestamp === set.changedAt;
}

type Marks = Readonly<Record<string, string>>;

function setMarksOf(present: Metadata, { sets, kept = [] }: Marking): Marks {
  const names = [...sets, ...kept].map(({ metadata }) => metadata.name);
  const withKept = (annotation: string, hashOf: (set: SidecarSetRecord) => string): string => {
    const before = entriesOf(kept.length > 0 ? present.annotations?.[annotation] : "");
    const stay = kept.flatMap(({ metadata: { name } }) => {
      const entry = before.get(name);
      return entry ? [[name, entry] as const] : [];
    });
    return JSON.stringify(Object.fromEntries([...describe(sets, hashOf), ...stay].sort(byName)));
  };
  return {
    [hashAnnotation]: withKept(hashAnnotation, ({ hash }) => hash),
    [hashWithoutImageAnnotation]: withKept(hashWithoutImageAnnotation, ({ hashWithoutImage }) => hashWithoutImage),
    [injectedListAnnotation]: names.sort().join(","),
  };
}

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (a < b ? -1 : 1);

function describe(sets: readonly SidecarSetRecord[], hashOf: (set: SidecarSetRecord) => string) {
  return sets.map((set) => {
    const { name } = set.metadata;
    const sidecarList = longRunningOf(set.spec)
      .map((sidecar) => sidecar.name)
      .sort();
    return [
      name,
      { updateTimestamp: set.changedAt, hash: hashOf(set), sidecarSetName: name, sidecarList, controllerRevision: "" },
    ] as const;
  });
}

function copiesMarkOf(present: Metadata, { copies, kept = [] }: Marking): Marks {
  const given = new Map(copies.map(({ source, name }) => [source, name]));
  const before = pullSecretsOf({ metadata: present });
  for (const source of kept.flatMap(({ references }) => references.map(keyOf))) {
    const name = before.get(source);
    if (name !== undefined && !given.has(source)) given.set(source, name);
  }
  if (given.size === 0) return {};
  return { [pullSecretsAnnotation]: [...given].map(([source, name]) => `${source}=${name}`).join(",") };
}

function replacing(present: Marks | undefined, keys: readonly string[], added: Marks): Marks | undefined {
  if (!present && Object.keys(added).length === 0) return undefined;
  const others = Object.entries(present ?? {}).filter(([key]) => !keys.includes(key));
  return { ...Object.fromEntries(others), ...added };
}

const entry = <K extends string>(key: K, value: Marks | undefined) =>
  value && ({ [key]: value } as { [_ in K]: Marks });

/** Most copies have the literal name: the other one costs a hash. */
function isCopyName(name: string, key: string): boolean {
  const source = parseSource(key);
  return source !== undefined && (name === literalNameOf(source) || candidatesOf(source).includes(name));
}

/** Of a text that is longer than ours can be: nothing. */
function listOf(text: string, maxEntries: number): readonly string[] {
  if (text.length > maxLength) return [];
  const entries = text.split(",", maxEntries + 1).map((entry) => entry.trim());
  return entries.length > maxEntries ? [] : entries.filter(Boolean);
}

function entriesOf(text = ""): ReadonlyMap<string, Readonly<Record<string, unknown>>> {
  const parsed = text === "" ? undefined : parseJsonOrUndefined(text);
  const entries = isRecord(parsed) ? Object.entries(parsed) : [];
  return new Map(entries.flatMap(([set, value]) => (isRecord(value) ? [[set, value]] : [])));
}
