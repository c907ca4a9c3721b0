import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "../../api/objects.ts";
import type { SidecarSetSpec } from "../../api/sidecar-set.ts";
import { Known } from "../../testing/known.ts";
import { type PodParts, podRecord } from "../../testing/pod-records.ts";
import { metadataOf, sidecarRecord } from "../../testing/sidecar-records.ts";
import { literalName, suffixedName } from "../../testing/sidecars.ts";
import { Verdicts } from "./accepted.ts";
import { type PodRecord, podIndexes } from "./pod-record.ts";
import type { SidecarSetRecord } from "./record.ts";
import { sourcesOf, Wants, type WantsOptions } from "./wants.ts";

const source = "vault/pull";
const literal = literalName(source);
const other = suffixedName(source);
const given = [`${source}=${literal}`];

const acceptedIn = (generation: number, status: "True" | "False" = "True") => ({
  conditions: [{ type: "Accepted", status, reason: "Valid", message: "", observedGeneration: generation }],
});

interface SetParts {
  readonly name?: string;
  readonly references?: readonly string[];
  readonly spec?: Partial<SidecarSetSpec>;
  readonly status?: object;
}

function set({ name = "logs", references = [source], spec, status = acceptedIn(1) }: SetParts = {}): SidecarSetRecord {
  const imagePullSecrets = references.map((text) => ({
    namespace: text.split("/")[0] ?? "",
    name: text.split("/")[1] ?? "",
  }));
  return sidecarRecord(name, { imagePullSecrets, ...spec }, { status });
}

const namespace = (name: string, labels = {}): KubeObject => ({ metadata: metadataOf(name, { labels }) });

/** Everything there is, and what was woken. */
function world(options: Partial<WantsOptions> & { readonly copies?: readonly string[] } = {}) {
  const pods = new Known<PodRecord>(podIndexes);
  const sets = new Known<SidecarSetRecord>({ source: sourcesOf });
  const namespaces = new Known<KubeObject>({}, [
    namespace("team-a"),
    namespace("team-b"),
    namespace("latchkey-system"),
  ]);
  const woken: string[] = [];
  const pullSecrets = {
    wake: (key: string) => void woken.push(key),
    noteWanted: (key: string, where: string) => void woken.push(`${key} used in ${where}`),
    copyIn: (_: unknown, where: string) => (options.copies?.includes(where) ? ({} as never) : undefined),
  };
  const unused = undefined as never;
  const wants = new Wants({
    ...{ mode: "instead", pods, namespaces, pullSecrets, kube: unused, podWatches: unused, verdicts: new Verdicts() },
    ...{ idleMs: 3_600_000, ownNamespace: "latchkey-system", ...options },
  });
  wants.attach(sets);
  return { pods, sets, namespaces, wants, woken };
}

interface Case {
  readonly name: string;
  readonly pod?: PodParts;
  readonly key?: string;
  readonly set?: SetParts | undefined;
  readonly namespaceLabels?: Readonly<Record<string, string>>;
  readonly mode?: "beside";
  readonly wanted: readonly string[] | undefined;
}

