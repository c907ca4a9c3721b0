import { removeAllEntries } from "./accounts.ts";
import type { WayOptions, WorkingWay } from "./injector.ts";
import { noNames } from "./mode.ts";
import { removeObjects } from "./objects.ts";

/** Pods are given nothing: whatever another way has left is taken away, at once. */
export function noInjection({ version, installation }: WayOptions): WorkingWay {
  let isDone = false;
  return {
    caches: [],
    recorded: () => noNames,
    keys: () => [],
    begin: () => () => {},
    async pass(_key, { kube, signal }) {
      if (isDone) return {};
      await removeObjects(version, { kube, installation, signal });
      await removeAllEntries(kube, { signal });
      isDone = true;
      return {};
    },
    state: () => (isDone ? { kind: "disabled" } : { kind: "pending" }),
  };
}
