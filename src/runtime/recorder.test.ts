import assert from "node:assert/strict";
import { test } from "node:test";
import { type KubeObject, namespaces, secrets } from "../api/objects.ts";
import type { Kube } from "../kube/client.ts";
import { createLog } from "../kube/log.ts";
import type { Announcement } from "./outcome.ts";
import { eventOf, Recorder } from "./recorder.ts";

const objectOf = (name: string, uid: string, namespace?: string): KubeObject => ({
  metadata: { name, uid, resourceVersion: "7", creationTimestamp: "", ...(namespace && { namespace }) },
});
const synced: Announcement = { type: "Normal", reason: "Synced", message: "3 copies" };
const conflict: Announcement = { type: "Warning", reason: "Conflict", message: "team-a/db is held" };
const speaker = { identity: "replica-1", now: new Date(0) };

async function reasonsRecorded(tell: (recorder: Recorder) => void, create?: () => Promise<never>): Promise<string[]> {
  const reasons: string[] = [];
  const log = createLog({ level: "error", format: "text" });
  const note = async (_resource: unknown, draft: Announcement) => {
    reasons.push(draft.reason);
  };
  const kube = { create: create ?? note } as unknown as Kube;
  {
    await using recorder = new Recorder({ kube, identity: "replica-1", log });
    tell(recorder);
  }
  return reasons;
}

const a = objectOf("a", "uid-a");

test("one event per change of situation", async () => {
  const reasons = await reasonsRecorded((recorder) => {
    for (const each of [synced, synced, conflict, { ...conflict, message: "still" }, synced]) {
      recorder.announce(secrets, a, [each]);
    }
  });
  assert.deepEqual(reasons, ["Synced", "Conflict", "Synced"]);
});

test("a situation of the controller's own making counts instead of the reason", async () => {
  const reasons = await reasonsRecorded((recorder) => {
    for (const situation of ["1", "1", "2"]) recorder.announce(secrets, a, [{ ...conflict, situation }]);
  });
  assert.deepEqual(reasons, ["Conflict", "Conflict"]);
});

test("several announcements of one pass are all sent, and together they are one situation", async () => {
  const reasons = await reasonsRecorded((recorder) => {
    for (const each of [[synced, conflict], [], [synced, conflict]]) recorder.announce(secrets, a, each);
  });
  assert.deepEqual(reasons, ["Synced", "Conflict"]);
});

test("objects are told apart by uid, and a forgotten one begins anew", async () => {
  const reasons = await reasonsRecorded((recorder) => {
    recorder.announce(secrets, a, [synced]);
    recorder.announce(secrets, objectOf("a", "uid-b"), [synced]);
    recorder.forget("uid-a");
    recorder.announce(secrets, a, [synced]);
  });
  assert.equal(reasons.length, 3);
});

test("outside passes each situation of an object is told once, whatever was told in between", async () => {
  const reasons = await reasonsRecorded((recorder) => {
    for (const each of [synced, conflict, synced, conflict]) recorder.tell(secrets, a, each);
    recorder.tell(secrets, objectOf("a", "uid-b"), synced);
    recorder.tell(secrets, a, { ...conflict, situation: "elsewhere" });
  });
  assert.deepEqual(reasons, ["Synced", "Conflict", "Synced", "Conflict"]);
});

test("what is told and what passes announce do not silence each other", async () => {
  const reasons = await reasonsRecorded((recorder) => {
    recorder.announce(secrets, a, [synced]);
    recorder.tell(secrets, a, synced);
    recorder.announce(secrets, a, [synced]);
  });
  assert.deepEqual(reasons, ["Synced", "Synced"]);
});

test("of all that was told the longest unheard of is forgotten after a thousand", async () => {
  const reasons = await reasonsRecorded((recorder) => {
    const tell = (situation: number) => recorder.tell(secrets, a, { ...synced, situation: String(situation) });
    for (let situation = 0; situation < 1000; situation++) tell(situation);
    tell(0);
    tell(1000);
    tell(0);
    tell(1);
  });
  assert.equal(reasons.length, 1002, "1 was forgotten and told again, 0 was not");
});

test("an event that cannot be written is nobody's failure", async () => {
  await reasonsRecorded(
    (recorder) => recorder.announce(secrets, a, [synced]),
    () => Promise.reject(new Error("refused")),
  );
});

test("events about cluster-scoped objects live in default", () => {
  const event = eventOf(namespaces, objectOf("team-a", "1"), synced, speaker);
  assert.equal(event.metadata.namespace, "default");
  assert.ok(!("namespace" in event.involvedObject));
  assert.equal(eventOf(secrets, objectOf("db", "1", "team-a"), synced, speaker).metadata.namespace, "team-a");
});

test("a long name or message is cut to what the API server takes", () => {
  const long = eventOf(secrets, objectOf(`${"a".repeat(235)}.${"b".repeat(17)}`, "1", "x"), synced, speaker);
  assert.ok(long.metadata.name.length <= 253);
  assert.match(long.metadata.name, /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
  const { message } = eventOf(secrets, a, { ...synced, message: "ä".repeat(900) }, speaker);
  assert.ok(Buffer.byteLength(message) <= 1024);
  assert.match(message, /^ä+…$/);
});
