import { isDnsSubdomain } from "../../api/dns-names.ts";
import type { LabelRequirement, LabelSelector } from "../../api/label-selector.ts";
import type { SidecarSetSpec } from "../../api/sidecar-set.ts";

export type Labels = Readonly<Record<string, string>>;
type Requirements = readonly LabelRequirement[];

/** What decides which Pods a SidecarSet is for. */
export type Scope = Pick<SidecarSetSpec, "selector" | "namespace" | "namespaceSelector">;

/** Kubernetes puts it on every Namespace, and nobody can change it. */
const namespaceNameLabel = "kubernetes.io/metadata.name";

/** All of them must hold. `undefined`: the selector is empty or not valid, so it selects nothing. */
export function requirementsOf(selector: LabelSelector | undefined): Requirements | undefined {
  const exact = Object.entries(selector?.matchLabels ?? {}).map(([key, value]) => requirement(key, value));
  const requirements = [...exact, ...(selector?.matchExpressions ?? [])];
  return requirements.length > 0 && requirements.every(isValid) ? requirements : undefined;
}

/** None: all namespaces. `namespace` wins over `namespaceSelector`. */
export function namespaceRequirementsOf({ namespace, namespaceSelector }: Scope): Requirements | undefined {
  if (namespace) return [requirement(namespaceNameLabel, namespace)];
  return namespaceSelector ? requirementsOf(namespaceSelector) : [];
}

export function compile(selector: LabelSelector | undefined): (labels: Labels | undefined) => boolean {
  return predicateOf(requirementsOf(selector));
}

export function compileNamespaces(scope: Scope): (name: string, labels: Labels | undefined) => boolean {
  const { namespace } = scope;
  if (namespace) return (name) => name === namespace;
  const selects = predicateOf(namespaceRequirementsOf(scope));
  return (_name, labels) => selects(labels);
}

/** Whether there can be labels for which all of it holds: exact, not a guess. */
export function isSatisfiable(requirements: Requirements): boolean {
  return [...Map.groupBy(requirements, ({ key }) => key).values()].every(hasSolution);
}

export function negationOf({ operator, ...rest }: LabelRequirement): LabelRequirement {
  return { ...rest, operator: opposites[operator] };
}

const opposites = { In: "NotIn", NotIn: "In", Exists: "DoesNotExist", DoesNotExist: "Exists" } as const;

/** Stands for all values that no requirement names; no label can have it. */
const anyOther = "\0";

/** Requirements on one key: absent, a value that one of them names, or any other make all the difference there is. */
function hasSolution(requirements: Requirements): boolean {
  const named = requirements.flatMap(({ values = [] }) => values);
  return [undefined, anyOther, ...named].some((value) => requirements.every((one) => holds(one, value)));
}

function predicateOf(requirements: Requirements | undefined): (labels: Labels | undefined) => boolean {
  if (!requirements) return () => false;
  return (labels = {}) =>
    requirements.every((one) => holds(one, Object.hasOwn(labels, one.key) ? labels[one.key] : undefined));
}

function holds({ operator, values = [] }: LabelRequirement, value: string | undefined): boolean {
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
  }
}

const requirement = (key: string, value: string): LabelRequirement => ({ key, operator: "In", values: [value] });

const word = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

function isValid({ key, operator, values = [] }: LabelRequirement): boolean {
  if (!isLabelKey(key) || !values.every((value) => value === "" || word.test(value))) return false;
  const takesValues = operator === "In" || operator === "NotIn";
  return Object.hasOwn(opposites, operator) && takesValues === values.length > 0;
}

function isLabelKey(key: string): boolean {
  const slash = key.indexOf("/");
  return (slash < 0 || isDnsSubdomain(key.slice(0, slash))) && word.test(key.slice(slash + 1));
}
