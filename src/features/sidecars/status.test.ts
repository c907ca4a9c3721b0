import assert from "node:assert/strict";
import { test } from "node:test";
import type { SidecarSetStatus } from "../../api/sidecar-set.ts";
import { sidecarRecord } from "../../testing/sidecar-records.ts";
import type { Findings } from "./conditions.ts";
import type { Verdict } from "./judge.ts";
import type { Reason } from "./problems.ts";
import type { Standing } from "./standing.ts";
import { besideStatusOf, differenceOf, statusOf, withVerdict } from "./status.ts";

const accepted: Verdict = { accepted: true };
const counters = { matchedPods: 12, updatedPods: 7, readyPods: 11, updatedReadyPods: 6 };
const findings = (standings: readonly Standing[], verdict: Verdict = accepted): Findings => ({
  ...{ verdict, counters, namespaces: 3, standings },
});

/** Beside the original nobody judges. */
const unjudged = (standings: readonly Standing[]): Findings => ({ counters, namespaces: 3, standings });

const standing = (name: string, parts: Partial<Standing> = {}): Standing => ({
  reference: { namespace: "ns1", name, written: "ns1", mayBeLocal: false },
  copyName: `ns1-${name}`,
  state: "Copied",
  copies: 3,
  suffixed: 0,
  problems: [],
  notes: [],
  ...parts,
});
const bad = (name: string, state: Standing["state"] & Reason): Standing =>
  standing(name, { state, copies: 0, problems: [{ reason: state, message: `${name} is ${state}` }] });
const local = standing("here", { state: "Local", copies: 0, notes: ["here is Local"] });

const record = sidecarRecord("logs", {}, { metadata: { generation: 4 } });
const paused = sidecarRecord("logs", { injectionStrategy: { paused: true } });
const said = ({ conditions = [] }: SidecarSetStatus, wanted: string) => {
  const condition = conditions.find(({ type }) => type === wanted);
  return condition && [condition.status, condition.reason, condition.message];
};

test("statusOf: everything it tells", () => {
  const status = statusOf(record, findings([standing("secret1"), bad("secret2", "SourceMissing"), local]));
  const { conditions = [], ...rest } = status;
  assert.deepEqual(rest, {
    observedGeneration: 4,
    specChangedAt: record.changedAt,
    ...counters,
    pullSecrets: "2/3",
    imagePullSecrets: [
      { namespace: "ns1", name: "secret1", copyName: "ns1-secret1", state: "Copied", copies: 3, suffixed: 0 },
      { namespace: "ns1", name: "secret2", copyName: "ns1-secret2", state: "SourceMissing", copies: 0, suffixed: 0 },
      { namespace: "ns1", name: "here", copyName: "ns1-here", state: "Local", copies: 0, suffixed: 0 },
    ],
  });
  assert.deepEqual(
    conditions.map(({ type, observedGeneration }) => [type, observedGeneration]),
    [
      ["Ready", 4],
      ["Accepted", 4],
      ["PullSecretsReady", 4],
      ["Updated", 4],
    ],
  );
});

test("statusOf: a reference is told as it was written", () => {
  const reference = { namespace: "default", name: "secret1", written: "", mayBeLocal: true };
  const { imagePullSecrets } = statusOf(record, findings([standing("secret1", { reference })]));
  assert.equal(imagePullSecrets?.[0]?.namespace, "");
});

test("statusOf: nothing is upgraded in place", () => {
  const [status, reason] = said(statusOf(record, findings([])), "Updated") ?? [];
  assert.deepEqual([status, reason], ["Unknown", "NotAvailable"]);
});

const invalid: Verdict = {
  accepted: false,
  reason: "InvalidContainers",
  message: "spec.containers[0].image: Required",
};
const conflict: Verdict = {
  accepted: false,
  reason: "NameConflict",
  message: "container sidecar1 is also injected by SidecarSet logs",
};

const verdicts = [
  { name: "accepted", verdict: accepted, wanted: ["True", "Valid", "the API server accepts its containers"] },
  { name: "invalid", verdict: invalid, wanted: ["False", "InvalidContainers", invalid.message] },
  { name: "in conflict", verdict: conflict, wanted: ["False", "NameConflict", conflict.message] },
] as const;

