import { refOf } from "../api/objects.ts";
import { forAll } from "../kube/all-of.ts";
import { span } from "../kube/trace.ts";
import type { CopyRecord } from "../replication/copy.ts";
import type { Wanted } from "./asker.ts";
import { planCollection } from "./collection.ts";
import { copiesOf } from "./ours.ts";
import { isRemovable, removeCopy } from "./remove.ts";
import type { SourcePass } from "./source-pass.ts";

/** Deletes copies that nobody has wanted for long enough. Tells how long until the next one is due. */
export function collect(wanted: Wanted, at: SourcePass): Promise<number | undefined> {
  return span("collect", { source: at.key }, async () => {
    const { source, key, askers, memory, replication } = at;
    const facts = { source, copies: copiesOf(source, at), wanted, idle: memory.idleOf(key) };
    const times = { graceMs: askers.graceMs(key), nowMs: performance.now() };
    const { due, idle, nextDueMs } = planCollection({ ...facts, ...times, namespaces: replication.namespaces });
    memory.setIdle(key, idle);
    const removable = due.filter((copy) => isRemovable(copy, at));
    await forAll(removable, (copy) => removeCopy(copy, at, () => mayGo(copy, at)));
    return nextDueMs;
  });
}

/** Whoever still uses it wakes the source once that has changed. */
function mayGo(copy: CopyRecord, { key, askers, looks, signal }: SourcePass): Promise<boolean> {
  return looks.run(key, () => askers.mayGo(refOf(copy), key, { signal }), { signal });
}
