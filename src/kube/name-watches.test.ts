import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { secrets } from "../api/objects.ts";
import { answers, cannedServer, eventLine, listEnd, refuses, streams } from "../testing/canned-server.ts";
import type { Kube } from "./client.ts";
import { createLog } from "./log.ts";
import { NameWatches } from "./name-watches.ts";

const ref = { namespace: "a", name: "db" };
const object = { metadata: { ...ref, uid: "u", resourceVersion: "8", creationTimestamp: "" } };
const gone = { metadata: { ...object.metadata, resourceVersion: "9" } };

/** What a listener was told, until it was told `count` times. */
function toldBy(names: NameWatches, count: number): { readonly told: Promise<string[]>; readonly stop: () => void } {
  const told: string[] = [];
  const { promise, resolve } = Promise.withResolvers<string[]>();
  const stop = names.follow(ref, (found) => {
    told.push(found ? `present ${found.metadata.resourceVersion}` : "absent");
    if (told.length === count) resolve(told);
  });
  return { told: promise, stop };
}

function namesOf(t: TestContext, kube: Kube, maxWatches?: number): NameWatches {
  const names = new NameWatches({ kube, resource: secrets, maxWatches });
  t.after(() => names[Symbol.asyncDispose]());
  return names;
}

test("NameWatches: tells that there is nothing, then what comes and goes", async (t) => {
  const { kube, asked } = await cannedServer(
    t,
    streams(listEnd(7), eventLine("ADDED", object), eventLine("DELETED", gone)),
  );
  const { told } = toldBy(namesOf(t, kube), 2);
  const [first, second] = await told;
  // The three lines may come in one piece; then the absence before is over before it could be told.
  assert.ok(first === "absent" || (first === "present 8" && second === "absent"), `${first}, ${second}`);
  assert.equal(asked[0]?.get("fieldSelector"), "metadata.name=db");
});

test("NameWatches: followers of one name share a watch, and each is told what is there", async (t) => {
  const { kube, asked } = await cannedServer(t, streams(eventLine("ADDED", object), listEnd(8)));
  const names = namesOf(t, kube);
  assert.deepEqual(await toldBy(names, 1).told, ["present 8"]);
  assert.deepEqual(await toldBy(names, 1).told, ["present 8"]);
  assert.equal(asked.length, 1);
});

test("NameWatches: names beyond the limit are looked up in turn", async (t) => {
  const { kube, asked } = await cannedServer(t, refuses(404, "NotFound"), refuses(404, "NotFound"), answers(object));
  const { told } = toldBy(namesOf(t, kube, 0), 2);
  assert.deepEqual(await told, ["absent", "present 8"]);
  assert.equal(asked[0]?.get("watch"), null);
});

test("NameWatches: a name that was looked up gets the watch that another one leaves", async (t) => {
  const { kube } = await cannedServer(t, (response, query) => {
    const watched = query.get("fieldSelector") === "metadata.name=db";
    const answer = watched ? streams(eventLine("ADDED", object), listEnd(8)) : streams(listEnd(8));
    return (query.has("watch") ? answer : refuses(404, "NotFound"))(response, query);
  });
  const names = namesOf(t, kube, 1);
  const stop = names.follow({ namespace: "a", name: "other" }, () => {});
  const waiting = toldBy(names, 1);
  assert.deepEqual(await waiting.told, ["absent"]);
  const next = toldBy(names, 2);
  stop();
  assert.deepEqual(await next.told, ["absent", "present 8"]);
});

test("NameWatches: of an outage the first watch that breaks tells, for all of them", async (t) => {
  const { kube } = await cannedServer(t, refuses(403, "Forbidden"));
  const levels: string[] = [];
  const { promise: allBroken, resolve } = Promise.withResolvers<void>();
  const log = createLog({
    level: "debug",
    format: "json",
    write: (line) => {
      if (levels.push(JSON.parse(line).level) === 3) resolve();
    },
  });
  const names = new NameWatches({ kube, resource: secrets, log });
  t.after(() => names[Symbol.asyncDispose]());
  for (const name of ["a", "b", "c"]) names.follow({ namespace: "a", name }, () => {});
  await allBroken;
  assert.deepEqual(levels, ["warn", "debug", "debug"]);
});
