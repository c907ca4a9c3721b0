import { changeReferences, servedNamespaces, untilCondition } from "../lib/clusters.ts";
import type { Compared } from "../lib/comparison.ts";
import { Contents } from "../lib/contents.ts";
import { memoryAtRest, untilIdle } from "../lib/memory.ts";
import { tellProgress } from "../lib/report.ts";
import { changePullSecret, configKey, copyLabel, pullSecretData, withLatchkey } from "../lib/sidecars.ts";
import { firstMark, type Ground, references } from "./ground.ts";

export interface Memory {
  readonly resident: Compared;
  readonly perCopyKiB: number;
}

/** With a copy in each namespace, and with sixteen. Leaves the Cluster with these. */
export async function measureMemory({ arena, user }: Ground): Promise<Memory> {
  const { length: namespaces } = await servedNamespaces(user.kube);
  const ready = () => untilCondition(arena.kube, user.name, "Ready", "True");
  tellProgress("resident memory with 1 reference");
  const few = await memoryAtRest(arena, ready);

  tellProgress(`resident memory with ${references} references`);
  await withLatchkey(arena, async (operator) => {
    await using copies = new Contents(user.kube, copyLabel, configKey);
    await copies.synced();
    const value = pullSecretData(firstMark)[configKey];
    const all = copies.untilAll(references * namespaces, value);
    await changePullSecret(arena.kube, 0, firstMark);
    await changeReferences(arena.kube, user, references);
    await all;
    copies.check(references * namespaces, value);
    await untilIdle(operator);
  });
  const many = await memoryAtRest(arena, ready);
  return {
    resident: { what: `${references} references, beside 1: resident MiB`, ours: many, theirs: few },
    perCopyKiB: ((many - few) * 1024) / ((references - 1) * namespaces),
  };
}
