import type { MissingVerb } from "../../kube/errors.ts";
import { missingVerbOf } from "../../kube/errors.ts";

/** `1 namespace`, `2 namespaces`. */
export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;

/** Which right the kubeconfig's user lacks; undefined where something else is in the way. */
export function describeMissingVerb(error: unknown): string | undefined {
  const missing = missingVerbOf(error);
  return missing && lackOf(missing);
}

export function lackOf({ verb, resource, namespace }: MissingVerb): string {
  const where = namespace ? ` in namespace ${namespace}` : "";
  return `cannot ${verb} ${resource}${where}: the kubeconfig's user lacks the verb ${verb} on ${resource}`;
}
