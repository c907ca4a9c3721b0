import assert from "node:assert/strict";
import { test } from "node:test";
import type { Metadata } from "../../api/objects.ts";
import { metadataOf, reviewedPod, sidecarRecord } from "../../testing/sidecar-records.ts";
import { suffixedName } from "../../testing/sidecars.ts";
import { bearsGeneration, bearsMarksOf, hashesOf, injectedListOf, pullSecretsOf, withMarks } from "./marks-of-pod.ts";

const container = (name: string, more: object = {}) => ({ name, image: "i", ...more });
const logs = sidecarRecord("logs", {
  containers: [container("z"), container("b")],
  initContainers: [container("a", { restartPolicy: "Always" }), container("once")],
});
const mesh = sidecarRecord("mesh", { initContainers: [container("setup")] });
const copies = [
  { source: "vault/quay", name: "vault-quay" },
  { source: "vault/hub", name: suffixedName("vault/hub") },
];

const entry = (record: typeof logs, hash: string, sidecarList: string[]) =>
  `"${record.metadata.name}":{"updateTimestamp":"2026-01-01T00:00:00Z","hash":"${hash}","sidecarSetName":"${record.metadata.name}","sidecarList":${JSON.stringify(sidecarList)},"controllerRevision":""}`;
const ofBoth = {
  "latchkey.dev/pull-secrets": `vault/quay=vault-quay,vault/hub=${suffixedName("vault/hub")}`,
  "kruise.io/sidecarset-hash": `{${entry(logs, logs.hash, ["a", "b", "z"])},${entry(mesh, mesh.hash, [])}}`,
  "kruise.io/sidecarset-hash-without-image": `{${entry(logs, logs.hashWithoutImage, ["a", "b", "z"])},${entry(mesh, mesh.hashWithoutImage, [])}}`,
  "kruise.io/sidecarset-injected-list": "logs,mesh",
};
const label = { "latchkey.dev/injected": "true" };
const forged = {
  labels: { app: "x", "latchkey.dev/injected": "true" },
  annotations: {
    mine: "1",
    "latchkey.dev/pull-secrets": "secret/secret=x",
    "kruise.io/sidecarset-hash": "forged",
    "kruise.io/sidecarset-hash-without-image": "forged",
    "kruise.io/sidecarset-injected-list": "forged",
  },
};
const originals = { ...forged.annotations, "latchkey.dev/pull-secrets": ofBoth["latchkey.dev/pull-secrets"] };
const { "latchkey.dev/pull-secrets": _ours, ...withoutOurs } = forged.annotations;
const sets = [logs, mesh];

const cases: readonly {
  name: string;
  before: Partial<Metadata>;
  marking: Parameters<typeof withMarks>[1];
  after: Partial<Metadata>;
}[] = [
  {
    name: "instead, on a bare Pod",
    before: {},
    marking: { mode: "instead", sets, copies, isInjected: true },
    after: { labels: label, annotations: ofBoth },
  },
  {
    name: "instead, over forged ones",
    before: forged,
    marking: { mode: "instead", sets, copies, isInjected: true },
    after: { labels: { app: "x", ...label }, annotations: { mine: "1", ...ofBoth } },
  },
  {
    name: "instead, without pull secrets",
    before: forged,
    marking: { mode: "instead", sets: [mesh], copies: [], isInjected: true },
    after: {
      labels: { app: "x", ...label },
      annotations: {
        mine: "1",
        "kruise.io/sidecarset-hash": `{${entry(mesh, mesh.hash, [])}}`,
        "kruise.io/sidecarset-hash-without-image": `{${entry(mesh, mesh.hashWithoutImage, [])}}`,
        "kruise.io/sidecarset-injected-list": "mesh",
      },
    },
  },
  {
    name: "instead, nothing injected",
    before: forged,
    marking: { mode: "instead", sets: [], copies: [], isInjected: false },
    after: { labels: { app: "x" }, annotations: { mine: "1" } },
  },
  {
    name: "nothing injected into a bare Pod",
    before: {},
    marking: { mode: "instead", sets: [], copies: [], isInjected: false },
    after: {},
  },
  {
    name: "beside, on a bare Pod",
    before: {},
    marking: { mode: "beside", sets, copies, isInjected: true },
    after: { labels: label, annotations: { "latchkey.dev/pull-secrets": ofBoth["latchkey.dev/pull-secrets"] } },
  },
  {
    name: "beside, the original's stay",
    before: forged,
    marking: { mode: "beside", sets, copies, isInjected: true },
    after: { labels: { app: "x", ...label }, annotations: originals },
  },
  {
    name: "beside, nothing injected",
    before: forged,
    marking: { mode: "beside", sets: [], copies: [], isInjected: false },
    after: { labels: { app: "x" }, annotations: withoutOurs },
  },
];

for (const { name, before, marking, after } of cases) {
  test(`withMarks: ${name}`, () => {
    const marked = withMarks(metadataOf("web", before), marking);
    assert.deepEqual(marked, metadataOf("web", after));
    assert.deepEqual(withMarks(marked, marking), marked);
  });
}