for (const { name, verdict, wanted } of verdicts) {
  test(`Accepted: ${name}`, () => assert.deepEqual(said(statusOf(record, findings([], verdict)), "Accepted"), wanted));
}

const suffixed = standing("secret1", { suffixed: 1, notes: ["1 namespace uses ns1-secret1-0123456789"] });

const pullSecrets = [
  { name: "none", standings: [], wanted: ["True", "NoReferences", "no Secret is listed"] },
  { name: "one copied", standings: [standing("secret1")], wanted: ["True", "AllCopied", "3 copies of 1 Secret"] },
  {
    name: "copied and unused",
    standings: [standing("secret1", { copies: 1 }), standing("secret2", { state: "Unused", copies: 0 })],
    wanted: ["True", "AllCopied", "1 copy of 2 Secrets"],
  },
  {
    name: "other names are counted",
    standings: [suffixed],
    wanted: ["True", "AllCopied", "3 copies of 1 Secret; 1 namespace uses ns1-secret1-0123456789"],
  },
  { name: "local", standings: [standing("secret1"), local], wanted: ["Unknown", "Local", "here is Local"] },
  {
    name: "local and bad",
    standings: [local, bad("secret1", "CopyRefused")],
    wanted: ["False", "CopyRefused", "secret1 is CopyRefused; here is Local"],
  },
  ...(
    ["SourceMissing", "SourceTypeRejected", "SourceIsACopy", "SourceVetoed", "Collision", "CopyRefused"] as const
  ).map((state) => ({
    name: state,
    standings: [standing("secret2"), bad("secret1", state)],
    wanted: ["False", state, `secret1 is ${state}`],
  })),
];

for (const { name, standings, wanted } of pullSecrets) {
  test(`PullSecretsReady: ${name}`, () =>
    assert.deepEqual(said(statusOf(record, findings(standings)), "PullSecretsReady"), wanted));
}

const ready = [
  {
    name: "in order",
    standings: [standing("secret1")],
    wanted: ["True", "Injecting", "12 Pods in 3 namespaces, 3 copies"],
  },
  { name: "without references", standings: [], wanted: ["True", "Injecting", "12 Pods in 3 namespaces, 0 copies"] },
  {
    name: "local counts as in order",
    standings: [local],
    wanted: ["True", "Injecting", "12 Pods in 3 namespaces, 0 copies"],
  },
  {
    name: "all problems, the gravest first",
    standings: [
      ...(["CopyRefused", "Collision", "SourceMissing", "SourceVetoed", "SourceIsACopy"] as const).map((state) =>
        bad("s", state),
      ),
      bad("s", "SourceTypeRejected"),
    ],
    verdict: conflict,
    wanted: [
      "False",
      "NameConflict",
      [
        conflict.message,
        ...["SourceTypeRejected", "SourceIsACopy", "SourceVetoed", "SourceMissing", "Collision", "CopyRefused"].map(
          (state) => `s is ${state}`,
        ),
      ].join("; "),
    ],
  },
  { name: "not accepted", standings: [], verdict: invalid, wanted: ["False", "InvalidContainers", invalid.message] },
  { name: "paused", standings: [], set: paused, wanted: ["False", "Paused", "injection is paused"] },
  {
    name: "paused, and something is wrong",
    standings: [bad("s", "SourceMissing")],
    set: paused,
    wanted: ["False", "Paused", "injection is paused; s is SourceMissing"],
  },
] satisfies readonly { standings: readonly Standing[]; verdict?: Verdict; [key: string]: unknown }[];

for (const { name, standings, verdict, set = record, wanted } of ready) {
  test(`Ready: ${name}`, () => assert.deepEqual(said(statusOf(set, findings(standings, verdict)), "Ready"), wanted));
}

test("Ready: one of each", () => {
  const one = { verdict: accepted, counters: { ...counters, matchedPods: 1 }, namespaces: 1 };
  const status = statusOf(record, { ...one, standings: [standing("secret1", { copies: 1 })] });
  assert.equal(said(status, "Ready")?.[2], "1 Pod in 1 namespace, 1 copy");
});

test("messages stay within what the API server takes", () => {
  const verbose: Verdict = { accepted: false, reason: "InvalidContainers", message: "x".repeat(50_000) };
  for (const { message } of statusOf(record, findings([], verbose)).conditions ?? [])
    assert.ok(message.length <= 32_768);
});

