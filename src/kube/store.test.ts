import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { KubeObject } from "../api/objects.ts";
import { Store } from "./store.ts";

function object(name: string, labels: Readonly<Record<string, string>>): KubeObject {
  return { metadata: { name, uid: name, resourceVersion: "1", creationTimestamp: "", labels } };
}

const valuesOf = ({ metadata }: KubeObject) => Object.values(metadata.labels ?? {});

test("Store: objects are found by every value of their index", () => {
  const store = new Store<KubeObject>({ label: valuesOf });
  store.put("a", object("a", { one: "x", two: "y" }));
  store.put("b", object("b", { one: "x", two: "x" }));
  assert.deepEqual(
    store.by("label", "x").map((found) => found.metadata.name),
    ["a", "b"],
  );
  assert.deepEqual(
    store.by("label", "y").map((found) => found.metadata.name),
    ["a"],
  );
  assert.deepEqual(store.by("label", "z"), []);
});

test("Store: asking for an index that does not exist is a mistake, not an empty answer", () => {
  assert.throws(() => new Store<KubeObject>().by("label", "x"), /there is no index label/);
});

test("Store: after any sequence of puts and removes the indexes say what the objects say", () => {
  const step = fc.record({
    key: fc.constantFrom("a", "b", "c", "d"),
    values: fc.option(fc.array(fc.constantFrom("x", "y", "z"), { maxLength: 3 }), { nil: undefined }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const store = new Store<KubeObject>({ label: valuesOf });
      const model = new Map<string, KubeObject>();
      for (const { key, values } of steps) {
        if (!values) {
          store.remove(key);
          model.delete(key);
          continue;
        }
        const next = object(key, Object.fromEntries(values.map((value, index) => [index, value])));
        store.put(key, next);
        model.set(key, next);
      }
      assert.deepEqual(new Set(store.keys()), new Set(model.keys()));
      for (const value of ["x", "y", "z"]) {
        const expected = [...model.values()].filter((candidate) => valuesOf(candidate).includes(value));
        assert.deepEqual(new Set(store.by("label", value)), new Set(expected));
      }
    }),
  );
});