const cases: readonly Case[] = [
  { name: "injected and listed", wanted: [literal] },
  { name: "with the other name", pod: { given: [`${source}=${other}`] }, wanted: [other] },
  { name: "with both names", pod: { given, names: [literal, other] }, wanted: [literal, other] },
  { name: "pending", pod: { given, phase: "Pending", isReady: false }, wanted: [literal] },
  { name: "succeeded", pod: { given, phase: "Succeeded" }, wanted: undefined },
  { name: "failed", pod: { given, phase: "Failed" }, wanted: undefined },
  { name: "not given this copy", pod: { given: ["vault/else=vault-else"] }, wanted: undefined },
  { name: "an annotation without the name in its list", pod: { given, names: ["own"] }, wanted: undefined },
  { name: "the name in its list without the annotation", pod: { given: [], names: [literal] }, wanted: undefined },
  {
    name: "a name in its annotation that no copy has",
    pod: { given: [`${source}=own`], names: [literal] },
    wanted: undefined,
  },
  { name: "a name that is no candidate", pod: { given: [`${source}=own`], names: ["own"] }, wanted: undefined },
  { name: "a SidecarSet that is not in its list", pod: { given, sets: ["mesh"] }, wanted: undefined },
  { name: "a SidecarSet that does not exist", set: undefined, wanted: undefined },
  { name: "a SidecarSet that lists another source", set: { references: ["vault/else"] }, wanted: undefined },
  { name: "a SidecarSet that lists it among others", set: { references: ["vault/else", source] }, wanted: [literal] },
  { name: "a SidecarSet for other labels", pod: { given, labels: { app: "y" } }, wanted: undefined },
  { name: "a SidecarSet for another namespace", set: { spec: { namespace: "team-b" } }, wanted: undefined },
  { name: "a SidecarSet for its namespace", set: { spec: { namespace: "team-a" } }, wanted: [literal] },
  {
    name: "a SidecarSet for other namespaces",
    set: { spec: { namespaceSelector: { matchLabels: { sidecars: "on" } } } },
    wanted: undefined,
  },
  {
    name: "a SidecarSet for such namespaces",
    set: { spec: { namespaceSelector: { matchLabels: { sidecars: "on" } } } },
    namespaceLabels: { sidecars: "on" },
    wanted: [literal],
  },
  { name: "a SidecarSet that nobody judged", set: { status: {} }, wanted: undefined },
  { name: "a SidecarSet that is rejected", set: { status: acceptedIn(1, "False") }, wanted: undefined },
  { name: "a SidecarSet whose next generation waits", set: { status: acceptedIn(0) }, wanted: [literal] },
  { name: "a paused SidecarSet", set: { spec: { injectionStrategy: { paused: true } } }, wanted: [literal] },
  { name: "a namespace that opted out", namespaceLabels: { "latchkey.dev/inject": "false" }, wanted: undefined },
  { name: "our own namespace", key: "latchkey-system/web", wanted: undefined },
  { name: "a mirror Pod", pod: { given, annotations: { "kubernetes.io/config.mirror": "m" } }, wanted: undefined },
  { name: "beside the original nobody judges", set: { status: {} }, mode: "beside", wanted: [literal] },
];

for (const {
  name,
  pod = { given },
  key = "team-a/web",
  namespaceLabels = {},
  mode = "instead",
  wanted,
  ...rest
} of cases) {
  test(`wanted: ${name}`, () => {
    const { pods, sets, namespaces, wants } = world({ mode });
    const parts = "set" in rest ? rest.set : {};
    if (parts) sets.put(set(parts));
    namespaces.put(namespace("team-a", namespaceLabels));
    pods.put(podRecord(key, pod));
    const expected = wanted ? [["team-a", wanted]] : [];
    assert.deepEqual([...wants.wanted(source)], expected);
  });
}

test("wanted: in every namespace the name that most Pods can use comes first", () => {
  const { pods, sets, wants } = world();
  sets.put(set());
  const names = [[literal], [other], [other], [literal, other]];
  for (const [at, each] of names.entries()) pods.put(podRecord(`team-a/web-${at}`, { given, names: each }));
  pods.put(podRecord("team-b/web", { given }));
  assert.deepEqual(
    [...wants.wanted(source)],
    [
      ["team-a", [other, literal]],
      ["team-b", [literal]],
    ],
  );
});

test("wanted: by whichever SidecarSet", () => {
  const { pods, sets, wants } = world();
  sets.put(set({ status: acceptedIn(1, "False") }));
  sets.put(set({ name: "mesh" }));
  pods.put(podRecord("team-a/web", { given, sets: ["logs", "mesh"] }));
  assert.equal(wants.wanted(source).size, 1);
});

