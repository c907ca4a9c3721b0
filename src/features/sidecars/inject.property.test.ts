import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Container, Pod, Volume } from "../../api/pods.ts";
import type { SidecarContainer, SidecarSetSpec } from "../../api/sidecar-set.ts";
import { reviewedPod, sidecarRecord } from "../../testing/sidecar-records.ts";
import { inject } from "./inject.ts";
import type { SidecarSetRecord } from "./record.ts";
import { choose } from "./skip.ts";

/** Few names, so that they clash often. */
const containerName = fc.constantFrom("a", "b", "c", "d", "e");
const volumeName = fc.constantFrom("v", "w", "x");
const volume: fc.Arbitrary<Volume> = fc.record({
  name: volumeName,
  emptyDir: fc.constantFrom({}, { medium: "Memory" }),
});
const volumes = fc.uniqueArray(volume, { selector: ({ name }) => name, maxLength: 3 });
const marker = { name: "IS_INJECTED", value: "true" };

const container: fc.Arbitrary<Container> = fc.record(
  {
    name: containerName,
    image: fc.constantFrom("i:1", "i:2"),
    env: fc.subarray([marker, { name: "A", value: "1" }]),
    volumeMounts: fc.subarray(["v", "w", "x"]).map((names) => names.map((name) => ({ name, mountPath: `/${name}` }))),
    resources: fc.constantFrom({}, { limits: { cpu: "1" } }),
  },
  { requiredKeys: ["name", "image"] },
);
const sidecar: fc.Arbitrary<SidecarContainer> = fc
  .tuple(container, fc.constantFrom("BeforeAppContainer" as const, "AfterAppContainer" as const))
  .map(([one, podInjectPolicy]) => ({ ...one, podInjectPolicy }));
const lists = <T extends { readonly name: string }>(item: fc.Arbitrary<T>, minLength: number) =>
  fc.tuple(fc.uniqueArray(item, { selector: ({ name }) => name, minLength, maxLength: 4 }), fc.nat(4));

const spec: fc.Arbitrary<Partial<SidecarSetSpec>> = fc
  .tuple(lists(sidecar, 1), volumes, fc.subarray(["quay", "hub", "gcr"]))
  .map(([[all, split], own, sources]) => ({
    containers: all.slice(0, split),
    initContainers: all.slice(split),
    volumes: own,
    imagePullSecrets: sources.map((name) => ({ name, namespace: "vault" })),
  }));
const sets = fc
  .array(spec, { maxLength: 4 })
  .map((specs) => specs.map((one, index) => sidecarRecord(`set-${index}`, one)));

const pod: fc.Arbitrary<Pod> = fc
  .tuple(lists(container, 0), volumes, fc.array(fc.constantFrom("own", "vault-quay", "vault-hub"), { maxLength: 3 }))
  .map(([[all, split], own, names]) =>
    reviewedPod({
      containers: [{ name: "app", image: "app:1" }, ...all.slice(0, split)],
      initContainers: all.slice(split),
      volumes: own,
      imagePullSecrets: names.map((name) => ({ name })),
    }),
  );

const sources = ["quay", "hub", "gcr"];
const recorded = new Map(sources.map((name) => [`vault/${name}`, `vault-${name}`]));
const namesOf = ({ references }: SidecarSetRecord) => references.map(({ namespace, name }) => `${namespace}-${name}`);

/** All that a review does, but for looking things up. */
function review(before: Pod, matching: readonly SidecarSetRecord[]): Pod {
  const { chosen } = choose(before, matching, { namespace: "team-a" });
  const names = new Map(chosen.map((set) => [set.metadata.name, namesOf(set)]));
  return inject(before, { mode: "instead", sets: chosen, names, recorded });
}

type PodHook = (pod: Pod) => Pod;
const withSpec = (before: Pod, more: Pod["spec"]): Pod => ({ ...before, spec: { ...before.spec, ...more } });
const all = (before: Pod, change: (one: Container) => Container): Pod =>
  withSpec(before, {
    containers: before.spec?.containers?.map(change) ?? [],
    initContainers: before.spec?.initContainers?.map(change) ?? [],
  });

const tokenMount = {
  name: "kube-api-access-x",
  mountPath: "/var/run/secrets/kubernetes.io/serviceaccount",
  readOnly: true,
};
const tokenVolume = { name: "kube-api-access-x", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } };
const hooks: Readonly<Record<string, PodHook>> = {
  first: (before) =>
    withSpec(before, { containers: [{ name: "hook-1", image: "h" }, ...(before.spec?.containers ?? [])] }),
  last: (before) =>
    withSpec(before, { initContainers: [...(before.spec?.initContainers ?? []), { name: "hook-2", image: "h" }] }),
  volume: (before) =>
    withSpec(before, { volumes: [{ name: "hook-v", emptyDir: {} }, ...(before.spec?.volumes ?? [])] }),
  name: (before) =>
    withSpec(before, { imagePullSecrets: [{ name: "hook" }, ...(before.spec?.imagePullSecrets ?? [])] }),
  marks: (before) => ({
    ...before,
    metadata: {
      ...before.metadata,
      labels: { ...before.metadata.labels, hook: "1" },
      annotations: { ...before.metadata.annotations, hook: "1" },
    },
  }),
  token: (before) =>
    withSpec(
      all(before, (one) => ({ ...one, volumeMounts: [...(one.volumeMounts ?? []), tokenMount] })),
      { volumes: [...(before.spec?.volumes ?? []), tokenVolume] },
    ),
  limits: (before) =>
    all(before, (one) => ({ ...one, resources: { requests: { memory: "1Mi" }, ...(one.resources as object) } })),
  pull: (before) => all(before, (one) => ({ ...one, imagePullPolicy: "Always" })),
};

test("a second review changes nothing, whatever hooks in between have added", () => {
  fc.assert(
    fc.property(pod, sets, fc.shuffledSubarray(Object.keys(hooks)), (before, matching, names) => {
      const once = review(before, matching);
      assert.deepEqual(review(once, matching), once);
      const added = names.reduce((one, name) => hooks[name]?.(one) ?? one, once);
      assert.deepEqual(review(added, matching), added);
    }),
    { numRuns: 500 },
  );
});

const namesIn = (list: readonly { readonly name?: string }[] | undefined) => list?.map(({ name }) => name) ?? [];
const isWithoutDuplicates = (list: readonly unknown[]) => new Set(list).size === list.length;

test("the Pod stays valid: every name once, every mount with its volume, one marker in whatever is injected", () => {
  fc.assert(
    fc.property(pod, sets, (before, matching) => {
      const { spec: after = {} } = review(before, matching);
      const { chosen } = choose(before, matching, { namespace: "team-a" });
      assert.ok(isWithoutDuplicates([...namesIn(after.containers), ...namesIn(after.initContainers)]));
      assert.ok(isWithoutDuplicates(namesIn(after.volumes)));

      const injected = new Set(
        chosen.flatMap((set) => [...namesIn(set.spec.containers), ...namesIn(set.spec.initContainers)]),
      );
      const present = new Set(namesIn(after.volumes));
      for (const one of [...(after.containers ?? []), ...(after.initContainers ?? [])]) {
        if (!injected.has(one.name)) continue;
        assert.equal(one.env?.filter(({ name }) => name === marker.name).length, 1);
        assert.ok(one.volumeMounts?.every(({ name }) => present.has(name)) ?? true);
      }
      const own = namesIn(before.spec?.imagePullSecrets);
      assert.deepEqual(namesIn(after.imagePullSecrets).slice(0, own.length), own);
    }),
    { numRuns: 500 },
  );
});
