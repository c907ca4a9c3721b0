import { referencesAnnotation } from "../../api/marks.ts";
import type { Deps } from "../feature.ts";

type Mode = Deps["mode"];
type Conditions = readonly { readonly name: string; readonly expression: string }[];

/** `namespace` is a reserved word in CEL, and a field that is not there is an error. */
const field = (object: string, name: string) =>
  `(has(${object}.spec) && '${name}' in ${object}.spec ? ${object}.spec['${name}'] : null)`;

const annotation = (object: string) =>
  `(has(${object}.metadata.annotations) && '${referencesAnnotation}' in ${object}.metadata.annotations` +
  ` ? ${object}.metadata.annotations['${referencesAnnotation}'] : '')`;

const entries = (object: string) =>
  `(has(${object}.spec) && has(${object}.spec.imagePullSecrets) ? ${object}.spec.imagePullSecrets : [])`;

/** Beside the original, entries without a namespace are its own. */
const entriesWithNamespace = (object: string) => `${entries(object)}.filter(r, 'namespace' in r)`;

const isCreated = "request.operation == 'CREATE'";
const differs = (of: (object: string) => string) => `${of("object")} != ${of("oldObject")}`;
const anyOf = (...expressions: readonly string[]) => expressions.join(" || ");

/** Writes that could send a credential further. Everything else passes, also while nobody answers here. */
export function sendsFurther(mode: Mode): Conditions {
  const places = ["selector", "namespace", "namespaceSelector"].map((name) => differs((object) => field(object, name)));
  if (mode === "instead") {
    const isAdded = `${entries("object")}.exists(r, !${entries("oldObject")}.exists(o, o == r))`;
    // The annotation comes into force on the day that the original does.
    const isAnnotated = `${annotation("object")} != ''`;
    const isAnnotatedAnew = `(${isAnnotated} && ${differs(annotation)})`;
    return [
      { name: "has-references", expression: anyOf(`size(${entries("object")}) > 0`, isAnnotated) },
      { name: "sends-further", expression: anyOf(isCreated, isAdded, isAnnotatedAnew, ...places) },
    ];
  }
  // Entries that go may bring the annotation into force: any change of them counts.
  const changes = [differs(annotation), differs(entriesWithNamespace)];
  return [
    {
      name: "has-references",
      expression: anyOf(`${annotation("object")} != ''`, `size(${entriesWithNamespace("object")}) > 0`),
    },
    { name: "sends-further", expression: anyOf(isCreated, ...changes, ...places) },
  ];
}

/** Neither status nor labels nor finalizers are judged; beside the original, only our annotation is. */
export function saysSomethingNew(mode: Mode): Conditions {
  const news = { name: "says-something-new", expression: anyOf(isCreated, differs(annotation)) };
  if (mode === "beside") return [{ name: "has-annotation", expression: `${annotation("object")} != ''` }, news];
  return [{ ...news, expression: anyOf(news.expression, "object.spec != oldObject.spec") }];
}