test("sources, lists, graceMs: what SidecarSets say", () => {
  const { sets, wants } = world();
  sets.put(set({ references: [source, "vault/else"], status: {} }));
  sets.put(set({ name: "mesh" }));
  assert.deepEqual([...wants.sources()], [source, "vault/else"]);
  assert.deepEqual(
    ["vault/else", "vault/nobody"].map((key) => wants.lists(key)),
    [true, false],
  );
  assert.deepEqual(
    ["vault/else", "vault/nobody"].map((key) => wants.graceMs(key)),
    [3_600_000, 0],
  );
});

const coinciding = "a/b-c";
const shared = literalName(coinciding);

const reservations = [
  { name: "a Pod counts on it for another source", pod: { given: [`${coinciding}=${shared}`] }, reserved: true },
  { name: "a Pod counts on it for this one", pod: { given: [`a-b/c=${shared}`] }, reserved: false },
  { name: "nobody", pod: { given: [] }, reserved: false },
  { name: "a finished Pod", pod: { given: [`${coinciding}=${shared}`], phase: "Failed" }, reserved: false },
  { name: "a forged Pod", pod: { given: [`${coinciding}=${shared}`], sets: ["mesh"] }, reserved: false },
] satisfies readonly { name: string; pod: PodParts; reserved: boolean }[];

for (const { name, pod, reserved } of reservations) {
  test(`isReserved: ${name}`, () => {
    const { pods, sets, wants } = world();
    sets.put(set({ references: [coinciding, "a-b/c"] }));
    pods.put(podRecord("team-a/web", pod));
    assert.equal(wants.isReserved({ namespace: "team-a", name: shared }, "a-b/c"), reserved);
    assert.equal(wants.isReserved({ namespace: "team-b", name: shared }, "a-b/c"), false);
  });
}

type World = ReturnType<typeof world>;
const web = (parts: PodParts = {}) => podRecord("team-a/web", { given, ...parts });

const wakes: readonly {
  readonly name: string;
  readonly copies?: readonly string[];
  readonly before?: (world: World) => void;
  readonly change: (world: World) => void;
  readonly woken: readonly string[];
}[] = [
  { name: "a Pod where there is no copy", change: ({ pods }) => pods.put(web()), woken: [source] },
  {
    name: "a Pod where there is one",
    copies: ["team-a"],
    change: ({ pods }) => pods.put(web()),
    woken: [`${source} used in team-a`],
  },
  {
    name: "a forged Pod where there is one does not make it wanted",
    copies: ["team-a"],
    change: ({ pods }) => pods.put(web({ sets: ["mesh"] })),
    woken: [source],
  },
  {
    name: "a Pod that asks for what nobody lists",
    change: ({ pods }) => pods.put(web({ given: ["x/y=x-y"] })),
    woken: [],
  },
  { name: "a finished Pod", change: ({ pods }) => pods.put(web({ phase: "Failed" })), woken: [] },
  {
    name: "a Pod gets ready",
    before: ({ pods }) => pods.put(web({ isReady: false })),
    change: ({ pods }) => pods.put(web()),
    woken: [],
  },
  {
    name: "the last Pod goes",
    before: ({ pods }) => pods.put(web()),
    change: ({ pods }) => pods.remove("team-a/web"),
    woken: [source],
  },
  {
    name: "the last Pod finishes",
    before: ({ pods }) => pods.put(web()),
    change: ({ pods }) => pods.put(web({ phase: "Failed" })),
    woken: [source],
  },
  {
    name: "one of two Pods goes",
    before: ({ pods }) => {
      pods.put(web());
      pods.put(podRecord("team-a/web-2", { given }));
    },
    change: ({ pods }) => pods.remove("team-a/web"),
    woken: [],
  },
  {
    name: "the last unfinished Pod goes",
    before: ({ pods }) => {
      pods.put(web());
      pods.put(podRecord("team-a/web-2", { given, phase: "Succeeded" }));
    },
    change: ({ pods }) => pods.remove("team-a/web"),
    woken: [source],
  },
  {
    name: "the last Pod that is for real goes, and a forged one stays",
    before: ({ pods }) => {
      pods.put(web());
      pods.put(podRecord("team-a/forged", { given, labels: {} }));
    },
    change: ({ pods }) => pods.remove("team-a/web"),
    woken: [source],
  },
  {
    name: "a Pod gets other labels",
    copies: ["team-a"],
    before: ({ pods }) => pods.put(web()),
    change: ({ pods }) => pods.put(web({ labels: { app: "y" } })),
    woken: [source],
  },
  { name: "a new SidecarSet", change: ({ sets }) => sets.put(set({ name: "mesh" })), woken: [source] },
  { name: "a SidecarSet goes", change: ({ sets }) => sets.remove("logs"), woken: [source] },
  {
    name: "a reference comes",
    change: ({ sets }) => sets.put(set({ references: [source, "vault/else"] })),
    woken: ["vault/else"],
  },
  {
    name: "a reference goes",
    change: ({ sets }) => sets.put(set({ references: ["vault/else"] })),
    woken: [source, "vault/else"],
  },
  { name: "another selector", change: ({ sets }) => sets.put(set({ spec: { namespace: "team-b" } })), woken: [source] },
  {
    name: "another image",
    change: ({ sets }) => sets.put(set({ spec: { containers: [{ name: "c", image: "i:2" }] } })),
    woken: [],
  },
  {
    name: "a namespace opts out",
    before: ({ pods }) => pods.put(web()),
    change: ({ namespaces }) => namespaces.put(namespace("team-a", { "latchkey.dev/inject": "false" })),
    woken: [source],
  },
  {
    name: "a namespace changes otherwise",
    before: ({ pods }) => pods.put(web()),
    change: ({ namespaces }) =>
      namespaces.put({ metadata: { ...namespace("team-a").metadata, annotations: { a: "b" } } }),
    woken: [],
  },
];

