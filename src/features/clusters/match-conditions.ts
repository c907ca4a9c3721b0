import { referencesAnnotation } from "../../api/marks.ts";
import { type ClustersMode, clusterAnnotations } from "./record.ts";

type Conditions = readonly { readonly name: string; readonly expression: string }[];

const isCreated = "request.operation == 'CREATE'";
const anyOf = (...expressions: readonly string[]) => expressions.join(" || ");
const differs = (of: (object: string) => string) => `${of("object")} != ${of("oldObject")}`;

const annotation = (name: string) => (object: string) =>
  `(has(${object}.metadata.annotations) && '${name}' in ${object}.metadata.annotations` +
  ` ? ${object}.metadata.annotations['${name}'] : '')`;

const label = (name: string) => (object: string) =>
  `(has(${object}.metadata.labels) && '${name}' in ${object}.metadata.labels ? ${object}.metadata.labels['${name}'] : '')`;

/** Nothing where a part of the path is missing, or null: an expression that fails would block the write. */
const field =
  (...path: readonly string[]) =>
  (object: string) => {
    const steps = ["spec", ...path].map((_, at) => [object, "spec", ...path].slice(0, at + 2).join("."));
    return `(${steps.map((step) => `has(${step}) && ${step} != null`).join(" && ")} ? ${steps.at(-1)} : null)`;
  };

/** The original's schema may have something else by that name. */
const entries = (object: string) => {
  const list = field("imagePullSecrets")(object);
  return `(type(${list}) == list ? ${list} : [])`;
};

/** Taking an annotation away sends nothing anywhere. */
const isAnnotatedAnew = (name: string) => {
  const of = annotation(name);
  return `(${of("object")} != '' && ${differs(of)})`;
};

/** Writes that could send a credential to another place. All others pass, also while nobody answers here. */
export function clusterSendsFurther(mode: ClustersMode): Conditions {
  const isAdded = `${entries("object")}.exists(r, !${entries("oldObject")}.exists(o, o == r))`;
  const home = mode === "instead" ? [field("home")] : [];
  const leadsElsewhere = anyOf(...[field("kubeconfigSecretRef"), ...home, label("project-id")].map(differs));
  const expression = anyOf(
    ...(mode === "instead" ? [isCreated, leadsElsewhere] : [isConcerned(`(${isCreated} || ${leadsElsewhere})`)]),
    isAdded,
    ...clusterAnnotations.map(isAnnotatedAnew),
  );
  return [{ name: "sends-further", expression }];
}

/** An object of the original that says nothing to us sends nothing anywhere. */
function isConcerned(andIs: string): string {
  const isAnnotated = clusterAnnotations.map((name) => `${annotation(name)("object")} != ''`);
  const hasFields = [`size(${entries("object")}) > 0`, `${field("kubeconfigSecretRef")("object")} != null`];
  return `(${andIs} && (${anyOf(...hasFields, ...isAnnotated)}))`;
}

/** Neither status nor finalizers are judged. */
export function clusterSaysSomething(): Conditions {
  const names = clusterAnnotations.map(annotation);
  return [
    { name: "is-annotated", expression: anyOf(...names.map((of) => `${of("object")} != ''`)) },
    { name: "says-something-new", expression: anyOf(isCreated, ...names.map(differs)) },
  ];
}

const reference = field("userCluster", "imagePullSecretRef");
const text = field("userCluster", "imagePullSecret");

export function configurationSendsFurther(): Conditions {
  const isReferredAnew = `(${reference("object")} != null && (${isCreated} || ${differs(reference)}))`;
  const of = annotation(referencesAnnotation);
  const isAnnotated = `(${of("object")} != '' && (${isCreated} || ${differs(of)}))`;
  return [{ name: "sends-further", expression: anyOf(isReferredAnew, isAnnotated) }];
}

export function configurationSaysSomething(): Conditions {
  return [
    {
      name: "says-something-new",
      expression: anyOf(isCreated, differs(text), differs(annotation(referencesAnnotation))),
    },
  ];
}
