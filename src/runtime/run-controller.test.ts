import assert from "node:assert/strict";
import { test } from "node:test";
import { type KubeObject, type Metadata, namespaces } from "../api/objects.ts";
import type { Change } from "../kube/cache.ts";
import { createLog } from "../kube/log.ts";
import { cannedServer, eventLine, listEnd, streams } from "../testing/canned-server.ts";
import type { Controller } from "./controller.ts";
import { finalizersPatch, heldFinalizers, missingFinalizers } from "./finalizers.ts";
import { Election } from "./lease.ts";
import { Recorder } from "./recorder.ts";
import { isWorthAPass, runController } from "./run-controller.ts";

const base: Metadata = { name: "a", uid: "1", resourceVersion: "1", generation: 1, creationTimestamp: "" };
const objectOf = (changed: Partial<Metadata> = {}, rest: object = {}): KubeObject => ({
  ...rest,
  metadata: { ...base, ...changed },
});

const changes = [
  { name: "a new object", before: undefined, after: objectOf(), isWorth: true },
  { name: "another object of the same name", before: objectOf(), after: objectOf({ uid: "2" }), isWorth: true },
  { name: "the spec", before: objectOf(), after: objectOf({ generation: 2 }), isWorth: true },
  { name: "the end in sight", before: objectOf(), after: objectOf({ deletionTimestamp: "now" }), isWorth: true },
  { name: "an annotation", before: objectOf(), after: objectOf({ annotations: { a: "b" } }), isWorth: true },
  { name: "a label", before: objectOf({ labels: { a: "b" } }), after: objectOf({ labels: { a: "c" } }), isWorth: true },
  { name: "a finalizer", before: objectOf({ finalizers: ["a"] }), after: objectOf(), isWorth: true },
  { name: "empty for absent", before: objectOf(), after: objectOf({ labels: {}, finalizers: [] }), isWorth: false },
  { name: "resourceVersion", before: objectOf(), after: objectOf({ resourceVersion: "2" }), isWorth: false },
  {
    name: "a status that somebody else wrote",
    before: objectOf({}, { status: { phase: "Pending" } }),
    after: objectOf({ resourceVersion: "2" }, { status: { phase: "Synced" } }),
    isWorth: true,
  },
] as const;

for (const { name, before, after, isWorth } of changes) {
  test(`isWorthAPass: ${name}: ${isWorth}`, () => assert.equal(isWorthAPass(before, after), isWorth));
}

test("isWorthAPass: a kind without generations: any change", () => {
  const { generation: _, ...metadata } = base;
  assert.equal(isWorthAPass({ metadata }, { metadata: { ...metadata, resourceVersion: "2" } }), true);
});

const finalizers = [
  { name: "latchkey.dev/always", wanted: () => true },
  { name: "latchkey.dev/labelled", wanted: ({ metadata }: KubeObject) => metadata.labels !== undefined },
];
const foreign = "example.com/foreign";

test("only wanted finalizers are missing, and only ours are held", () => {
  assert.deepEqual(missingFinalizers(objectOf(), finalizers), ["latchkey.dev/always"]);
  assert.deepEqual(missingFinalizers(objectOf({ finalizers: ["latchkey.dev/always"], labels: {} }), finalizers), [
    "latchkey.dev/labelled",
  ]);
  assert.deepEqual(heldFinalizers(objectOf({ finalizers: [foreign, "latchkey.dev/labelled"] }), finalizers), [
    "latchkey.dev/labelled",
  ]);
});

test("the list of finalizers is written for the very version it was read from", () => {
  const patch = finalizersPatch(objectOf({ resourceVersion: "5" }), [foreign]);
  assert.deepEqual(patch, { type: "merge", body: { metadata: { resourceVersion: "5", finalizers: [foreign] } } });
});

test("a standby is not asked what a change wakes, and wakers run for as long as a replica leads", async (t) => {
  const { kube } = await cannedServer(t, streams(eventLine("ADDED", objectOf()), listEnd(7)));
  const log = createLog({ level: "error", format: "json" });
  const stop = new AbortController();
  const seen = new Set<string>();
  const firstPass = Promise.withResolvers<void>();
  const listeners = new Set<(change: Change<KubeObject>) => void>();
  const tell = (told: Change<KubeObject>) => {
    for (const listener of listeners) listener(told);
  };
  t.after(() => stop.abort());
  const change = { key: "b", before: undefined, after: objectOf() };
  const controller: Controller<KubeObject> = {
    name: "test",
    resource: namespaces,
    watches: [
      {
        cache: {
          synced: async () => {},
          subscribe: (listener) => {
            listeners.add(listener);
            return () => listeners.delete(listener);
          },
        },
        wakes: () => {
          seen.add("asked");
          return [];
        },
      },
    ],
    wakers: [
      () => {
        seen.add("waker started");
        return () => seen.add("waker stopped");
      },
    ],
    reconcile: async () => {
      firstPass.resolve();
      return {};
    },
  };
  const election = new Election({ kube, namespace: "a", name: "test", identity: "me", log, enabled: false });
  await using recorder = new Recorder({ kube, identity: "me", log });
  const running = runController(controller, { kube, election, recorder, log, signal: stop.signal });
  tell(change);
  assert.deepEqual([...seen], []);

  election.start();
  await firstPass.promise;
  tell(change);
  assert.deepEqual([...seen], ["waker started", "asked"]);

  await election[Symbol.asyncDispose]();
  assert.deepEqual([...seen], ["waker started", "asked", "waker stopped"]);
  seen.clear();
  tell(change);
  assert.ok(!seen.has("asked"));
  stop.abort();
  await running.closed;
});

test("managed fields reach the shaping of an object only where they are asked for", async (t) => {
  const managedFields = [{ manager: "somebody" }];
  const seenWhen = async (keepManagedFields: boolean) => {
    const { kube } = await cannedServer(t, streams(eventLine("ADDED", objectOf({ managedFields })), listEnd(7)));
    const log = createLog({ level: "error", format: "json" });
    const stop = new AbortController();
    const election = new Election({ kube, namespace: "a", name: "test", identity: "me", log, enabled: false });
    await using recorder = new Recorder({ kube, identity: "me", log });
    const seen = Promise.withResolvers<unknown>();
    const controller: Controller<KubeObject> = {
      ...{ name: "test", resource: namespaces, keepManagedFields },
      transform: (object) => {
        seen.resolve(object.metadata.managedFields);
        return object;
      },
      reconcile: async () => ({}),
    };
    const { closed } = runController(controller, { kube, election, recorder, log, signal: stop.signal });
    const found = await seen.promise;
    stop.abort();
    await closed;
    return found;
  };
  assert.deepEqual(await seenWhen(true), managedFields);
  assert.equal(await seenWhen(false), undefined);
});
