import { namespaceOf } from "../../api/objects.ts";
import type { Reference } from "../../pullsecrets/references.ts";
import { type ConfigurationRecord, describeHeld, inlineSourceOf } from "./configuration-record.ts";
import type { Wish } from "./record.ts";

/** Which pull secrets a cluster gets, and who named them. */
export interface Credentials {
  readonly from: "Cluster" | "Global" | "None";
  readonly references: readonly Reference[];
  /** The level that counts cannot be used: nothing is taken from the next one. */
  readonly objection?: Objection;
}

interface Objection {
  readonly reason: "InvalidReferences" | "Collision";
  readonly message: string;
}

interface Defaults {
  readonly configurations: readonly ConfigurationRecord[];
  /** Somebody else's Secret has the name of the one that an inline default becomes. */
  readonly isInlineHeld: boolean;
  /** Where a configuration counts. */
  readonly namespace: string;
  /** Without any configuration there. */
  readonly fallback: Reference | undefined;
}

const none: Credentials = { from: "None", references: [] };

/** Exactly one level counts, whole; one that is set but broken does not give way to the next. */
export function credentialsOf(wish: Wish, global: Credentials): Credentials {
  const { references, usesDefault, objection } = wish;
  if (objection !== undefined) return { from: "Cluster", references: [], objection: unreadable(objection) };
  if (references.length > 0) return { from: "Cluster", references };
  return usesDefault ? global : none;
}

/** The default of all clusters that name nothing themselves. */
export function globalCredentials({ configurations, namespace, fallback, isInlineHeld }: Defaults): Credentials {
  const counting = countingOf(configurations, namespace);
  if (!counting) return fallback ? { from: "Global", references: [fallback] } : none;
  const { given } = counting;
  switch (given.kind) {
    case "references":
      return { from: "Global", references: given.references };
    case "unreadable":
      return { from: "Global", references: [], objection: unreadable(given.objection) };
    case "inline":
      if (given.verdict.kind === "not-set") return none;
      // It would be sent to every cluster.
      if (isInlineHeld) return { from: "Global", references: [], objection: held(namespace) };
      return { from: "Global", references: [inlineSourceOf(namespace)] };
  }
}

const unreadable = (message: string): Objection => ({ reason: "InvalidReferences", message });

const held = (namespace: string): Objection => ({ reason: "Collision", message: describeHeld(namespace) });

/** Of several the oldest. */
export function countingOf(
  configurations: readonly ConfigurationRecord[],
  namespace: string,
): ConfigurationRecord | undefined {
  return configurations.filter((each) => namespaceOf(each) === namespace).toSorted(byAge)[0];
}

/** Older first, then by name. */
export function byAge({ metadata: a }: Aged, { metadata: b }: Aged): number {
  return compare(a.creationTimestamp, b.creationTimestamp) || compare(a.name, b.name);
}

interface Aged {
  readonly metadata: { readonly creationTimestamp: string; readonly name: string };
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
