import { keyOf } from "../../api/objects.ts";
import type { Reference } from "../../pullsecrets/references.ts";
import type { Place, Report, SourceState } from "../../pullsecrets/report.ts";
import { lackOf } from "./words.ts";

/** Reasons why copies are not as they should be, the gravest first. */
export const copyReasons = [
  "SourceTypeRejected",
  "SourceIsACopy",
  "SourceVetoed",
  "SourceMissing",
  "SourceUnreadable",
  "Collision",
  "Forbidden",
  "TargetRefused",
  "Progressing",
] as const;
export type CopyReason = (typeof copyReasons)[number];

export interface Trouble {
  readonly reason: CopyReason;
  readonly message: string;
}

/** A namespace that lacks a copy. */
export interface PlaceTrouble extends Trouble {
  readonly namespace: string;
  readonly source: string;
}

/** How one reference stands. */
export interface Standing {
  readonly reference: Reference;
  readonly copyName: string;
  /** `Copied`, or what is wrong. */
  readonly state: "Copied" | CopyReason;
  readonly copies: number;
  /** Of the source itself. */
  readonly trouble: Trouble | undefined;
  readonly places: readonly PlaceTrouble[];
  /** Namespaces that have the copy by another name. */
  readonly suffixed: readonly string[];
}

export interface StandingFacts {
  readonly reference: Reference;
  readonly copyName: string;
  readonly report: Report | undefined;
  readonly state: SourceState | undefined;
  readonly served: readonly string[];
  /** By which name a copy stands there. */
  copyIn(namespace: string): string | undefined;
}

export function standingOf(facts: StandingFacts): Standing {
  const { reference, copyName, report, state, served, copyIn } = facts;
  const trouble = sourceTrouble(reference, state);
  const names = served.map((namespace) => [namespace, copyIn(namespace)] as const);
  const there = names.filter(([, name]) => name !== undefined);
  const isUsable = state === undefined || state.kind === "usable";
  const places = [
    ...(isUsable ? names.flatMap(([namespace, name]) => placeTrouble({ ...facts, namespace, name, report })) : []),
    ...leftoverTroubles(keyOf(reference), report),
  ];
  return {
    ...{ reference, copyName, trouble, places, copies: there.length },
    state: trouble?.reason ?? gravestOf(places)?.reason ?? "Copied",
    suffixed: there.filter(([, name]) => name !== copyName).map(([namespace]) => namespace),
  };
}

/** Copies that ought to be gone. */
export const leftoverTroubles = (source: string, report: Report | undefined): readonly PlaceTrouble[] =>
  [...(report?.leftovers ?? [])].map(([namespace, place]) => ({ namespace, source, ...troubleAt(namespace, place) }));

export function gravestOf<T extends { readonly reason: CopyReason }>(troubles: readonly T[]): T | undefined {
  return troubles.toSorted((a, b) => copyReasons.indexOf(a.reason) - copyReasons.indexOf(b.reason))[0];
}

function sourceTrouble(reference: Reference, state: SourceState | undefined): Trouble | undefined {
  const name = `Secret ${keyOf(reference)}`;
  switch (state?.kind) {
    case undefined:
    case "usable":
      return undefined;
    case "missing":
      return { reason: "SourceMissing", message: `${name} does not exist` };
    case "type-rejected":
      return { reason: "SourceTypeRejected", message: `${name} is of type ${state.type}, which is no pull secret` };
    case "is-a-copy":
      return { reason: "SourceIsACopy", message: `${name} is itself a copy of ${state.original}: name that one` };
    case "vetoed":
      return { reason: "SourceVetoed", message: `${name} is not to be copied: its owner says so` };
    case "unreadable":
      return { reason: "SourceUnreadable", message: `${name} cannot be read: ${state.message}` };
  }
}

interface PlaceFacts extends Pick<StandingFacts, "reference"> {
  readonly namespace: string;
  readonly name: string | undefined;
  readonly report: Report | undefined;
}

function placeTrouble({ reference, namespace, name, report }: PlaceFacts): readonly PlaceTrouble[] {
  const place = report?.places.get(namespace);
  const trouble = troubleAt(namespace, place);
  // A copy that is there is as good as its last write: only one that failed tells otherwise.
  if (name !== undefined && !hasFailed(place)) return [];
  return [{ namespace, source: keyOf(reference), ...trouble }];
}

const hasFailed = (place: Place | undefined): boolean =>
  place !== undefined && place.kind !== "copied" && !(place.kind === "pending" && place.message === undefined);

function troubleAt(namespace: string, place: Place | undefined): Trouble {
  switch (place?.kind) {
    case "collision": {
      const [names, are] = [
        place.names.join(" and "),
        place.names.length > 1 ? "are held by Secrets" : "is held by a Secret",
      ];
      return {
        reason: "Collision",
        message: `${namespace}: ${names} ${are} that ${place.names.length > 1 ? "are" : "is"} not ours`,
      };
    }
    case "refused":
      if (place.missing) return { reason: "Forbidden", message: lackOf({ namespace, ...place.missing }) };
      return { reason: "TargetRefused", message: `${namespace}: ${place.message}` };
    default: {
      const { message: words = "not there yet", isLasting = false } = place?.kind === "pending" ? place : {};
      return { reason: isLasting ? "TargetRefused" : "Progressing", message: `${namespace}: ${words}` };
    }
  }
}
