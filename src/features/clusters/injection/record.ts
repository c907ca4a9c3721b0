import { isDnsLabel, isDnsSubdomain } from "../../../api/dns-names.ts";

/** Names by namespace. */
export type Lists = ReadonlyMap<string, readonly string[]>;

/** What Pods of a cluster are given: names of copies, in the order of the references. */
export interface Naming {
  /** Line i belongs to reference i; "" for a reference that is not injected. */
  readonly names: readonly string[];
  /** Complete lists of the namespaces that differ. */
  readonly special: Lists;
  /** ServiceAccounts whose Pods get nothing, by namespace. */
  readonly exempt: Lists;
}

/** More than a cluster can have references: what somebody adds by hand does not grow without end. */
const maxNames = 64;

/** `data` of the injection record, a ConfigMap; the same naming gives the same text. */
export function recordDataOf({ names, special, exempt }: Naming): Record<string, string> {
  return Object.fromEntries([
    ...inOrder(exempt).map(([namespace, list]) => [`exempt.${namespace}`, list.join("\n")]),
    ["names", names.join("\n")],
    ...inOrder(special).map(([namespace, list]) => [`names.${namespace}`, list.join("\n")]),
  ]);
}

/** Anybody may have edited it: what cannot be a name is none. An empty text has no line, so that `[""]` comes back as `[]`. */
export function parseRecord(data: Readonly<Record<string, string>> = {}): Naming {
  const special = new Map<string, readonly string[]>();
  const exempt = new Map<string, readonly string[]>();
  for (const [key, text] of Object.entries(data)) {
    const [kind, namespace = "", ...more] = key.split(".");
    if (!isDnsLabel(namespace) || more.length > 0) continue;
    if (kind === "names") special.set(namespace, namesIn(text));
    if (kind === "exempt") exempt.set(namespace, text.split("\n").filter(isDnsSubdomain));
  }
  return { names: namesIn(data.names ?? ""), special, exempt };
}

/** A line that is no name keeps its place: the next one belongs to the next reference. */
const namesIn = (text: string): string[] =>
  text === "" ? [] : text.split("\n", maxNames).map((line) => (isDnsSubdomain(line) ? line : ""));

export const inOrder = (lists: Lists): [namespace: string, list: readonly string[]][] =>
  [...lists].sort(([a], [b]) => (a < b ? -1 : 1));