const beside = (annotation: string, field: readonly object[] = []) =>
  sidecarRecord(
    "logs",
    { imagePullSecrets: field as [] },
    { mode: "beside", metadata: { annotations: { "latchkey.dev/image-pull-secrets": annotation } } },
  );

test("besideStatusOf: no word about what the original judges and counts", () => {
  const status = besideStatusOf(beside("ns1/secret1"), unjudged([standing("secret1")]));
  assert.deepEqual(Object.keys(status).sort(), ["conditions", "imagePullSecrets", "observedGeneration", "pullSecrets"]);
  assert.deepEqual(
    status.conditions?.map(({ type }) => type),
    ["Ready", "PullSecretsReady"],
  );
  assert.equal(said(status, "Ready")?.[1], "Injecting");
});

test("besideStatusOf: an annotation that nobody can read", () => {
  const status = besideStatusOf(beside("ns1/secret1,,"), unjudged([]));
  for (const type of ["Ready", "PullSecretsReady"]) {
    const [holds, reason, message] = said(status, type) ?? [];
    assert.deepEqual([holds, reason], ["False", "InvalidReferences"]);
    assert.match(message ?? "", /^latchkey\.dev\/image-pull-secrets: /);
  }
});

test("besideStatusOf: an annotation that the field wins over", () => {
  const set = beside("ns1/secret1", [{ namespace: "ns2", name: "secret2" }]);
  const [holds, , message] = said(besideStatusOf(set, unjudged([standing("secret2")])), "PullSecretsReady") ?? [];
  assert.equal(holds, "True");
  assert.match(message ?? "", /latchkey\.dev\/image-pull-secrets is ignored/);
});

test("withVerdict: all the rest stays as it was told", () => {
  const before = statusOf(sidecarRecord("logs"), findings([standing("secret1")]));
  const next = sidecarRecord("logs", {}, { metadata: { generation: 2 }, status: before });
  const { conditions = [], ...rest } = withVerdict(next, conflict);
  const { conditions: old = [], ...others } = before;
  assert.deepEqual(rest, others);
  assert.deepEqual(
    conditions.map(({ type, reason, observedGeneration }) => [type, reason, observedGeneration]),
    old.map(({ type, reason }) => (type === "Accepted" ? [type, "NameConflict", 2] : [type, reason, 1])),
  );
});

test("withVerdict: of one that was told nothing yet", () => {
  const { conditions = [], ...rest } = withVerdict(sidecarRecord("logs"), accepted);
  assert.deepEqual([rest, conditions.map(({ type, status }) => [type, status])], [{}, [["Accepted", "True"]]]);
});

const now = statusOf(record, findings([standing("secret1")]));
const stamped = (status: SidecarSetStatus): SidecarSetStatus => ({
  ...status,
  conditions: status.conditions?.map((each) => ({ ...each, lastTransitionTime: "2026-01-01T00:00:00Z" })) ?? [],
});
const later = (change: Partial<Findings>) => statusOf(record, { ...findings([standing("secret1")]), ...change });

const differences = [
  { name: "the same", before: stamped(now), after: now, difference: "none" },
  { name: "nothing before", before: undefined, after: now, difference: "situation" },
  { name: "an empty one before", before: {}, after: now, difference: "situation" },
  {
    name: "another count of Pods",
    before: stamped(now),
    after: later({ counters: { ...counters, matchedPods: 13 } }),
    difference: "numbers",
  },
  {
    name: "another count of copies",
    before: stamped(now),
    after: later({ standings: [standing("secret1", { copies: 4 })] }),
    difference: "numbers",
  },
  {
    name: "a problem",
    before: stamped(now),
    after: later({ standings: [bad("secret1", "Collision")] }),
    difference: "situation",
  },
  {
    name: "another state that is in order too",
    before: stamped(now),
    after: later({ standings: [standing("secret1", { state: "Unused" })] }),
    difference: "situation",
  },
  { name: "another verdict", before: stamped(now), after: later({ verdict: conflict }), difference: "situation" },
  {
    name: "another generation",
    before: stamped(now),
    after: statusOf(sidecarRecord("logs", {}, { metadata: { generation: 5 } }), findings([standing("secret1")])),
    difference: "situation",
  },
] as const;

for (const { name, before, after, difference } of differences) {
  test(`differenceOf: ${name}`, () => assert.equal(differenceOf(before, after), difference));
}
