import { isDnsLabel, isDnsSubdomain } from "../../../api/dns-names.ts";
import { injectionName } from "./objects.ts";
import { inOrder, type Lists, type Naming } from "./record.ts";

/** Of one expression; the API server refuses more than 100,000 characters. */
const maxTable = 60_000;
/** Of a whole naming; etcd refuses objects of more than 1.5 MiB, and a ConfigMap holds 1 MiB. */
const maxTotal = 900_000;
/** What a namespace costs besides its name, which the record has twice: as a key and as a managed field. */
const entryOverhead = 48;

const selectsAll = { matchPolicy: "Equivalent", namespaceSelector: {}, objectSelector: {} } as const;

/**
 * `spec` of a MutatingAdmissionPolicy, with every default written out: what is read back equals what was written.
 * Tables of literals are made once, when the API server compiles the policy: a Pod costs one look-up in each.
 */
export function policySpecOf({ names, special, exempt }: Naming) {
  const specials = tablesOf("special", special);
  const exempts = tablesOf("exempt", exempt);
  return {
    matchConstraints: {
      ...selectsAll,
      resourceRules: [
        { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"], scope: "*" },
      ],
    },
    matchConditions: [
      {
        name: "not-a-mirror",
        expression: "!('kubernetes.io/config.mirror' in object.metadata.?annotations.orValue({}))",
      },
    ],
    variables: [
      { name: "names", expression: listOf(names) },
      ...specials,
      ...exempts,
      { name: "wanted", expression: `${lookUp(specials, "variables.names")}.split(',')` },
      { name: "spared", expression: `${lookUp(exempts, "''")}.split(',')` },
      { name: "isSpared", expression: "object.spec.?serviceAccountName.orValue('default') in variables.spared" },
      { name: "own", expression: "object.spec.?imagePullSecrets.orValue([])" },
      // An empty name is not there at all once the API server has decoded it.
      { name: "held", expression: "variables.own.map(secret, secret.?name.orValue(''))" },
      { name: "added", expression: "variables.wanted.filter(name, name != '' && !(name in variables.held))" },
    ],
    mutations: [{ patchType: "JSONPatch", jsonPatch: { expression: patch } }],
    failurePolicy: "Ignore",
    reinvocationPolicy: "IfNeeded",
  };
}

const patch = `variables.isSpared || variables.added.size() == 0 ? [] : [JSONPatch{
  op: 'add',
  path: '/spec/imagePullSecrets',
  value: variables.own + variables.added.map(name, {'name': name}),
}]`;

interface Variable {
  readonly name: string;
  readonly expression: string;
}

/** Maps of namespace to names: as few as can be, since a chain of them may not be longer than some 250. */
function tablesOf(name: string, lists: Lists): Variable[] {
  const tables: string[][] = [];
  let length = maxTable;
  for (const [namespace, list] of inOrder(lists)) {
    const entry = `'${checked(namespace, isDnsLabel)}':${listOf(list)}`;
    length += entry.length + 1;
    if (length > maxTable) {
      tables.push([]);
      length = entry.length + 1;
    }
    tables.at(-1)?.push(entry);
  }
  return tables.map((entries, index) => ({ name: `${name}${index}`, expression: `{${entries.join(",")}}` }));
}

function lookUp(tables: readonly Variable[], otherwise: string): string {
  const found = tables.map(({ name }) => `variables.${name}[?request.namespace]`);
  return found.length === 0 ? otherwise : `${found.reduce((a, b) => `${a}.or(${b})`)}.orValue(${otherwise})`;
}

/** One text, not a list: the API server reads a megabyte of these in a tenth of a second. */
function listOf(names: readonly string[]): string {
  const distinct = new Set(names.filter((name) => name !== ""));
  return `'${[...distinct].map((name) => checked(name, isDnsSubdomain)).join(",")}'`;
}

/** What is a name has nothing to escape. */
function checked(name: string, isValid: (name: string) => boolean): string {
  if (!isValid(name)) throw new Error(`${JSON.stringify(name)} is no name of a Kubernetes object`);
  return name;
}

/** `spec` of its binding: exclusions are here, so that they hold without us. */
export function bindingSpecOf({ excludedNamespaces }: { readonly excludedNamespaces: Iterable<string> }) {
  const values = [...new Set(excludedNamespaces)].map((namespace) => checked(namespace, isDnsLabel)).sort();
  const excluded = { key: "kubernetes.io/metadata.name", operator: "NotIn", values };
  const optedOut = { key: "latchkey.dev/inject", operator: "NotIn", values: ["false"] };
  const matchExpressions = values.length > 0 ? [excluded, optedOut] : [optedOut];
  return { policyName: injectionName, matchResources: { ...selectsAll, namespaceSelector: { matchExpressions } } };
}

/**
 * As much of a naming as fits into a policy and a record. A namespace whose list does not fit is left out: it has an
 * empty list, whose place is kept for every namespace beforehand, and so its Pods get nothing. The same befalls one
 * whose exempt accounts do not fit, for the API server would refuse their Pods; these are seated first. The short
 * before the long: nobody can crowd out the others with a long list. Where even the empty lists do not fit, which
 * takes thousands of namespaces, nothing is injected anywhere.
 */
export function fitting({ names, special, exempt }: Naming): {
  readonly naming: Naming;
  readonly leftOut: readonly string[];
} {
  const namespaces = [...special.keys(), ...exempt.keys()];
  let room = maxTotal - lengthOf(names) - namespaces.reduce((sum, { length }) => sum + 2 * length + entryOverhead, 0);
  if (room < 0) {
    return { naming: { names: [], special: new Map(), exempt: new Map() }, leftOut: [...new Set(namespaces)].sort() };
  }
  const leftOut = new Set<string>();
  const seat = (lists: Lists) => {
    const seated = new Map<string, readonly string[]>();
    for (const [namespace, list] of inOrder(lists).sort(([, a], [, b]) => lengthOf(a) - lengthOf(b))) {
      if (leftOut.has(namespace)) continue;
      const length = lengthOf(list);
      if (length > Math.min(room, maxTable)) {
        leftOut.add(namespace);
        continue;
      }
      seated.set(namespace, list);
      room -= length;
    }
    return seated;
  };
  const seatedExempt = seat(exempt);
  const seatedSpecial = seat(special);
  for (const namespace of leftOut) seatedSpecial.set(namespace, []);
  return { naming: { names, special: seatedSpecial, exempt: seatedExempt }, leftOut: [...leftOut].sort() };
}

const lengthOf = (list: readonly string[]): number => list.reduce((sum, name) => sum + name.length + 1, 0);
