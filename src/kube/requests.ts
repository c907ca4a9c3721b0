import { fieldManager as defaultManager } from "../api/marks.ts";
import { apiVersionOf, type Draft, type KubeObject, type Ref, type Resource } from "../api/objects.ts";
import { accept } from "./accept.ts";
import type { ApplyOptions, DeleteOptions, GetOptions, PageOptions, Patch, WriteOptions } from "./client-options.ts";
import { collectionPath, objectPath, type Query, selectionQuery, withQuery } from "./paths.ts";
import type { Method, Outgoing } from "./transport.ts";

/** What each call of `Kube` sends. */
export type Request = Omit<Outgoing, "signal" | "gate">;

const pageSize = 500;
const contentTypes = {
  json: "application/json",
  mergePatch: "application/merge-patch+json",
  jsonPatch: "application/json-patch+json",
  // JSON is YAML, and the API server takes no other content type for an apply everywhere.
  apply: "application/apply-patch+yaml",
} as const;

export function getRequest(resource: Resource, ref: Ref, accepted: string, { notOlderThan }: GetOptions = {}): Request {
  return {
    verb: "get",
    resource: resource.plural,
    method: "GET",
    path: withQuery(objectPath(resource, ref), { resourceVersion: notOlderThan }),
    headers: { accept: accepted },
  };
}

export function pageRequest(resource: Resource, options: PageOptions): Request {
  const query = { ...selectionQuery(options), limit: options.limit ?? pageSize, continue: options.continueToken };
  return {
    verb: "list",
    resource: resource.plural,
    method: "GET",
    path: withQuery(collectionPath(resource, options.namespace), query),
    headers: { accept: options.metadataOnly ? accept.metadataList : accept.json },
  };
}

export function createRequest<T extends KubeObject>(
  resource: Resource,
  object: Draft<T>,
  options: WriteOptions,
): Request {
  const path = collectionPath(resource, object.metadata.namespace);
  const body = withType(resource, object);
  return write({ verb: "create", method: "POST", path, resource, contentType: contentTypes.json, body }, options);
}

export function replaceRequest<T extends KubeObject>(resource: Resource, object: T, options: WriteOptions): Request {
  const path = objectPath(resource, object.metadata, options.subresource);
  const body = withType(resource, object);
  return write({ verb: "update", method: "PUT", path, resource, contentType: contentTypes.json, body }, options);
}

export function applyRequest<T extends KubeObject>(
  resource: Resource,
  object: Draft<T>,
  options: ApplyOptions,
): Request {
  const { name = "", namespace } = object.metadata;
  const path = objectPath(resource, { name, namespace }, options.subresource);
  const body = withType(resource, object);
  const query = { force: options.force };
  return write(
    { verb: "apply", method: "PATCH", path, resource, contentType: contentTypes.apply, body, query },
    options,
  );
}

export function patchRequest(resource: Resource, ref: Ref, { type, body }: Patch, options: WriteOptions): Request {
  const path = objectPath(resource, ref, options.subresource);
  const contentType = type === "merge" ? contentTypes.mergePatch : contentTypes.jsonPatch;
  return write({ verb: "patch", method: "PATCH", path, resource, contentType, body }, options);
}

export function deleteRequest(resource: Resource, ref: Ref, options: DeleteOptions): Request {
  const { preconditions, propagationPolicy, dryRun } = options;
  return {
    verb: "delete",
    resource: resource.plural,
    method: "DELETE",
    path: objectPath(resource, ref),
    // The answer may be the object itself: metadata only, so that no secret bytes come back.
    headers: { accept: accept.metadata, "content-type": contentTypes.json },
    // A delete with a body ignores its query: a dry run asked for there would delete.
    body: {
      apiVersion: "v1",
      kind: "DeleteOptions",
      preconditions,
      propagationPolicy,
      ...(dryRun && { dryRun: ["All"] }),
    },
  };
}

export function rawRequest(method: Method, path: string, body: unknown): Request {
  return {
    verb: method.toLowerCase(),
    resource: path.split("?", 1)[0]?.split("/").at(-1) ?? "",
    method,
    path,
    headers: { accept: accept.json, ...(body !== undefined && { "content-type": contentTypes.json }) },
    body,
  };
}

interface Write {
  readonly verb: string;
  readonly method: Method;
  readonly path: string;
  readonly resource: Resource;
  readonly contentType: string;
  readonly body: unknown;
  readonly query?: Query;
}

function write({ verb, method, path, resource, contentType, body, query }: Write, options: WriteOptions): Request {
  const { fieldManager = defaultManager, dryRun, fieldValidation, metadataOnly } = options;
  return {
    verb,
    resource: resource.plural,
    method,
    path: withQuery(path, { fieldManager, dryRun: dryRun ? "All" : undefined, fieldValidation, ...query }),
    headers: { accept: metadataOnly ? accept.metadata : accept.json, "content-type": contentType },
    body,
  };
}

function withType(resource: Resource, object: object): object {
  return { ...object, apiVersion: apiVersionOf(resource), kind: resource.kind };
}
