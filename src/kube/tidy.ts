import { apiVersionOf, type KubeObject, type Metadata, type Resource } from "../api/objects.ts";

interface TidyOptions {
  readonly resource: Resource;
  readonly metadataOnly?: boolean | undefined;
  readonly keepManagedFields?: boolean | undefined;
}

/**
 * Makes an object what a cache keeps, whether it came from a list (which leaves the type out), a watch of metadata
 * (which gives another) or the answer of a write (which may carry secret bytes).
 */
export function tidying({
  resource,
  metadataOnly,
  keepManagedFields,
}: TidyOptions): (object: KubeObject) => KubeObject {
  // Once for all objects: a string for each of them would be kept as long as they are.
  const type = { apiVersion: apiVersionOf(resource), kind: resource.kind };
  // `undefined` instead of leaving it out: taking a property away makes V8 store the object as a dictionary.
  const dropped = keepManagedFields ? {} : { managedFields: undefined as never };
  return (object) => {
    const metadata: Metadata = { ...object.metadata, ...dropped };
    return metadataOnly ? { ...type, metadata } : { ...object, ...type, metadata };
  };
}
