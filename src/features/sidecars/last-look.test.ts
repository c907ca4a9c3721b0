import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { KubeObject } from "../../api/objects.ts";
import type { Pod } from "../../api/pods.ts";
import { injectedPod } from "../../testing/pod-records.ts";
import { LastLook } from "./last-look.ts";

const copy = { namespace: "team-a", name: "vault-pull" };
const userPod = (phase: string, resourceVersion: string): Pod =>
  injectedPod("team-a/users", { names: [copy.name], phase, metadata: { resourceVersion } });

/** A Pod of a user that names the copy, in no cache; its changes are told by hand. */
function world() {
  const woken: string[] = [];
  const asked: string[] = [];
  let pod: Pod | undefined = userPod("Running", "1");
  let listener: (object: KubeObject | undefined) => void = () => {};
  const look = new LastLook({
    pods: { by: () => [], subscribe: () => () => {} },
    kube: {
      async get() {
        asked.push("get");
        return pod as never;
      },
      async page() {
        asked.push("page");
        return { items: pod ? [pod] : [], resourceVersion: "1" } as never;
      },
    },
    podWatches: {
      follow(_ref: unknown, tell: (object: KubeObject | undefined) => void) {
        listener = tell;
        return () => {
          listener = () => {};
        };
      },
    } as never,
    wake: (source) => void woken.push(source),
  });
  return {
    ...{ look, woken, asked },
    async becomes(next: Pod | undefined) {
      pod = next;
      listener(next);
      await turn();
    },
  };
}

test("a Pod that stands in the way wakes the source when it no longer does, and not before", async () => {
  const { look, woken, asked, becomes } = world();
  const mayGo = () => look.mayGo(copy, "vault/pull", () => true, {});
  assert.equal(await mayGo(), false);
  await becomes(userPod("Pending", "2"));
  await becomes(userPod("Running", "3"));
  assert.deepEqual(woken, []);
  assert.deepEqual(asked, ["page", "get", "get"]);
  await becomes(userPod("Succeeded", "4"));
  assert.deepEqual(woken, ["vault/pull"]);
});

test("so does one that is gone", async () => {
  const { look, woken, becomes } = world();
  assert.equal(await look.mayGo(copy, "vault/pull", () => true, {}), false);
  await becomes(undefined);
  assert.deepEqual(woken, ["vault/pull"]);
  assert.equal(await look.mayGo(copy, "vault/pull", () => true, {}), true);
});
