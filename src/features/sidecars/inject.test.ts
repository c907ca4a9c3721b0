import assert from "node:assert/strict";
import { test } from "node:test";
import type { Container, Pod, PodSpec } from "../../api/pods.ts";
import type { SidecarContainer, SidecarSetSpec } from "../../api/sidecar-set.ts";
import { reviewedPod, sidecarRecord } from "../../testing/sidecar-records.ts";
import { carries, type Injection, inject } from "./inject.ts";
import type { SidecarSetRecord } from "./record.ts";

const marker = { name: "IS_INJECTED", value: "true" };
const sidecar = (name: string, more: Partial<SidecarContainer> = {}): SidecarContainer => ({
  name,
  image: `${name}:1`,
  ...more,
});
const injected = (name: string, more: Partial<Container> = {}): Container => ({
  name,
  image: `${name}:1`,
  ...more,
  env: [...(more.env ?? []), marker],
});
const after = { podInjectPolicy: "AfterAppContainer" } as const;
const before = { podInjectPolicy: "BeforeAppContainer" } as const;
const app = { name: "app", image: "app:1" };
const mounts = (...names: string[]) => ({ volumeMounts: names.map((name) => ({ name, mountPath: `/${name}` })) });

const into = (pod: Pod, sets: readonly SidecarSetRecord[], more: Partial<Injection> = {}): Pod =>
  inject(pod, { mode: "instead", sets, names: new Map(), recorded: new Map(), ...more });

interface Case {
  readonly name: string;
  readonly pod?: PodSpec;
  readonly sets: Readonly<Record<string, Partial<SidecarSetSpec>>>;
  readonly becomes: PodSpec;
}

const cases: readonly Case[] = [
  {
    name: "before the Pod's own unless told",
    sets: { a: { containers: [sidecar("s")] } },
    becomes: { containers: [injected("s"), app] },
  },
  {
    name: "before and after, by SidecarSet and then by its order",
    sets: {
      a: { containers: [sidecar("z", before), sidecar("y", after), sidecar("x", before)] },
      b: { containers: [sidecar("d", after), sidecar("c", before), sidecar("b", after)] },
    },
    becomes: {
      containers: [injected("z"), injected("x"), injected("c"), app, injected("y"), injected("d"), injected("b")],
    },
  },
  {
    name: "initContainers of all, by name, after the Pod's own",
    pod: { initContainers: [sidecar("own")] },
    sets: {
      a: { initContainers: [sidecar("m", before), sidecar("z")] },
      b: { initContainers: [sidecar("a", { restartPolicy: "Always" }), sidecar("p")] },
    },
    becomes: {
      containers: [app],
      initContainers: [
        sidecar("own"),
        injected("a", { restartPolicy: "Always" }),
        injected("m"),
        injected("p"),
        injected("z"),
      ],
    },
  },
  {
    name: "a container of that name is replaced in its place",
    pod: {
      containers: [app, { name: "s", image: "evil:1", command: ["true"] }, sidecar("last")],
      initContainers: [sidecar("i", { tty: true }), sidecar("own")],
    },
    sets: { a: { containers: [sidecar("s"), sidecar("new")], initContainers: [sidecar("i")] } },
    becomes: {
      containers: [injected("new"), app, injected("s"), sidecar("last")],
      initContainers: [injected("i"), sidecar("own")],
    },
  },
  {
    name: "volumes that are mounted, the Pod's own under that name stays",
    pod: { volumes: [{ name: "own" }, { name: "shared", hostPath: { path: "/x" } }] },
    sets: {
      a: {
        containers: [sidecar("s", mounts("tmp", "shared"))],
        initContainers: [sidecar("i", { volumeDevices: [{ name: "disk" }] })],
        volumes: [
          { name: "unused" },
          { name: "disk" },
          { name: "shared", emptyDir: {} },
          { name: "tmp", emptyDir: {} },
        ],
      },
    },
    becomes: {
      containers: [injected("s", mounts("tmp", "shared")), app],
      initContainers: [injected("i", { volumeDevices: [{ name: "disk" }] })],
      volumes: [
        { name: "own" },
        { name: "shared", hostPath: { path: "/x" } },
        { name: "disk" },
        { name: "tmp", emptyDir: {} },
      ],
    },
  },
  {
    name: "one volume that two bring",
    sets: {
      a: { containers: [sidecar("s", mounts("tmp"))], volumes: [{ name: "tmp", emptyDir: {} }] },
      b: { containers: [sidecar("t", mounts("tmp"))], volumes: [{ name: "tmp", emptyDir: {} }] },
    },
    becomes: {
      containers: [injected("s", mounts("tmp")), injected("t", mounts("tmp")), app],
      volumes: [{ name: "tmp", emptyDir: {} }],
    },
  },
];

