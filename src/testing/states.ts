import type { TestContext } from "node:test";
import type { Kube } from "../kube/client.ts";
import { watchEvents } from "../kube/watch.ts";
import { type SecretSync, secretSyncs } from "./objects.ts";
import { conditionIn } from "./wait.ts";

/**
 * Follows a SecretSync from now on. A pass that lasts over two seconds, or ends incomplete, may report `Progressing` in
 * between, which is one more write of the status and of events: on a busy machine that is no failure.
 */
export function followProgress(t: TestContext, kube: Kube, name: string): { readonly wasReported: () => boolean } {
  const stop = new AbortController();
  t.after(() => stop.abort());
  let wasReported = false;
  const selection = { fieldSelector: `metadata.name=${name}`, sendInitialEvents: true };
  const follow = async () => {
    for await (const { object } of watchEvents(kube, secretSyncs, selection, { signal: stop.signal })) {
      if (conditionIn(object as SecretSync, "Sync")?.reason === "Progressing") wasReported = true;
    }
  };
  // Ends with the test; a watch that breaks earlier has seen no Progressing.
  follow().catch(() => {});
  return { wasReported: () => wasReported };
}
