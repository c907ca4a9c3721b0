import { vetoAnnotation } from "../../api/marks.ts";
import { keyOf } from "../../api/objects.ts";
import type { SidecarSetState } from "../../api/sidecar-set.ts";
import { candidatesOf } from "../../pullsecrets/names.ts";
import type { Place, Report } from "../../pullsecrets/report.ts";
import { cut } from "../../runtime/cut.ts";
import { counted, type Problem } from "./problems.ts";
import type { SidecarReference } from "./record.ts";

/** How one reference of a SidecarSet stands. */
export interface Standing {
  readonly reference: SidecarReference;
  readonly copyName: string;
  readonly state: SidecarSetState;
  /** Namespaces of its Pods that have the copy. */
  readonly copies: number;
  /** Of these, namespaces where it has the other name. */
  readonly suffixed: number;
  readonly problems: readonly Problem[];
  /** What is worth telling though nothing is wrong. */
  readonly notes: readonly string[];
}

export interface Facts {
  readonly report: Report;
  /** The name of the copy in a namespace, if there is one. */
  nameIn(namespace: string): string | undefined;
  /** How many Pods of the SidecarSet name a copy of this source, and where. */
  readonly pods: number;
  readonly namespaces: ReadonlySet<string>;
  /** Namespaces with Pods that name none, as all names that it could have are held by others. */
  readonly leftOut: readonly string[];
}

export const isInOrder = ({ state }: Pick<Standing, "state">): boolean =>
  state === "Copied" || state === "Unused" || state === "Local";

export function standingOf(reference: SidecarReference, facts: Facts): Standing {
  const [copyName = "", otherName = ""] = candidatesOf(reference);
  const found = [...facts.namespaces].map((namespace) => [namespace, facts.nameIn(namespace)] as const);
  const copies = new Map(found.flatMap(([namespace, name]) => (name === undefined ? [] : [[namespace, name]])));
  const suffixed = [...copies.values()].filter((name) => name !== copyName).length;
  const told = toldOf(reference, facts, copies);
  const hasOther = suffixed > 0 && `${counted(suffixed, "namespace uses", "namespaces use")} ${otherName}`;
  return {
    reference,
    copyName,
    copies: copies.size,
    suffixed,
    ...told,
    notes: [...told.notes, ...(hasOther ? [hasOther] : [])],
  };
}

type Told = Pick<Standing, "state" | "problems" | "notes">;

/** By namespace: the name of the copy there. */
type Copies = ReadonlyMap<string, string>;

function toldOf(reference: SidecarReference, facts: Facts, copies: Copies): Told {
  const { report, pods } = facts;
  const source = keyOf(reference);
  const { state } = report;
  switch (state.kind) {
    case "missing":
      return missing(reference, pods);
    case "type-rejected":
      return bad(
        "SourceTypeRejected",
        `Secret ${source} is of type ${cut(state.type, 253)}, which is no pull secret's`,
      );
    case "is-a-copy":
      return bad("SourceIsACopy", `Secret ${source} is itself a copy of ${cut(state.original, 320)}`);
    case "vetoed":
      return bad("SourceVetoed", `Secret ${source} must not be copied: it has the annotation ${vetoAnnotation}`);
    case "unreadable":
      return bad("CopyRefused", `Secret ${source} cannot be read: ${cut(state.message, 512)}`);
    case "usable":
      return placed(reference, facts, copies);
  }
}

function missing(reference: SidecarReference, waiting: number): Told {
  const gone = `Secret ${keyOf(reference)} does not exist`;
  if (!reference.mayBeLocal)
    return bad("SourceMissing", `${gone}; ${counted(waiting, "Pod waits", "Pods wait")} for it`);
  const note = `${gone}; Pods also name ${reference.name} of their own namespace`;
  return { state: "Local", problems: [], notes: [note] };
}

const bad = (reason: Problem["reason"] & SidecarSetState, message: string): Told => ({
  state: reason,
  problems: [{ reason, message }],
  notes: [],
});

/** All of one reference's trouble in a few words: with thousands of namespaces it would fit nowhere. */
const maxPlacesTold = 3;

function placed(reference: SidecarReference, { report, namespaces, leftOut }: Facts, copies: Copies): Told {
  const names = candidatesOf(reference);
  const collision: Place = { kind: "collision", names };
  const places = new Map([...report.places, ...leftOut.map((namespace) => [namespace, collision] as const)]);
  const without = [...new Set([...namespaces, ...leftOut])].filter((namespace) => !copies.has(namespace)).sort();
  const collisions = troubles(without, places, "Collision", (place) =>
    place.kind === "collision" ? `${held(place.names)} not ours` : undefined,
  );
  const refusals = troubles(without, places, "CopyRefused", (place) =>
    "message" in place && place.message !== undefined ? cut(place.message, 512) : undefined,
  );
  const [problem] = [...collisions, ...refusals];
  const calm = copies.size > 0 ? "Copied" : "Unused";
  return {
    state: problem ? (problem.reason as SidecarSetState) : calm,
    problems: [...collisions, ...refusals],
    notes: [],
  };
}

const held = (names: readonly string[]): string =>
  names.length === 1
    ? `${names[0]} is held by a Secret that is`
    : `${names.join(" and ")} are held by Secrets that are`;

function troubles(
  namespaces: readonly string[],
  places: Report["places"],
  reason: Problem["reason"],
  wordsOf: (place: Place) => string | undefined,
): readonly Problem[] {
  const all = namespaces.flatMap((namespace) => {
    const place = places.get(namespace);
    const words = place && wordsOf(place);
    return words === undefined ? [] : [`${namespace}: ${words}`];
  });
  if (all.length === 0) return [];
  const rest = all.length - maxPlacesTold;
  const more = rest > 0 ? [`and ${counted(rest, "more namespace")}`] : [];
  return [{ reason, message: [...all.slice(0, maxPlacesTold), ...more].join("; ") }];
}
