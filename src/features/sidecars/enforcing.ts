import { keyOf } from "../../api/objects.ts";
import { type Container, isEnforcing, type LocalReference, type ServiceAccount, type Volume } from "../../api/pods.ts";
import { entriesOf } from "./injected-container.ts";

/** Whether a Pod of this account may name a pull secret. */
export function mayName(account: ServiceAccount | undefined, name: string): boolean {
  return !account || !isEnforcing(account) || isListed(account.imagePullSecrets, name);
}

/** Why a name was left out, for the event. */
export function nameLeftOut({ metadata }: ServiceAccount, name: string): string {
  return `pull secret ${name} is not given to Pods of ServiceAccount ${keyOf(metadata)}: it enforces mountable Secrets and does not list it`;
}

/** What speaks against a Pod with these parts, in words. */
export function unlistedIn(
  account: ServiceAccount | undefined,
  containers: readonly Container[],
  volumes: readonly Volume[],
): string | undefined {
  if (!account || !isEnforcing(account)) return undefined;
  const named = new Set([...containers.flatMap(secretsOf), ...volumes.map(({ secret }) => secret?.secretName)]);
  const unlisted = [...named].filter((name) => name && !isListed(account.secrets, name));
  return unlisted.length === 0 ? undefined : `it enforces mountable Secrets and does not list ${unlisted.join(", ")}`;
}

/** Those that the API server looks at: a projected volume is none of them. */
function secretsOf({ env, envFrom }: Container): readonly (string | undefined)[] {
  return [
    ...entriesOf(env).map(({ valueFrom }) => valueFrom?.secretKeyRef?.name),
    ...entriesOf(envFrom).map(({ secretRef }) => secretRef?.name),
  ];
}

const isListed = (list: readonly LocalReference[] | undefined, name: string): boolean =>
  list?.some((one) => one.name === name) ?? false;
