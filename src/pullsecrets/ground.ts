import type { Call, Kube } from "../kube/client.ts";
import type { Owner } from "../ownership/holder.ts";
import type { Copying, Replication } from "../replication/replication.ts";
import { CopyWriter } from "../replication/writes.ts";
import type { Askers } from "./askers.ts";
import type { Troubles } from "./troubles.ts";

/** What all work on copies goes by. */
export interface Ground {
  readonly replication: Replication;
  readonly installation: Owner;
  readonly askers: Askers;
  readonly troubles: Troubles;
  /** Where the sources are, if the copies are in another cluster: there they are followed and labelled, not here. */
  readonly home: Kube | undefined;
}

interface Writing extends Call {
  readonly kube: Kube;
  /** Key of the source. */
  readonly source: string;
  /** Whose turn these writes count for. */
  readonly turn: string;
}

export function copyingFor({ replication, askers }: Ground, { kube, source, turn, signal }: Writing): Copying {
  const { copies } = replication;
  const writer = new CopyWriter({ kube, copies, feature: askers.featureOf(source), asker: turn, signal });
  return { ...replication, kube, writer, signal };
}

/** Nothing can be done in a namespace that is missing or going; its Namespace object wakes when that changes. */
export function isReady(namespace: string, { replication }: Pick<Ground, "replication">): boolean {
  const found = replication.namespaces.get(namespace);
  return found !== undefined && !found.metadata.deletionTimestamp;
}
