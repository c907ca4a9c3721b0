import { isRecord } from "../../kube/json.ts";
import { jsonFaultIn } from "./json-fault.ts";

export type ConfigVerdict =
  | { readonly kind: "not-set" }
  | { readonly kind: "valid" }
  | { readonly kind: "malformed"; readonly line: number; readonly column: number }
  | { readonly kind: "no-auths" };

/** Whether a text is the config.json of Docker with credentials for at least one registry. */
export function judgeDockerConfig(text: string | undefined): ConfigVerdict {
  if (text === undefined || text === "") return { kind: "not-set" };
  const fault = jsonFaultIn(text);
  if (fault) return { kind: "malformed", ...fault };
  return hasAuths(JSON.parse(text)) ? { kind: "valid" } : { kind: "no-auths" };
}

function hasAuths(config: unknown): boolean {
  if (!isRecord(config) || !isRecord(config.auths)) return false;
  const entries = Object.values(config.auths);
  return entries.length > 0 && entries.every(isRecord);
}
