import assert from "node:assert/strict";
import { test } from "node:test";
import { type KubeObject, namespaces } from "../api/objects.ts";
import { WatchCache } from "../kube/cache.ts";
import { createLog } from "../kube/log.ts";
import { answers, cannedServer, eventLine, listEnd, streams } from "../testing/canned-server.ts";
import type { Controller } from "./controller.ts";
import { Recorder } from "./recorder.ts";
import { runPass } from "./run-pass.ts";

const ours = "latchkey.dev/ours";
const metadata = { name: "a", uid: "1", resourceVersion: "1", creationTimestamp: "", deletionTimestamp: "now" };

test("an object that was let go is not finalized again while the server has yet to tell of its end", async (t) => {
  const going: KubeObject = { metadata: { ...metadata, finalizers: [ours] } };
  const { kube, asked } = await cannedServer(
    t,
    streams(eventLine("ADDED", going), listEnd(7)),
    answers({ metadata: { ...metadata, resourceVersion: "8" } }),
  );
  const log = createLog({ level: "error", format: "json" });
  let finalized = 0;
  const controller: Controller<KubeObject> = {
    ...{ name: "test", resource: namespaces, finalizers: [{ name: ours, wanted: () => true }] },
    reconcile: async () => ({}),
    finalize: async () => {
      finalized += 1;
      return { remove: [ours] };
    },
  };
  await using objects = new WatchCache({ kube, resource: namespaces });
  await using recorder = new Recorder({ kube, identity: "me", log });
  objects.start();
  await objects.synced();
  const pass = async () => {
    const found = objects.get("a");
    assert.ok(found);
    const context = { controller, objects, kube, mayWrite: () => true, recorder, log };
    return await runPass(found, context, { signal: t.signal });
  };
  assert.deepEqual([(await pass()).kind, (await pass()).kind], ["done", "done"]);
  assert.deepEqual({ finalized, asked: asked.length }, { finalized: 1, asked: 2 });
});
