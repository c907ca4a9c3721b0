import assert from "node:assert/strict";
import { test } from "node:test";
import { keyOf } from "../../api/objects.ts";
import type { SecretSync } from "../../api/secret-sync.ts";
import { closedCircle, type Precedence } from "./circles.ts";

const at = (name: string) => ({ namespace: "n", name });
/** `a>b` copies n/a to n/b; the later in the list, the younger. */
const syncsOf = (arrows: readonly string[], isSameSecond: boolean): SecretSync[] =>
  arrows.map((arrow, age) => {
    const [from = "", to = ""] = arrow.split(">");
    return {
      metadata: {
        name: arrow,
        uid: arrow,
        resourceVersion: "1",
        creationTimestamp: `2026-01-01T00:00:0${isSameSecond ? 0 : age}Z`,
      },
      spec: { paused: false, strategy: { watch: {} }, src: at(from), dest: [at(to)] },
    };
  });

const cases = [
  { name: "a single one", arrows: ["a>b"], of: "a>b", whose: undefined },
  { name: "a chain", arrows: ["a>b", "b>c", "c>d"], of: "c>d", whose: undefined },
  { name: "a circle of two, the older", arrows: ["a>b", "b>a"], of: "a>b", whose: undefined },
  { name: "a circle of two, the younger", arrows: ["a>b", "b>a"], of: "b>a", whose: "a>b" },
  { name: "a circle of three, the oldest", arrows: ["a>b", "b>c", "c>a"], of: "a>b", whose: undefined },
  { name: "a circle of three, the middle", arrows: ["a>b", "b>c", "c>a"], of: "b>c", whose: undefined },
  { name: "a circle of three, the youngest", arrows: ["a>b", "b>c", "c>a"], of: "c>a", whose: "a>b" },
  {
    name: "a circle of three, the youngest holds its place and the middle does not",
    arrows: ["a>b", "b>c", "c>a"],
    holding: ["a>b", "c>a"],
    of: "b>c",
    whose: "c>a",
  },
  { name: "a circle elsewhere", arrows: ["a>b", "b>a", "a>c"], of: "a>c", whose: undefined },
  { name: "two to one place", arrows: ["a>b", "c>b"], of: "c>b", whose: undefined },
  { name: "the younger holds its place", arrows: ["a>b", "b>a"], holding: ["b>a"], of: "a>b", whose: "b>a" },
  { name: "the younger that holds its place", arrows: ["a>b", "b>a"], holding: ["b>a"], of: "b>a", whose: undefined },
  { name: "both hold, the younger", arrows: ["a>b", "b>a"], holding: ["a>b", "b>a"], of: "b>a", whose: "a>b" },
];

function precedenceOf(syncs: readonly SecretSync[], holding: readonly string[]): Precedence {
  return {
    writersTo: (place) => syncs.filter(({ spec }) => spec.dest.some((dest) => keyOf(dest) === place)),
    holds: ({ metadata, spec }, place) =>
      holding.includes(metadata.name) && spec.dest.some((dest) => keyOf(dest) === place),
    seenAs: (sync) => syncs.indexOf(sync),
  };
}

for (const { name, arrows, holding = [], of, whose } of cases) {
  for (const isSameSecond of [false, true]) {
    test(`closedCircle: ${name}${isSameSecond ? ", all of one second" : ""}`, () => {
      const syncs = syncsOf(arrows, isSameSecond);
      const sync = syncs.find(({ metadata }) => metadata.name === of)!;
      const found = closedCircle(sync, sync.spec.dest[0]!, precedenceOf(syncs, holding));
      assert.equal(found?.metadata.name, whose);
    });
  }
}

test("one that is going away closes no circle", () => {
  const [first, second] = syncsOf(["a>b", "b>a"], false);
  const leaving = { ...first!, metadata: { ...first!.metadata, deletionTimestamp: "2026-01-02T00:00:00Z" } };
  assert.equal(closedCircle(second!, at("a"), precedenceOf([leaving, second!], [])), undefined);
});
