import { ownerUidLabel, sourceAnnotation } from "../api/marks.ts";
import { type KubeObject, namespaceOf } from "../api/objects.ts";
import type { Change } from "../kube/cache.ts";
import type { CopyRecord } from "../replication/copy.ts";
import { isSameContent, type SourceRecord } from "../replication/source.ts";
import { isLabelledByUs } from "./follow.ts";
import type { Ground } from "./ground.ts";
import type { Reports } from "./reports.ts";

interface Waking extends Pick<Ground, "replication" | "installation" | "askers" | "home"> {
  readonly reports: Reports;
  /** A source has changed whose copies are to follow. */
  onContent(source: string): void;
  wake(source: string): void;
}

/** Wakes the sources that a change concerns and no others. Returns what ends that. */
export function subscribeWakes(waking: Waking): () => void {
  const { replication, wake } = waking;
  const { sources, copies, namespaces, suspects } = replication;
  const wakeAll = (woken: Iterable<string>) => {
    for (const source of new Set(woken)) wake(source);
  };
  const stops = [
    sources.subscribe((change) => onSource(change, waking)),
    copies.subscribe(({ before, after }) => wakeAll([before, after].flatMap((copy) => sourceNamedBy(copy, waking)))),
    suspects.onFound((key) => wakeAll(sourceNamedBy(copies.get(key), waking))),
    namespaces.subscribe((change) => {
      if (hasComeOrGone(change)) wakeAll([...waking.reports.sourcesIn(change.key), ...copiedTo(change.key, waking)]);
    }),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

/** Others label sources as well: theirs are none of our business, nor is who else labels ours. */
function onSource({ key, before, after }: Change<SourceRecord>, waking: Waking): void {
  const { replication, askers, home, onContent, wake } = waking;
  const isOurs = !home && (isLabelledByUs(before) || isLabelledByUs(after));
  if (!isOurs && !askers.lists(key) && replication.copies.by("source", key).length === 0) return;
  const isSame = before !== undefined && after !== undefined && isSameContent(before, after);
  if (isSame && (home || isLabelledByUs(before) === isLabelledByUs(after))) return;
  if (after && !isSame) onContent(key);
  wake(key);
}

/** Not proven: a copy that loses its marks concerns its source as well. */
function sourceNamedBy(copy: CopyRecord | undefined, { installation }: Waking): readonly string[] {
  const { labels = {}, annotations = {} } = copy?.metadata ?? {};
  const source = annotations[sourceAnnotation];
  return source !== undefined && labels[ownerUidLabel] === installation.uid ? [source] : [];
}

function copiedTo(namespace: string, waking: Waking): readonly string[] {
  const copies = waking.replication.copies.by("owner", waking.installation.uid);
  return copies.filter((copy) => namespaceOf(copy) === namespace).flatMap((copy) => sourceNamedBy(copy, waking));
}

function hasComeOrGone({ before, after }: Change<KubeObject>): boolean {
  const isThere = (object: KubeObject | undefined) => object !== undefined && !object.metadata.deletionTimestamp;
  return isThere(before) !== isThere(after);
}
