import assert from "node:assert/strict";
import { test } from "node:test";
import { type KubeObject, keyOf } from "../../api/objects.ts";
import { comparedOf, planRights } from "./reference-check.ts";

const mark = (name: string) => `latchkey.dev/${name}`;

interface Given {
  readonly spec?: object;
  readonly status?: object;
  readonly project?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

function object({ spec, status, project, annotations = {} }: Given): KubeObject {
  const marks = Object.fromEntries(Object.entries(annotations).map(([name, value]) => [mark(name), value]));
  const labels = project === undefined ? {} : { "project-id": project };
  const metadata = { name: "c1", uid: "u", resourceVersion: "1", creationTimestamp: "", labels, annotations: marks };
  return { metadata, ...(spec && { spec }), ...(status && { status }) } as KubeObject;
}

const refs = (...keys: readonly string[]) => ({
  imagePullSecrets: keys.map((key) => ({ namespace: key.split("/")[0], name: key.split("/")[1] })),
});
const kubeconfig = (namespace: string, name?: string) => ({
  kubeconfigSecretRef: { namespace, ...(name && { name }) },
});
const listed = (value: string) => ({ annotations: { "image-pull-secrets": value } });

interface Case {
  readonly name: string;
  readonly before?: Given;
  readonly after: Given;
  /** What the writer must be able to read. */
  readonly reads?: readonly string[];
  /** Where the kubeconfig is looked for. */
  readonly looks?: readonly string[];
  readonly isHome?: boolean;
}

const found = ["cluster-c1/internal-admin-kubeconfig", "cluster-c1/admin-kubeconfig", "capi/c1-kubeconfig"];
const served = { spec: { ...refs("a/x", "a/y"), ...kubeconfig("fleet") } };

const standIns: readonly Case[] = [
  {
    name: "a new one: all references and its kubeconfig",
    after: served,
    reads: ["a/x", "a/y"],
    looks: ["fleet/c1-kubeconfig"],
  },
  { name: "a kubeconfig by name", after: { spec: kubeconfig("fleet", "other") }, looks: ["fleet/other"] },
  { name: "a new one without a kubeconfig: all places", after: {}, looks: found },
  { name: "a new one that is the home", after: { spec: { home: true, ...refs("a/x") } }, reads: ["a/x"], isHome: true },
  { name: "nothing new", before: served, after: served },
  { name: "another order", before: served, after: { spec: { ...refs("a/y", "a/x"), ...kubeconfig("fleet") } } },
  { name: "one reference less", before: served, after: { spec: { ...refs("a/y"), ...kubeconfig("fleet") } } },
  {
    name: "one reference more: that one",
    before: served,
    after: { spec: { ...refs("a/x", "a/y", "b/x"), ...kubeconfig("fleet") } },
    reads: ["b/x"],
  },
  {
    name: "another kubeconfig: everything again",
    before: served,
    after: { spec: { ...refs("a/x", "a/y"), ...kubeconfig("other") } },
    ...{ reads: ["a/x", "a/y"], looks: ["other/c1-kubeconfig"] },
  },
  {
    name: "no kubeconfig any more: everything again",
    before: served,
    after: { spec: refs("a/x", "a/y") },
    ...{ reads: ["a/x", "a/y"], looks: found },
  },
  {
    name: "another key of the kubeconfig: everything again",
    before: served,
    after: { spec: { ...refs("a/x", "a/y"), kubeconfigSecretRef: { namespace: "fleet", key: "k" } } },
    ...{ reads: ["a/x", "a/y"], looks: ["fleet/c1-kubeconfig"] },
  },
  {
    name: "the home from now on: everything again",
    before: { spec: refs("a/x") },
    after: { spec: { home: true, ...refs("a/x") } },
    ...{ reads: ["a/x"], isHome: true },
  },
  {
    name: "the home no longer: everything again",
    before: { spec: { home: true, ...refs("a/x") } },
    after: { spec: { home: false, ...refs("a/x") } },
    ...{ reads: ["a/x"], looks: found },
  },
  {
    name: "still the home",
    before: { spec: { home: true } },
    after: { spec: { home: true, ...refs("a/x") } },
    reads: ["a/x"],
  },
  {
    name: "another project: everything again",
    before: { ...served, project: "p1" },
    after: { ...served, project: "p2" },
    ...{ reads: ["a/x", "a/y"], looks: ["fleet/c1-kubeconfig"] },
  },
  {
    name: "a project at last: everything again",
    before: served,
    after: { ...served, project: "p1" },
    ...{ reads: ["a/x", "a/y"], looks: ["fleet/c1-kubeconfig"] },
  },
  {
    name: "references by annotation: they count once the original is there",
    before: served,
    after: { ...served, ...listed("a/x,b/z") },
    reads: ["b/z"],
  },
  { name: "an annotation less", before: { ...served, ...listed("b/z") }, after: { ...served, ...listed("") } },
  {
    name: "a kubeconfig by annotation: everything again",
    before: served,
    after: { ...served, annotations: { "kubeconfig-secret": "elsewhere" } },
    ...{ reads: ["a/x", "a/y"], looks: ["fleet/c1-kubeconfig", "elsewhere/c1-kubeconfig"] },
  },
  { name: "pausing", before: served, after: { spec: { ...served.spec, pause: true } } },
];

const originals: readonly Case[] = [
  { name: "a new one without annotations: nothing", after: { spec: {} } },
  { name: "a new one with references", after: listed("a/x"), reads: ["a/x"] },
  { name: "one reference more", before: listed("a/x"), after: listed("a/x,a/y"), reads: ["a/y"] },
  { name: "one reference less", before: listed("a/x,a/y"), after: listed("a/y") },
  { name: "what cannot be read names nothing", after: listed("x") },
  {
    name: "its kubeconfig by annotation: everything again",
    before: listed("a/x"),
    after: { annotations: { "image-pull-secrets": "a/x", "kubeconfig-secret": "fleet/k" } },
    ...{ reads: ["a/x"], looks: ["fleet/k"] },
  },
  {
    name: "where Kubermatic keeps it is Kubermatic's business",
    before: listed("a/x"),
    after: { ...listed("a/x"), status: { namespaceName: "cluster-c1" } },
  },
  {
    name: "another project: references again",
    before: { ...listed("a/x"), project: "p1" },
    after: { ...listed("a/x"), project: "p2" },
    reads: ["a/x"],
  },
  { name: "fields of a later schema", after: { spec: refs("a/x") }, reads: ["a/x"] },
  {
    name: "a kubeconfig by a field of a later schema",
    before: listed("a/x"),
    after: { ...listed("a/x"), spec: kubeconfig("fleet") },
    ...{ reads: ["a/x"], looks: ["fleet/c1-kubeconfig"] },
  },
  { name: "our field for the home is none of Kubermatic's", after: { spec: { home: true } } },
];

for (const [mode, cases] of [
  ["instead", standIns],
  ["beside", originals],
] as const) {
  for (const { name, before, after, reads = [], looks = [], isHome = false } of cases) {
    test(`rights of the writer, ${mode}: ${name}`, () => {
      const [now, then] = [after, before].map((given) => given && comparedOf(object(given), mode));
      assert.ok(now);
      const plan = planRights(now, then, { mode, clusterApiNamespaces: ["capi"] });
      assert.deepEqual(
        { reads: plan.references.map(keyOf), looks: plan.searches.flat(2).map(keyOf), isHome: plan.isHome },
        { reads, looks, isHome },
      );
    });
  }
}
