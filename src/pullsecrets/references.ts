import { isDnsLabel, isDnsSubdomain } from "../api/dns-names.ts";
import { keyOf, type NamespacedRef, refOfKey } from "../api/objects.ts";

/** Names a source. */
export type Reference = NamespacedRef;

type Parsed = { readonly references: readonly Reference[] } | { readonly objection: string };

interface Options {
  /** Where a name without a namespace is looked for; without it the namespace is required. */
  readonly defaultNamespace?: string;
}

const maxLength = 4_096;
const maxEntries = 16;
const maxQuoted = 64;

/** `[namespace/]name`, separated by commas: how an object lists sources whose schema has no field for them. */
export function parseReferences(text: string, { defaultNamespace }: Options): Parsed {
  if (text === "") return { references: [] };
  if (text.length > maxLength) return { objection: `${text.length} characters are more than ${maxLength}` };
  const entries = text.split(",").map(withoutBlanks);
  if (entries.length > maxEntries) return { objection: `${entries.length} entries are more than ${maxEntries}` };

  const references = new Map<string, Reference>();
  for (const entry of entries) {
    const reference = parseEntry(entry, defaultNamespace);
    if ("objection" in reference) return reference;
    if (references.has(keyOf(reference))) return { objection: `${quoted(entry)} is there twice` };
    references.set(keyOf(reference), reference);
  }
  return { references: [...references.values()] };
}

function parseEntry(entry: string, defaultNamespace: string | undefined): Reference | { readonly objection: string } {
  if (entry === "") return { objection: "an entry is empty" };
  const { namespace = defaultNamespace, name } = refOfKey(entry);
  if (namespace === undefined) return { objection: `${quoted(entry)} needs a namespace: <namespace>/<name>` };
  if (!isDnsLabel(namespace) || !isDnsSubdomain(name)) return { objection: `${quoted(entry)} does not name a Secret` };
  return { namespace, name };
}

const withoutBlanks = (entry: string): string => entry.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, "");

const quoted = (entry: string): string => JSON.stringify(entry.slice(0, maxQuoted));