for (const { name, copies = [], before, change, woken } of wakes) {
  test(`wakes: ${name}`, () => {
    const all = world({ copies });
    all.sets.put(set());
    before?.(all);
    all.woken.length = 0;
    change(all);
    assert.deepEqual(all.woken, woken);
  });
}

test("a report wakes the SidecarSets that list the source, and no others", () => {
  const { sets, wants } = world();
  sets.put(set());
  sets.put(set({ name: "mesh", references: ["vault/else"] }));
  const woken: string[] = [];
  const stop = wants.begin((name) => woken.push(name));
  wants.onReport(source);
  stop();
  wants.onReport("vault/else");
  assert.deepEqual(woken, ["logs"]);
});

test("mayGo: an injected Pod that names the copy keeps it, and its end wakes the source", async () => {
  const { pods, wants, woken } = world();
  pods.put(web());
  assert.equal(await wants.mayGo({ namespace: "team-a", name: literal }, source, {}), false);
  woken.length = 0;
  pods.put(podRecord("team-a/web-2", { given }));
  pods.remove("team-a/web-2");
  assert.equal(woken.length, 0, "another one's end changes nothing");
  pods.remove("team-a/web");
  assert.deepEqual(woken, [source]);
});

test("synced: not before the SidecarSets are known", async () => {
  const wants = new Wants({
    ...{ mode: "instead", pods: new Known<PodRecord>(podIndexes), namespaces: new Known<KubeObject>() },
    ...{ pullSecrets: undefined as never, kube: undefined as never, podWatches: undefined as never },
    ...{ verdicts: new Verdicts(), idleMs: 0, ownNamespace: "latchkey-system" },
  });
  let isSynced = false;
  const synced = wants.synced().then(() => {
    isSynced = true;
  });
  await new Promise(setImmediate);
  assert.equal(isSynced, false);
  wants.attach(new Known<SidecarSetRecord>({ source: sourcesOf }));
  await synced;
});
