import { clusters, kubermaticConfigurations } from "../../api/kinds.ts";
import { clustersFinalizer, statusAnnotation } from "../../api/marks.ts";
import type { KubeObject, Resource } from "../../api/objects.ts";
import { type Call, Kube } from "../../kube/client.ts";
import { getCrdState } from "../../kube/crd-state.ts";
import { withDeadline } from "../../kube/deadline.ts";
import { isGoneOrReplaced } from "../../kube/errors.ts";
import { uninstallPullSecrets } from "../../pullsecrets/uninstall.ts";
import { version } from "../../version.ts";
import type { Undone, UninstallOptions } from "../feature.ts";
import { cleanUp, removeInjection } from "./clean-up.ts";
import { findConnection } from "./find-connection.ts";
import { allowInsecureClusters, clusterApiNamespaces } from "./options.ts";
import { failureOf } from "./reachability.ts";
import { type ClusterRecord, clusterAnnotations, recordOf } from "./record.ts";

/** Before giving up on one cluster. */
const patienceMs = 60_000;

/** Takes policies, entries and copies out of all clusters, and our marks off the Clusters themselves. */
export async function uninstall(kube: Kube, options: UninstallOptions): Promise<Undone> {
  const { installation, signal } = options;
  const isServed = await kube.serves(clusters, { signal });
  const mode = (await getCrdState(kube, clusters, { signal })) === "foreign" ? "beside" : "instead";
  const objects = isServed ? await kube.list<KubeObject>(clusters, {}, { signal }) : [];
  const records = objects.map((object) => recordOf(object, mode));

  const undone = await Promise.all(records.map((record) => leaveCluster(record, kube, options)));
  // In the home too, whether one of the Clusters is the home or not.
  const atHome = await removeInjection({ kube, installation, signal });
  const released: string[] = [];
  for (const record of records) released.push(...(await releaseCluster(kube, record, { signal })));
  const done = [
    ...undone.flatMap((each) => each.done),
    ...atHome,
    ...(await uninstallPullSecrets(kube, installation, options)),
    ...released,
    ...(await removeAnnotations(kube, clusters, { signal })),
    ...(await removeAnnotations(kube, kubermaticConfigurations, { signal })),
  ];
  // Most of the original's Clusters never asked for anything: what cannot be reached there is no business of ours.
  const isOurs = (at: number) => mode === "instead" || isMarked(objects[at]);
  return { done, left: undone.flatMap((each, at) => (isOurs(at) ? each.left : [])) };
}

const isMarked = (object: KubeObject | undefined): boolean =>
  [statusAnnotation, ...clusterAnnotations].some((name) => object?.metadata.annotations?.[name]);

async function leaveCluster(record: ClusterRecord, home: Kube, options: UninstallOptions): Promise<Undone> {
  if (record.wish.isHome) return { done: [], left: [] };
  const { settings, installation, copies, signal } = options;
  const title = `Cluster ${record.metadata.name}`;
  const search = {
    clusterApiNamespaces: settings.get(clusterApiNamespaces),
    allowInsecure: settings.get(allowInsecureClusters),
  };
  const { result } = await findConnection(record, home, search, { signal });
  if (result.kind !== "found") return { done: [], left: [`${title}: ${result.message}`] };
  const { connection } = result;
  try {
    await using kube = new Kube(connection, { userAgent: `latchkey/${version}` });
    const done = await withDeadline(patienceMs, signal, (within) =>
      cleanUp({ kube, installation, copies, signal: within }),
    );
    return { done: done.map((line) => `${title}: ${line}`), left: [] };
  } catch (error) {
    signal?.throwIfAborted();
    return { done: [], left: [`${title}: ${failureOf(error, new URL(connection.server).origin).message}`] };
  }
}

/** So that nothing waits for an operator that is gone. */
async function releaseCluster(kube: Kube, { metadata }: KubeObject, { signal }: Call): Promise<readonly string[]> {
  const { finalizers = [], resourceVersion } = metadata;
  if (!finalizers.includes(clustersFinalizer)) return [];
  const rest = finalizers.filter((name) => name !== clustersFinalizer);
  const body = { metadata: { resourceVersion, finalizers: rest } };
  await unlessGone(() => kube.patch(clusters, metadata, { type: "merge", body }, { signal }));
  return [`finalizers removed from Cluster ${metadata.name}`];
}

async function removeAnnotations(kube: Kube, resource: Resource, call: Call): Promise<readonly string[]> {
  if (!(await kube.serves(resource, call))) return [];
  const told = (await kube.listMetadata(resource, {}, call)).filter(
    ({ metadata }) => metadata.annotations?.[statusAnnotation],
  );
  for (const { metadata } of told) {
    const body = { metadata: { uid: metadata.uid, annotations: { [statusAnnotation]: null } } };
    await unlessGone(() => kube.patch(resource, metadata, { type: "merge", body }, call));
  }
  return told.map(({ metadata }) => `annotation removed from ${resource.kind} ${metadata.name}`);
}

async function unlessGone(write: () => Promise<unknown>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (!isGoneOrReplaced(error)) throw error;
  }
}
