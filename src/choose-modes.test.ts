import assert from "node:assert/strict";
import { test } from "node:test";
import { chooseMode, isOutdated } from "./choose-modes.ts";
import type { FeatureEntry } from "./features/feature.ts";
import type { CrdState } from "./kube/crd-state.ts";
import type { ModeFlag } from "./runtime/modes.ts";

const entry: FeatureEntry = {
  name: "feature",
  about: "",
  kinds: [],
  hasOriginal: true,
  crds: async () => [],
  load: () => Promise.reject(new Error("is not loaded")),
};
const kindOf = (crd: CrdState, generation = 1) => ({ name: "kinds.example.com", crd, generation: String(generation) });

type Choosing = readonly [flag: ModeFlag, installs: boolean, crd: CrdState, outcome: string];

const choosing: readonly Choosing[] = [
  ["auto", false, "stand-in", "instead"],
  ["auto", false, "foreign", "beside"],
  ["auto", false, "absent", "off, waits"],
  ["auto", true, "absent", "instead"],
  ["instead", false, "absent", "off, waits"],
  ["instead", false, "foreign", "off, refused"],
  ["beside", false, "absent", "off, waits"],
  ["beside", true, "absent", "off, waits"],
  ["off", true, "absent", "off"],
];

for (const [flag, installCrds, crd, outcome] of choosing) {
  test(`chooseMode: ${flag}, ${crd}${installCrds ? ", may be installed" : ""}: ${outcome}`, () => {
    const { mode, refusals, missing } = chooseMode(entry, flag, [kindOf(crd)], { installCrds });
    const words = [mode, ...refusals.map(() => "refused"), ...missing.map(() => "waits")];
    assert.equal(words.join(", "), outcome);
  });
}

const mixed: readonly (readonly [installs: boolean, crds: readonly CrdState[], outcome: string])[] = [
  [false, ["foreign", "stand-in"], "beside: beside, instead"],
  [false, ["foreign", "absent"], "off: waits for kind1.example.com"],
  [true, ["foreign", "absent"], "beside: beside, instead"],
  [true, ["absent", "foreign"], "beside: instead, beside"],
  [true, ["absent", "absent"], "instead: instead, instead"],
];

for (const [installCrds, states, outcome] of mixed) {
  test(`chooseMode: ${states.join(" and ")}${installCrds ? ", may be installed" : ""}: ${outcome}`, () => {
    const kinds = states.map((crd, index) => ({ ...kindOf(crd), name: `kind${index}.example.com` }));
    const { mode, modes, missing } = chooseMode(entry, "auto", kinds, { installCrds });
    assert.equal(`${mode}: ${missing.length > 0 ? `waits for ${missing.join()}` : modes.join(", ")}`, outcome);
  });
}

type Seen = readonly [crd: CrdState, generation?: number];

interface Case {
  readonly name: string;
  readonly flag?: ModeFlag;
  readonly before: Seen;
  readonly now: Seen;
  readonly installs?: boolean;
  readonly isOutdated: boolean;
}

const cases: readonly Case[] = [
  { name: "nothing changed", before: ["stand-in"], now: ["stand-in"], isOutdated: false },
  { name: "ours became the original's", before: ["stand-in"], now: ["foreign"], isOutdated: true },
  { name: "the original's became ours", before: ["foreign"], now: ["stand-in"], isOutdated: true },
  { name: "ours was changed", before: ["stand-in", 1], now: ["stand-in", 2], isOutdated: false },
  { name: "the original's was changed", before: ["foreign", 1], now: ["foreign", 2], isOutdated: true },
  { name: "the original's is as it was", before: ["foreign", 1], now: ["foreign", 1], isOutdated: false },
  { name: "the original's has come", flag: "beside", before: ["absent"], now: ["foreign"], isOutdated: true },
  { name: "the original's is gone", before: ["foreign"], now: ["absent"], isOutdated: false },
  {
    name: "the original's is gone, ours may be installed",
    before: ["foreign"],
    now: ["absent"],
    installs: true,
    isOutdated: true,
  },
  { name: "ours is gone", before: ["stand-in"], now: ["absent"], isOutdated: false },
  { name: "ours is gone, may be installed", before: ["stand-in"], now: ["absent"], installs: true, isOutdated: true },
  { name: "ours was installed and is gone", before: ["absent"], now: ["absent"], installs: true, isOutdated: true },
  { name: "ours was installed", before: ["absent"], now: ["stand-in"], installs: true, isOutdated: false },
  { name: "somebody installed ours", before: ["absent"], now: ["stand-in"], isOutdated: true },
  { name: "it is still not there", before: ["absent"], now: ["absent"], isOutdated: false },
  { name: "refused now", flag: "instead", before: ["stand-in"], now: ["foreign"], isOutdated: true },
  { name: "still refused", flag: "instead", before: ["foreign", 1], now: ["foreign", 2], isOutdated: false },
  { name: "refused no more", flag: "instead", before: ["foreign"], now: ["stand-in"], isOutdated: true },
  { name: "off", flag: "off", before: ["foreign"], now: ["absent"], isOutdated: false },
];

for (const { name, flag = "auto", before, now, installs = false, isOutdated: expected } of cases) {
  test(`isOutdated: ${name}: ${expected}`, () => {
    const [was, is] = [before, now].map((seen) =>
      chooseMode(entry, flag, [kindOf(...seen)], { installCrds: installs }),
    );
    assert.ok(was && is);
    assert.equal(isOutdated(was, is), expected);
  });
}
