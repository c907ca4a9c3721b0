import type { TestContext } from "node:test";
import { apiVersionOf, type Draft, type KubeObject, type NamespacedRef, secrets } from "../api/objects.ts";
import type { Kube } from "../kube/client.ts";
import { adminKube, removeQuietly } from "./cluster.ts";
import { at, type Meta } from "./objects.ts";
import { dockerConfig } from "./sidecars.ts";
import { whenAdmissionListens } from "./syncs.ts";
import { kubermaticConfigurations } from "./user-clusters.ts";
import { type Reporting, untilConditionOf, untilGone, type Wanted } from "./wait.ts";

interface UserClusterPart {
  readonly imagePullSecret?: string | null;
  readonly imagePullSecretRef?: NamespacedRef | null;
}

export interface Configuration extends Reporting {
  readonly spec: { readonly userCluster?: UserClusterPart };
}

/** What the Secret of an inline default is called, and its copies. */
export const inlineName = "latchkey-default-pull-secret";
export const inlineCopyName = `kubermatic-${inlineName}`;

/** With this token what `untilPullSecret` knows. */
export const inlineText = (token?: string): string => dockerConfig("robot", token)[".dockerconfigjson"] ?? "";

export function configuration(key: string, userCluster?: UserClusterPart, meta: Meta = {}): Draft<Configuration> {
  return {
    apiVersion: apiVersionOf(kubermaticConfigurations),
    kind: kubermaticConfigurations.kind,
    metadata: { ...at(key), ...meta },
    spec: userCluster ? { userCluster } : {},
  };
}

/** Deleted after the test, with the Secret that was made of it. */
export async function createConfiguration(
  t: TestContext,
  key: string,
  userCluster?: UserClusterPart,
  meta: Meta = {},
): Promise<Configuration> {
  const kube = await adminKube();
  t.after(() => removeConfiguration(kube, key));
  const draft = configuration(key, userCluster, meta);
  return whenAdmissionListens(() => kube.create<Configuration>(kubermaticConfigurations, draft));
}

/** With its Secret, which whoever comes next must not find: the garbage collector takes half a minute to know of a new kind. */
export async function removeConfiguration(kube: Kube, key: string): Promise<void> {
  const ref = at(key);
  const { uid } = (await kube.get<KubeObject>(kubermaticConfigurations, ref))?.metadata ?? {};
  await removeQuietly(() => kube.delete(kubermaticConfigurations, ref));
  await untilGone(kube, kubermaticConfigurations, ref);
  const inline = { namespace: ref.namespace, name: inlineName };
  const found = await kube.getMetadata(secrets, inline);
  const isItsOwn = found?.metadata.ownerReferences?.some((owner) => owner.uid === uid) ?? false;
  if (isItsOwn) await removeQuietly(() => kube.delete(secrets, inline));
}

export function changeConfiguration(
  kube: Kube,
  key: string,
  change: { readonly userCluster?: UserClusterPart | null; readonly metadata?: object },
): Promise<Configuration> {
  const { userCluster, metadata } = change;
  const body = { ...(metadata && { metadata }), ...(userCluster !== undefined && { spec: { userCluster } }) };
  return whenAdmissionListens(() =>
    kube.patch<Configuration>(kubermaticConfigurations, at(key), { type: "merge", body }),
  );
}

export function untilDefault(kube: Kube, key: string, wanted: Wanted): Promise<Configuration> {
  return untilConditionOf<Configuration>(kube, kubermaticConfigurations, { metadata: at(key) }, "DefaultValid", wanted);
}