for (const { name, pod, sets, becomes } of cases) {
  test(`inject: ${name}`, () => {
    const records = Object.entries(sets).map(([set, spec]) => sidecarRecord(set, spec));
    const result = into(reviewedPod(pod), records);
    assert.deepEqual(result.spec, becomes);
    assert.deepEqual(into(result, records), result);
  });
}

const reference = (name: string) => ({ name, namespace: "vault" });
const quay = sidecarRecord("a", {
  containers: [sidecar("s")],
  imagePullSecrets: [reference("quay"), reference("hub")],
});
const hub = sidecarRecord("b", { containers: [sidecar("t")], imagePullSecrets: [reference("hub"), reference("gcr")] });
const names = new Map([
  ["a", ["vault-quay", "vault-hub"]],
  ["b", ["vault-hub", "vault-gcr", "gcr"]],
]);
const recorded = new Map([
  ["vault/gcr", "vault-gcr"],
  ["vault/hub", "vault-hub"],
  ["vault/quay", "vault-quay"],
]);
const namesIn = (pod: Pod) => pod.spec?.imagePullSecrets?.map(({ name }) => name);

test("names come after the Pod's own, in order, each once; copies are recorded in that order", () => {
  const pod = reviewedPod({ imagePullSecrets: [{ name: "own" }, { name: "vault-hub" }, { name: "own" }, {}] });
  const result = into(pod, [quay, hub], { names, recorded });
  assert.deepEqual(namesIn(result), ["own", "vault-hub", "own", undefined, "vault-quay", "vault-gcr", "gcr"]);
  assert.equal(
    result.metadata.annotations?.["latchkey.dev/pull-secrets"],
    "vault/quay=vault-quay,vault/hub=vault-hub,vault/gcr=vault-gcr",
  );
  assert.deepEqual(into(result, [quay, hub], { names, recorded }), result);
});

test("a SidecarSet that adds no container adds no name and is not recorded", () => {
  const empty = sidecarRecord("b", { imagePullSecrets: [reference("gcr")] });
  const result = into(reviewedPod(), [quay, empty], { names, recorded });
  assert.deepEqual(namesIn(result), ["vault-quay", "vault-hub"]);
  assert.equal(result.metadata.annotations?.["latchkey.dev/pull-secrets"], "vault/quay=vault-quay,vault/hub=vault-hub");
  assert.equal(result.metadata.annotations?.["kruise.io/sidecarset-injected-list"], "a");
});

test("without SidecarSets only forged marks go", () => {
  const forged = {
    labels: { app: "x", "latchkey.dev/injected": "true" },
    annotations: { "kruise.io/sidecarset-injected-list": "a", mine: "1" },
  };
  assert.deepEqual(
    into(reviewedPod({}, forged), []),
    reviewedPod({}, { labels: { app: "x" }, annotations: { mine: "1" } }),
  );
  assert.deepEqual(into(reviewedPod(), []), reviewedPod());
});

const limited = (cpu: string, changedAt = "2026-01-01T00:00:00Z"): SidecarSetRecord => ({
  ...sidecarRecord("a", { containers: [sidecar("s", { resources: { limits: { cpu } } })] }),
  changedAt,
});
/** As the API server's own plugins do. */
const completed = ({ metadata, spec }: Pod): Pod => ({
  metadata,
  spec: {
    ...spec,
    containers: (spec?.containers ?? []).map((each) =>
      each.name === "s"
        ? {
            ...each,
            securityContext: { privileged: true },
            resources: { limits: { cpu: "2" }, requests: { cpu: "2" } },
          }
        : each,
    ),
  },
});

