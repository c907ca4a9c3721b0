import type { SourceRecord } from "../replication/source.ts";
import type { SourceState } from "./report.ts";

/** Any other type is refused: a reference would be a way to read any Secret. */
const acceptedTypes = ["kubernetes.io/dockerconfigjson", "kubernetes.io/dockercfg"];

/** May this source be copied? */
export function judge(source: SourceRecord | undefined): SourceState {
  if (!source) return { kind: "missing" };
  if (source.copyOf !== undefined) return { kind: "is-a-copy", original: source.copyOf };
  if (source.isVetoed) return { kind: "vetoed" };
  if (!acceptedTypes.includes(source.type)) return { kind: "type-rejected", type: source.type };
  return { kind: "usable" };
}
