import assert from "node:assert/strict";
import { test } from "node:test";
import type { NamespacedRef, Secret } from "../../api/objects.ts";
import { secret } from "../../testing/objects.ts";
import { hitIn, searchFor } from "./kubeconfig-search.ts";
import { type KubeconfigRef, recordOf } from "./record.ts";

const label = { "cluster.x-k8s.io/cluster-name": "c1" };

interface Case {
  readonly name: string;
  readonly ref?: KubeconfigRef;
  readonly namespaceName?: string;
  readonly clusterApiNamespaces?: readonly string[];
  readonly there: readonly ReturnType<typeof secret>[];
  /** The text that counts, or the kind and words of what is said instead. */
  readonly finds: string | readonly [kind: "missing" | "ambiguous", words: RegExp];
}

const cases: readonly Case[] = [
  {
    name: "the name defaults to that of the Cluster",
    ref: { namespace: "fleet" },
    there: [secret("fleet/c1-kubeconfig", { kubeconfig: "hit" }), secret("fleet/kubeconfig", { kubeconfig: "no" })],
    finds: "hit",
  },
  {
    name: "of the usual keys `kubeconfig` comes first",
    ref: { namespace: "fleet", name: "k" },
    there: [secret("fleet/k", { value: "no", kubeconfig: "hit" })],
    finds: "hit",
  },
  {
    name: "then comes `value`",
    ref: { namespace: "fleet", name: "k" },
    there: [secret("fleet/k", { value: "hit", config: "no" })],
    finds: "hit",
  },
  {
    name: "an explicit key alone counts",
    ref: { namespace: "fleet", name: "k", key: "admin.conf" },
    there: [secret("fleet/k", { kubeconfig: "no", "admin.conf": "hit" })],
    finds: "hit",
  },
  {
    name: "an explicit key that is not there is not replaced by a usual one",
    ref: { namespace: "fleet", name: "k", key: "admin.conf" },
    there: [secret("fleet/k", { kubeconfig: "no" })],
    finds: ["missing", /^no kubeconfig in Secret fleet\/k \(key admin\.conf\)$/],
  },
  {
    name: "a key of another name is none",
    ref: { namespace: "fleet", name: "k" },
    there: [secret("fleet/k", { config: "no" })],
    finds: ["missing", /^no kubeconfig in Secret fleet\/k \(key kubeconfig or value\)$/],
  },
  {
    name: "an explicit reference that leads nowhere is not replaced by Kubermatic's Secrets",
    ref: { namespace: "fleet" },
    there: [secret("cluster-c1/admin-kubeconfig", { kubeconfig: "no" })],
    finds: ["missing", /Secret fleet\/c1-kubeconfig/],
  },
  {
    name: "Kubermatic's internal one comes first",
    there: [
      secret("cluster-c1/admin-kubeconfig", { kubeconfig: "no" }),
      secret("cluster-c1/internal-admin-kubeconfig", { kubeconfig: "hit" }),
    ],
    finds: "hit",
  },
  {
    name: "Kubermatic's other one if the internal one has another key",
    there: [
      secret("cluster-c1/admin-kubeconfig", { kubeconfig: "hit" }),
      secret("cluster-c1/internal-admin-kubeconfig", { value: "no" }),
    ],
    finds: "hit",
  },
  {
    name: "Kubermatic says in which namespace",
    namespaceName: "cluster-xyz",
    there: [
      secret("cluster-c1/admin-kubeconfig", { kubeconfig: "no" }),
      secret("cluster-xyz/admin-kubeconfig", { kubeconfig: "hit" }),
    ],
    finds: "hit",
  },
  {
    name: "Cluster API's, by its label",
    clusterApiNamespaces: ["capi"],
    there: [secret("capi/c1-kubeconfig", { value: "hit" }, { labels: label })],
    finds: "hit",
  },
  {
    name: "Kubermatic's comes before Cluster API's",
    clusterApiNamespaces: ["capi"],
    there: [
      secret("capi/c1-kubeconfig", { value: "no" }, { labels: label }),
      secret("cluster-c1/admin-kubeconfig", { kubeconfig: "hit" }),
    ],
    finds: "hit",
  },
  {
    name: "Cluster API's without the label is none",
    clusterApiNamespaces: ["capi"],
    there: [secret("capi/c1-kubeconfig", { value: "no" })],
    finds: ["missing", /Secret capi\/c1-kubeconfig \(key value\)/],
  },
  {
    name: "Cluster API's with the label of another cluster is none",
    clusterApiNamespaces: ["capi"],
    there: [
      secret("capi/c1-kubeconfig", { value: "no" }, { labels: { ...label, "cluster.x-k8s.io/cluster-name": "c2" } }),
    ],
    finds: ["missing", /Secret capi\/c1-kubeconfig/],
  },
  {
    name: "Cluster API's with another key is none",
    clusterApiNamespaces: ["capi"],
    there: [secret("capi/c1-kubeconfig", { kubeconfig: "no" }, { labels: label })],
    finds: ["missing", /Secret capi\/c1-kubeconfig/],
  },
  {
    name: "Cluster API's in a namespace that is not listed is none",
    there: [secret("capi/c1-kubeconfig", { value: "no" }, { labels: label })],
    finds: [
      "missing",
      /^no kubeconfig in Secret cluster-c1\/internal-admin.*, Secret cluster-c1\/admin-kubeconfig [^,]*$/,
    ],
  },
  {
    name: "two of Cluster API's cannot be told apart, and both are named",
    clusterApiNamespaces: ["capi", "other", "third"],
    there: [
      secret("capi/c1-kubeconfig", { value: "no" }, { labels: label }),
      secret("third/c1-kubeconfig", { value: "no" }, { labels: label }),
    ],
    finds: ["ambiguous", /^there is more than one: Secret capi\/c1-kubeconfig .*, Secret third\/c1-kubeconfig [^,]*$/],
  },
  {
    name: "of two of Cluster API's one without the label does not count",
    clusterApiNamespaces: ["capi", "other"],
    there: [
      secret("capi/c1-kubeconfig", { value: "hit" }, { labels: label }),
      secret("other/c1-kubeconfig", { value: "no" }),
    ],
    finds: "hit",
  },
];

const keyOf = ({ namespace, name }: NamespacedRef): string => `${namespace}/${name}`;

for (const { name, ref, namespaceName, clusterApiNamespaces = [], there, finds } of cases) {
  test(`kubeconfig: ${name}`, () => {
    const record = recordOf({ metadata: { name: "c1" } } as never, "instead");
    const search = searchFor(
      {
        ...record,
        wish: { ...record.wish, kubeconfig: ref },
        ...(namespaceName && { status: { namespaceName } as never }),
      },
      clusterApiNamespaces,
    );
    const known = new Map(there.map((each) => [keyOf(each.metadata as NamespacedRef), each as Secret]));
    const hit = hitIn(search, known);
    if (hit.kind === "found") return assert.equal(hit.text, finds);
    assert.equal(hit.kind, finds[0]);
    assert.match(hit.message, finds[1] as RegExp);
  });
}

test("kubeconfig: only Secrets in the namespaces named are ever looked at", () => {
  const record = recordOf({ metadata: { name: "c1" } } as never, "instead");
  const places = searchFor(record, ["capi"]).flat().map(keyOf);
  assert.deepEqual(places, [
    "cluster-c1/internal-admin-kubeconfig",
    "cluster-c1/admin-kubeconfig",
    "capi/c1-kubeconfig",
  ]);
});
