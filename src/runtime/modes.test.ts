import assert from "node:assert/strict";
import { test } from "node:test";
import type { CrdState } from "../kube/crd-state.ts";
import { decideFeatureMode, decideMode, type ModeFlag } from "./modes.ts";

type Row = readonly [flag: ModeFlag, crd: CrdState, withOriginal: string, ofOurOwn: string];

const rows: readonly Row[] = [
  ["auto", "absent", "instead", "instead"],
  ["auto", "stand-in", "instead", "instead"],
  ["auto", "foreign", "beside", "refuse"],
  ["instead", "absent", "instead", "instead"],
  ["instead", "stand-in", "instead", "instead"],
  ["instead", "foreign", "refuse", "refuse"],
  ["beside", "absent", "beside", "refuse"],
  ["beside", "stand-in", "beside", "refuse"],
  ["beside", "foreign", "beside", "refuse"],
  ["off", "absent", "off", "off"],
  ["off", "stand-in", "off", "off"],
  ["off", "foreign", "off", "off"],
];

for (const [flag, crd, withOriginal, ofOurOwn] of rows) {
  for (const hasOriginal of [true, false]) {
    const expected = hasOriginal ? withOriginal : ofOurOwn;
    const whose = hasOriginal ? "a kind with an original" : "a kind of our own";
    test(`decideMode: ${flag} with a CRD that is ${crd}, ${whose}: ${expected}`, () => {
      const decision = decideMode(flag, { name: "feature", hasOriginal }, { name: "kinds.example.com", crd });
      assert.equal("mode" in decision ? decision.mode : "refuse", expected);
      if ("refuse" in decision) assert.match(decision.refuse, /--feature=.*kinds\.example\.com/);
    });
  }
}

const features = [
  {
    name: "all kinds ours",
    crds: ["stand-in", "absent"],
    hasOriginal: true,
    expected: { mode: "instead", modes: ["instead", "instead"] },
  },
  {
    name: "one kind the original's",
    crds: ["stand-in", "foreign"],
    hasOriginal: true,
    expected: { mode: "beside", modes: ["instead", "beside"] },
  },
] as const;

for (const { name, crds, hasOriginal, expected } of features) {
  test(`decideFeatureMode: ${name}: ${expected.mode}`, () => {
    const kinds = crds.map((crd, index) => ({ name: `kind${index}.example.com`, crd }));
    assert.deepEqual(decideFeatureMode("auto", { name: "feature", hasOriginal }, kinds), expected);
  });
}

test("decideFeatureMode: every kind that is in the way is named", () => {
  const kinds = [
    { name: "a.example.com", crd: "foreign" },
    { name: "b.example.com", crd: "stand-in" },
    { name: "c.example.com", crd: "foreign" },
  ] as const;
  const decision = decideFeatureMode("auto", { name: "feature", hasOriginal: false }, kinds);
  assert.ok("refusals" in decision);
  assert.deepEqual(
    decision.refusals.map((refusal) => /[abc]\.example\.com/u.exec(refusal)?.[0]),
    ["a.example.com", "c.example.com"],
  );
});
