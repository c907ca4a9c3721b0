/** What to ask for: the whole object, or its metadata only, so that no secret bytes cross the wire. */
const partial = "g=meta.k8s.io;v=v1";

export const accept = {
  json: "application/json",
  metadata: `application/json;as=PartialObjectMetadata;${partial}`,
  metadataList: `application/json;as=PartialObjectMetadataList;${partial}`,
} as const;
