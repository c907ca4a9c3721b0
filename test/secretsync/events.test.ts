import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { events, type KubeObject } from "../../src/api/objects.ts";
import type { Kube } from "../../src/kube/client.ts";
import { type WatchEvent, watchEvents } from "../../src/kube/watch.ts";
import { testNamespaces, uniqueName } from "../../src/testing/cluster.ts";
import { at, type SecretSync } from "../../src/testing/objects.ts";
import { createSecret, deleteSecret, setValues } from "../../src/testing/secrets.ts";
import { changeSync, createdSync, createSync } from "../../src/testing/syncs.ts";
import { untilCondition, untilSecret, untilSynced } from "../../src/testing/wait.ts";

interface Event extends KubeObject {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
}

/** What is told of one object, in order. A slow pass may tell of being at work, and of its end again: left out. */
class Told {
  readonly #stream: AsyncGenerator<WatchEvent, void, undefined>;
  readonly #seen: Event[] = [];

  constructor(t: TestContext, kube: Kube, { metadata }: SecretSync) {
    const stop = new AbortController();
    t.after(() => stop.abort());
    const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(240_000)]);
    const selection = {
      namespace: "default",
      fieldSelector: `involvedObject.uid=${metadata.uid}`,
      sendInitialEvents: true,
    };
    this.#stream = watchEvents(kube, events, selection, { signal });
  }

  /** Resolves once there are as many events; fails when there are more of them than that. */
  async until(count: number): Promise<readonly Event[]> {
    while (this.counted.length < count) {
      const { value, done } = await this.#stream.next().catch(() => ({ value: undefined, done: true as const }));
      if (done) throw new Error(`only ${JSON.stringify(this.#seen.map(({ reason }) => reason))} were told`);
      if (value.type === "ADDED" || value.type === "MODIFIED") this.#seen.push(value.object as Event);
    }
    return this.counted;
  }

  get counted(): readonly Event[] {
    return this.#seen.filter(({ reason }, at) => {
      if (reason === "Progressing") return false;
      const before = this.#seen.slice(0, at);
      return before.at(-1)?.reason !== "Progressing" || before.findLast(isSettled)?.reason !== reason;
    });
  }
}

const isSettled = ({ reason }: Event) => reason !== "Progressing";
const inShort = (told: readonly Event[]) => told.map(({ type, reason }) => `${type} ${reason}`);

test("one event for each change of situation, Normal for Synced and Warning for the rest", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  const sync = await createSync(t, kube, `${vault}/db`, { to: [`${team}/db`] });
  const told = new Told(t, kube, sync);
  await untilCondition(kube, sync, "Sync", { reason: "SourceNotFound" });
  assert.deepEqual(inShort(await told.until(1)), ["Warning SourceNotFound"]);

  await createSecret(kube, `${vault}/db`, { a: "1" });
  await untilSynced(kube, sync);
  assert.deepEqual(inShort(await told.until(2)), ["Warning SourceNotFound", "Normal Synced"]);

  // Served, and no new situation.
  await setValues(kube, `${vault}/db`, { a: "2" });
  await untilSecret(kube, `${team}/db`, { a: "2" });
  await deleteSecret(kube, `${team}/db`);
  await untilSecret(kube, `${team}/db`, { a: "2" });

  await createSecret(kube, `${team}/taken`);
  const changed = await changeSync(kube, sync, { spec: { dest: [at(`${team}/db`), at(`${team}/taken`)] } });
  await untilCondition(kube, changed, "Sync", { reason: "Conflict" });
  const three = ["Warning SourceNotFound", "Normal Synced", "Warning Conflict"];
  assert.deepEqual(inShort(await told.until(3)), three);

  // Passes that find the same conflict again.
  for (const a of ["3", "4", "5"]) {
    await setValues(kube, `${vault}/db`, { a });
    await untilSecret(kube, `${team}/db`, { a });
  }
  await deleteSecret(kube, `${team}/taken`);
  await untilSynced(kube, changed);
  assert.deepEqual(inShort(await told.until(4)), [...three, "Normal Synced"]);
  // A marker: whatever else was told of the passes before is told by now.
  await deleteSecret(kube, `${vault}/db`);
  await untilCondition(kube, changed, "Sync", { reason: "SourceNotFound" });
  assert.deepEqual(inShort(await told.until(5)), [...three, "Normal Synced", "Warning SourceNotFound"]);
});

test("a collision policy that is none is told by one Warning", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/db`, { a: "1" });
  const sync = await createdSync(t, kube, `${vault}/db`, { to: [`${team}/db`], collision: "Sometimes" });
  const told = new Told(t, kube, sync);
  await told.until(2);
  await setValues(kube, `${vault}/db`, { a: "2" });
  await untilSecret(kube, `${team}/db`, { a: "2" });
  // A marker: the next situation is told after whatever was told before.
  await deleteSecret(kube, `${vault}/db`);
  await untilCondition(kube, sync, "Sync", { reason: "SourceNotFound" });
  const all = await told.until(3);
  const about = all.filter(({ type, reason }) => type === "Warning" && reason !== "SourceNotFound");
  assert.equal(about.length, 1, JSON.stringify(inShort(all)));
  assert.match(about[0]?.message ?? "", /Sometimes/);
});

test("long names and long lists of problems are told as well", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  const names = Array.from({ length: 32 }, (_, index) => `${"taken-".repeat(8)}${index}`);
  await createSecret(kube, `${vault}/db`);
  await Promise.all(names.map((name) => createSecret(kube, `${team}/${name}`)));
  const name = uniqueName("x".repeat(242));
  assert.equal(name.length, 253);
  const sync = await createSync(t, kube, `${vault}/db`, { to: names.map((each) => `${team}/${each}`), name });
  const { status } = await untilCondition(kube, sync, "Sync", { reason: "Conflict" });
  const message = status?.conditions?.find(({ type }) => type === "Sync")?.message ?? "";
  for (const each of names) assert.ok(message.includes(`${team}/${each}`), "the condition lists all");
  const [told] = await new Told(t, kube, sync).until(1);
  assert.equal(told?.reason, "Conflict");
  assert.match(told?.message ?? "", new RegExp(`${team}/`));
});