test("marks are read as they were written", () => {
  const pod = reviewedPod({}, { annotations: ofBoth });
  assert.deepEqual(
    [...pullSecretsOf(pod)],
    copies.map(({ source, name }) => [source, name]),
  );
  assert.deepEqual(injectedListOf(pod), ["logs", "mesh"]);
  assert.deepEqual(
    [...hashesOf(pod)],
    [
      ["logs", logs.hash],
      ["mesh", mesh.hash],
    ],
  );
});

test("a Pod without marks has none", () => {
  const pod = reviewedPod();
  assert.deepEqual([[...pullSecretsOf(pod)], injectedListOf(pod), [...hashesOf(pod)]], [[], [], []]);
});

const manyOf = (length: number, textOf: (index: number) => string): string =>
  Array.from({ length }, (_, index) => textOf(index)).join(",");

const nonsense = [
  {
    "latchkey.dev/pull-secrets": ",a/b=,=c,d,e/f=g=h,a/b=x,a=a,/b=-b,A/b=A-b,a/b=a-b-0123456789",
    "kruise.io/sidecarset-hash": "{",
    "kruise.io/sidecarset-injected-list": ", ,A,a.b,a b",
  },
  { "kruise.io/sidecarset-hash": "[1]" },
  { "kruise.io/sidecarset-hash": '{"a":1,"b":{"hash":2},"c":null,"unlisted":{"hash":"1"}}' },
  { "latchkey.dev/pull-secrets": `a/b=a-b,${"x".repeat(65_536)}` },
  { "latchkey.dev/pull-secrets": manyOf(513, (index) => `a/b${index}=a-b${index}`) },
  { "kruise.io/sidecarset-injected-list": manyOf(257, (index) => `a${index}`) },
];

for (const annotations of nonsense) {
  test(`marks that anyone may have written: ${JSON.stringify(annotations).slice(0, 80)}`, () => {
    const pod = reviewedPod({}, { annotations });
    assert.deepEqual([[...pullSecretsOf(pod)], injectedListOf(pod), [...hashesOf(pod)]], [[], [], []]);
  });
}

test("a hash that is none of ours is not kept", () => {
  const annotations = {
    "kruise.io/sidecarset-injected-list": "a,b",
    "kruise.io/sidecarset-hash": JSON.stringify({ a: { hash: "x".repeat(100_000) }, b: { hash: "1" } }),
  };
  assert.deepEqual([...hashesOf(reviewedPod({}, { annotations }))], [["b", "1"]]);
});

test("as many marks as Pods can have are read", () => {
  const annotations = {
    "latchkey.dev/pull-secrets": manyOf(512, (index) => `a/b${index}=a-b${index}`),
    "kruise.io/sidecarset-injected-list": manyOf(256, (index) => `a${index}`),
  };
  const pod = reviewedPod({}, { annotations });
  assert.deepEqual([pullSecretsOf(pod).size, injectedListOf(pod).length], [512, 256]);
});

test("equal marks are kept once", () => {
  const [one, two] = [1, 2].map(() => reviewedPod({}, { annotations: structuredClone(ofBoth) }));
  assert.ok(one && two);
  assert.equal(pullSecretsOf(one), pullSecretsOf(two));
  assert.equal(injectedListOf(one), injectedListOf(two));
  assert.equal(hashesOf(one), hashesOf(two));
});

const marked = reviewedPod({}, { labels: label, annotations: ofBoth });

test("a Pod says what it has, and of which generation", () => {
  const later = { ...logs, changedAt: "2026-01-02T00:00:00Z" };
  const other = { ...logs, hash: "other" };
  assert.deepEqual(
    [logs, later, other].map((set) => [bearsMarksOf(marked, set), bearsGeneration(marked, set)]),
    [
      [true, true],
      [true, false],
      [true, false],
    ],
  );
  assert.equal(bearsMarksOf(reviewedPod({}, { annotations: ofBoth }), logs), false);
  for (const pod of [reviewedPod(), reviewedPod({}, { annotations: { "kruise.io/sidecarset-hash": "[" } })]) {
    assert.deepEqual([bearsMarksOf(pod, logs), bearsGeneration(pod, logs)], [false, false]);
  }
});

test("marks of a SidecarSet that are kept stay as they are, beside those of others", () => {
  const listing = sidecarRecord("logs", { imagePullSecrets: [{ namespace: "vault", name: "hub" }] });
  const marking = { mode: "instead", sets: [mesh], kept: [listing], isInjected: true } as const;
  const quay = [{ source: "vault/quay", name: "vault-quay" }];
  assert.deepEqual(withMarks(marked.metadata, { ...marking, copies: quay }), marked.metadata);
  const alone = withMarks(marked.metadata, { ...marking, sets: [], copies: [] }).annotations;
  assert.equal(alone?.["latchkey.dev/pull-secrets"], `vault/hub=${suffixedName("vault/hub")}`);
  assert.equal(alone?.["kruise.io/sidecarset-injected-list"], "logs");
  assert.equal(alone?.["kruise.io/sidecarset-hash"], `{${entry(logs, logs.hash, ["a", "b", "z"])}}`);
});