test("what others added to our container stays while it is of this generation, and goes with the next", () => {
  const pod = completed(into(reviewedPod(), [limited("2")]));
  assert.deepEqual(into(pod, [limited("2")]), pod);
  for (const next of [limited("1"), limited("2", "2026-01-02T00:00:00Z")]) {
    assert.deepEqual(into(pod, [next]), into(reviewedPod(), [next]));
  }
});

test("a container that only looks like ours is replaced whole", () => {
  const { metadata, spec } = completed(into(reviewedPod(), [limited("2")]));
  const result = into({ spec: spec ?? {}, metadata: { ...metadata, annotations: {} } }, [limited("2")]);
  assert.deepEqual(result, into(reviewedPod(), [limited("2")]));
});

test("a SidecarSet that is kept stays with its marks; others come and go beside it", () => {
  const both = into(reviewedPod(), [quay, hub], { names, recorded });
  assert.deepEqual(into(both, [hub], { kept: [quay], names, recorded }).metadata.labels, both.metadata.labels);
  assert.deepEqual(into(both, [hub], { kept: [quay], names, recorded }).spec, both.spec);
  const alone = into(both, [], { kept: [quay] });
  assert.deepEqual(alone.spec, both.spec);
  assert.equal(alone.metadata.annotations?.["kruise.io/sidecarset-injected-list"], "a");
  assert.equal(alone.metadata.annotations?.["latchkey.dev/pull-secrets"], "vault/quay=vault-quay,vault/hub=vault-hub");
});

test("carries: marks and containers, or nothing", () => {
  const both = into(reviewedPod(), [quay, hub], { names, recorded });
  assert.deepEqual([carries(both, quay), carries(reviewedPod(), quay)], [true, false]);
  assert.equal(carries({ ...both, metadata: reviewedPod().metadata }, quay), false);
  assert.equal(carries({ ...both, spec: { containers: [app, sidecar("s")] } }, quay), false, "without the marker");
  assert.equal(carries(both, sidecarRecord("a", { initContainers: [sidecar("s")] })), false, "in the other list");
});

const besideRecord = (name: string, references: string) =>
  sidecarRecord(
    name,
    {},
    { mode: "beside", metadata: { annotations: { "latchkey.dev/image-pull-secrets": references } } },
  );

test("beside: names, our label and our annotation, and nothing else", () => {
  const annotations = { "kruise.io/sidecarset-injected-list": "a" };
  const pod = reviewedPod({ imagePullSecrets: [{ name: "kruise" }] }, { annotations });
  const sets = [besideRecord("a", "vault/quay,vault/hub")];
  const expected = reviewedPod(
    { imagePullSecrets: [{ name: "kruise" }, { name: "vault-quay" }, { name: "vault-hub" }] },
    {
      labels: { "latchkey.dev/injected": "true" },
      annotations: { ...annotations, "latchkey.dev/pull-secrets": "vault/quay=vault-quay,vault/hub=vault-hub" },
    },
  );
  const result = into(pod, sets, { mode: "beside", names, recorded });
  assert.deepEqual(result, expected);
  assert.deepEqual(into(result, sets, { mode: "beside", names, recorded }), expected);
});

test("beside: the copy's name in the original's own field is enough for our marks", () => {
  const pod = reviewedPod({ imagePullSecrets: [{ name: "vault-quay" }] });
  const result = into(pod, [besideRecord("a", "vault/quay")], {
    mode: "beside",
    names: new Map([["a", ["vault-quay"]]]),
    recorded,
  });
  assert.deepEqual(namesIn(result), ["vault-quay"]);
  assert.equal(result.metadata.labels?.["latchkey.dev/injected"], "true");
});

test("beside: without names our marks go", () => {
  const forged = { labels: { "latchkey.dev/injected": "true" }, annotations: { "latchkey.dev/pull-secrets": "a/b=c" } };
  const result = into(reviewedPod({}, forged), [besideRecord("a", "vault/quay")], { mode: "beside" });
  assert.deepEqual(result, reviewedPod({}, { labels: {}, annotations: {} }));
});
