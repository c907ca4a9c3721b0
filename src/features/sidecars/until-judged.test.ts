import assert from "node:assert/strict";
import { test } from "node:test";
import { sidecarRecord } from "../../testing/sidecar-records.ts";
import type { SidecarSetRecord } from "./record.ts";
import { untilJudged } from "./until-judged.ts";

type Told = "True" | "False";

const record = (name: string, told?: Told, spec: Partial<SidecarSetRecord["spec"]> = {}) =>
  sidecarRecord(name, spec, {
    ...(told && {
      status: {
        conditions: [{ type: "Accepted", status: told, reason: "r", message: "", observedGeneration: 1 }],
      },
    }),
  });

/** A cache that is told by hand. */
function world(...records: readonly SidecarSetRecord[]) {
  const known = new Map(records.map((set) => [set.metadata.name, set]));
  const listeners = new Set<() => void>();
  const told = () => {
    for (const listener of listeners) listener();
  };
  return {
    listeners,
    put(set: SidecarSetRecord) {
      known.set(set.metadata.name, set);
      told();
    },
    remove(name: string) {
      known.delete(name);
      told();
    },
    async wait(signal = new AbortController().signal) {
      const startedAt = performance.now();
      const sets = {
        get: (name: string) => known.get(name),
        subscribe(listener: () => void) {
          listeners.add(listener);
          return () => void listeners.delete(listener);
        },
      } as unknown as Parameters<typeof untilJudged>[1]["sets"];
      const judged = { has: (uid: string) => uid === "uid-seen" };
      const isWorth = await untilJudged([...known.values()], { sets, judged, signal });
      return { isWorth, ms: performance.now() - startedAt };
    },
  };
}

const settled = [
  { name: "accepted", sets: [record("a", "True")] },
  { name: "rejected", sets: [record("a", "False")] },
  { name: "let pass here", sets: [record("seen")] },
  { name: "paused", sets: [record("a", undefined, { injectionStrategy: { paused: true } })] },
  { name: "none at all", sets: [] },
];

for (const { name, sets } of settled) {
  test(`nobody waits: ${name}`, async () => {
    const { wait, listeners } = world(...sets);
    const { isWorth, ms } = await wait();
    assert.equal(isWorth, false);
    assert.ok(ms < 650, `it took ${ms} ms`);
    assert.equal(listeners.size, 0);
  });
}

const ends = [
  { name: "accepted", end: ({ put }: ReturnType<typeof world>) => put(record("a", "True")) },
  { name: "rejected", end: ({ put }: ReturnType<typeof world>) => put(record("a", "False")) },
  { name: "gone", end: ({ remove }: ReturnType<typeof world>) => remove("a") },
];

for (const { name, end } of ends) {
  test(`until the last one is judged: ${name}`, async () => {
    const scene = world(record("a"), record("b"), record("c", "True"));
    const waiting = scene.wait();
    scene.put(record("b", "True"));
    scene.put(record("c", "False"));
    assert.equal(scene.listeners.size, 1);
    end(scene);
    assert.equal((await waiting).isWorth, true);
    assert.equal(scene.listeners.size, 0);
  });
}

test("not for ever", async () => {
  const scene = world(record("a"));
  const { isWorth, ms } = await scene.wait();
  assert.equal(isWorth, false);
  assert.ok(ms >= 650, `it took ${ms} ms`);
  assert.equal(scene.listeners.size, 0);
});

test("not when the budget is spent", async () => {
  const { isWorth, ms } = await world(record("a")).wait(AbortSignal.abort());
  assert.equal(isWorth, false);
  assert.ok(ms < 650, `it took ${ms} ms`);
});
