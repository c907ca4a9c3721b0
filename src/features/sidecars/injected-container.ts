import type { Container, Volume } from "../../api/pods.ts";
import type { SidecarContainer } from "../../api/sidecar-set.ts";
import { isRecord } from "../../kube/json.ts";

const marker = { name: "IS_INJECTED", value: "true" };

/**
 * Of a list that the API server has not judged yet: what can be looked at. What is wrong with the rest is for it to
 * say.
 */
export const entriesOf = <T extends object>(list: readonly T[] | undefined): readonly T[] =>
  Array.isArray(list) ? list.filter((entry): boolean => isRecord(entry)) : [];

/** A container of a SidecarSet as it goes into Pods. */
export function injectedContainerOf(sidecar: SidecarContainer): Container {
  const { podInjectPolicy: _policy, upgradeStrategy: _strategy, ...rest } = sidecar;
  const container: Container = { ...rest, name: sidecar.name };
  const env: unknown = container.env ?? [];
  if (!Array.isArray(env) || !env.every(isRecord)) return container;
  return { ...container, env: [...entriesOf(container.env).filter(({ name }) => name !== marker.name), marker] };
}

/**
 * What takes the place of a container of the same name, if it was made from ours. After our first answer the API server
 * lets its own plugins see our container and then asks us again. What they put there must stay, or the sidecar lacks
 * the account's token, and the Pod is refused where defaults are demanded. Nothing that tells what runs may stay:
 * whoever created the Pod could have written it.
 */
export function replacementOf(present: Container, ours: Container, volumes: readonly Volume[]): Container {
  if (!wasInjected(present)) return ours;
  const tokenMount = tokenMountOf(present, volumes);
  return {
    ...ours,
    ...filled("resources", ours, present),
    ...filled("securityContext", ours, present),
    ...(present.imagePullPolicy === "Always" && { imagePullPolicy: "Always" }),
    ...(tokenMount && !mountsTokens(ours) && { volumeMounts: [...(ours.volumeMounts ?? []), tokenMount] }),
  };
}

/** Names of the volumes that a container needs. */
export function volumeNamesOf({ volumeMounts, volumeDevices, env }: Container): readonly string[] {
  const files = entriesOf(env).map(({ valueFrom }) => valueFrom?.fileKeyRef);
  const names = [
    ...[...entriesOf(volumeMounts), ...entriesOf(volumeDevices)].map(({ name }) => name),
    ...files.map((file) => (isRecord(file) ? file.volumeName : undefined)),
  ];
  return names.filter((name) => typeof name === "string");
}

export const wasInjected = ({ env }: Container): boolean =>
  entriesOf(env).some(({ name, value }) => name === marker.name && value === marker.value);

const tokenPath = "/var/run/secrets/kubernetes.io/serviceaccount";
const isTokenMount = ({ mountPath }: { readonly [field: string]: unknown }): boolean => mountPath === tokenPath;
const mountsTokens = ({ volumeMounts }: Container): boolean => entriesOf(volumeMounts).some(isTokenMount);

/** The mount that the API server gives every container; of a volume that can hold no other account's token. */
function tokenMountOf({ volumeMounts }: Container, volumes: readonly Volume[]) {
  const mount = entriesOf(volumeMounts).find(isTokenMount);
  const projected = volumes.find(({ name }) => name === mount?.name)?.projected;
  const sources = isRecord(projected) && Array.isArray(projected.sources) ? projected.sources : [];
  return sources.some((source) => isRecord(source) && isRecord(source.serviceAccountToken)) ? mount : undefined;
}

function filled(field: string, ours: Container, present: Container): Readonly<Record<string, unknown>> {
  const value = union(ours[field], present[field]);
  return value === undefined ? {} : { [field]: value };
}

/** All that is said here, and what is said there alone. */
function union(here: unknown, there: unknown): unknown {
  if (here === undefined) return there;
  if (!isRecord(here) || !isRecord(there)) return here;
  const keys = Object.keys({ ...there, ...here });
  return Object.fromEntries(keys.map((key) => [key, union(here[key], there[key])]));
}
