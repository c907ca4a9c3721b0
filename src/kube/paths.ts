import { apiVersionOf, type Ref, type Resource } from "../api/objects.ts";

export interface Selection {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** `/api/v1` or `/apis/<group>/<version>`. */
export function groupPath(resource: Resource): string {
  return `${resource.group ? "/apis" : "/api"}/${apiVersionOf(resource)}`;
}

/** Where a kind is listed and created, in one namespace or in all of them. */
export function collectionPath(resource: Resource, namespace?: string): string {
  const scope = resource.namespaced && namespace ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${groupPath(resource)}${scope}/${resource.plural}`;
}

export function objectPath(resource: Resource, ref: Ref, subresource?: string): string {
  if (!ref.name) throw new Error(`a ${resource.kind} needs a name`);
  if (resource.namespaced && !ref.namespace) throw new Error(`${resource.kind} ${ref.name} needs a namespace`);
  const path = `${collectionPath(resource, ref.namespace)}/${encodeURIComponent(ref.name)}`;
  return subresource ? `${path}/${subresource}` : path;
}

/** Appends what is set; `undefined`, `false` and the empty string stand for "not asked for". */
export function withQuery(path: string, query: Query): string {
  const pairs = Object.entries(query)
    .filter(([, value]) => value !== undefined && value !== false && value !== "")
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  return pairs.length > 0 ? `${path}?${pairs.join("&")}` : path;
}

export function selectionQuery({ labelSelector, fieldSelector }: Selection): Query {
  return { labelSelector, fieldSelector };
}
