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

/** Nothing where a part of the path is missing. */
const field =
  (...path: readonly string[]) =>
  (object: string) => {
    const steps = ["spec", ...path].map((_, at) => [object, "spec", ...path].slice(0, at + 2).join("."));
    return `(${steps.map((step) => `has(${step})`).join(" && ")} ? ${steps.at(-1)} : null)`;
  };

const entries = (object: string) =>
  `(has(${object}.spec) && has(${object}.spec.imagePullSecrets) ? ${object}.spec.imagePullSecrets : [])`;

/** Taking an annotation away sends nothing anywhere. */
const isAnnotatedAnew = (name: string) => {
  const of = annotation(name);
  return `(${of("object")} != '' && ${differs(of)})`;
};

/** Writes that could send a credential to another place. All others pass, also while nobody answers here. */
export function clusterSendsFurther(mode: ClustersMode): Conditions {
  const isAdded = `${entries("object")}.exists(r, !${entries("oldObject")}.exists(o, o == r))`;
  const fields = mode === "instead" ? [differs(field("kubeconfigSecretRef")), differs(field("home"))] : [];
  const expression = anyOf(
    isCreated,
    isAdded,
    ...fields,
    differs(label("project-id")),
    ...clusterAnnotations.map(isAnnotatedAnew),
  );
  return [{ name: "sends-further", expression }];
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
