import { statusAnnotation } from "../../api/marks.ts";
import type { KubeObject, Resource } from "../../api/objects.ts";
import type { Call, Kube } from "../../kube/client.ts";
import { isGoneOrReplaced } from "../../kube/errors.ts";
import { uninstallPullSecrets } from "../../pullsecrets/uninstall.ts";
import type { Undone, UninstallOptions } from "../feature.ts";
import { findServedKind } from "./served-kind.ts";

/** The copies and the labels of their sources, and what was said on the original's objects. */
export async function uninstall(kube: Kube, options: UninstallOptions): Promise<Undone> {
  const { installation, signal } = options;
  const copies = await uninstallPullSecrets(kube, installation, options);
  return { done: [...copies, ...(await removeAnnotations(kube, { signal }))], left: [] };
}

async function removeAnnotations(kube: Kube, call: Call): Promise<readonly string[]> {
  const resource = await findServedKind(kube, call);
  if (!resource) return [];
  const sets = await kube.listMetadata(resource, {}, call);
  const told = sets.filter(({ metadata }) => metadata.annotations?.[statusAnnotation] !== undefined);
  const lines: string[] = [];
  for (const set of told) {
    await removeAnnotation(kube, resource, set, call);
    lines.push(`annotation removed from ${resource.kind} ${set.metadata.name}`);
  }
  return lines;
}

async function removeAnnotation(kube: Kube, resource: Resource, { metadata }: KubeObject, call: Call): Promise<void> {
  const body = { metadata: { uid: metadata.uid, annotations: { [statusAnnotation]: null } } };
  try {
    await kube.patch(resource, metadata, { type: "merge", body }, call);
  } catch (error) {
    if (!isGoneOrReplaced(error)) throw error;
  }
}
