import assert from "node:assert/strict";
import { test } from "node:test";
import type { SidecarSetSpec } from "../../api/sidecar-set.ts";
import { metadataOf, sidecarRecord } from "../../testing/sidecar-records.ts";
import { comparedOf, rightsFor } from "./reference-check.ts";

interface Wishes extends Partial<Omit<SidecarSetSpec, "imagePullSecrets">> {
  readonly references?: readonly string[];
}

function set({ references = [], ...spec }: Wishes) {
  const imagePullSecrets = references.map((text) => {
    const [namespace = "", name = ""] = text.includes("/") ? text.split("/") : ["", text];
    return { namespace, name };
  });
  return sidecarRecord("s", { ...spec, imagePullSecrets });
}

const cases: readonly {
  readonly name: string;
  readonly before?: Wishes;
  readonly after: Wishes;
  readonly rights: readonly string[];
}[] = [
  { name: "new", after: { references: ["v/x", "v/y"] }, rights: ["get v/x", "get v/y"] },
  { name: "new without references", after: {}, rights: [] },
  { name: "without a namespace, the default one is meant", after: { references: ["x"] }, rights: ["get default/x"] },
  { name: "one source written twice", after: { references: ["x", "default/x"] }, rights: ["get default/x"] },
  { name: "nothing changed", before: { references: ["v/x"] }, after: { references: ["v/x"] }, rights: [] },
  {
    name: "a reference more",
    before: { references: ["v/x"] },
    after: { references: ["v/x", "w/x"] },
    rights: ["get w/x"],
  },
  { name: "a reference less", before: { references: ["v/x", "w/x"] }, after: { references: ["v/x"] }, rights: [] },
  {
    name: "the same source written otherwise",
    before: { references: ["x"] },
    after: { references: ["default/x"] },
    rights: [],
  },
  {
    name: "a narrower selector",
    before: { references: ["v/x"] },
    after: { references: ["v/x"], selector: { matchLabels: { app: "x", tier: "web" } } },
    rights: [],
  },
  {
    name: "a wider selector",
    before: { references: ["v/x"], selector: { matchLabels: { app: "x", tier: "web" } } },
    after: { references: ["v/x"] },
    rights: ["get v/x"],
  },
  {
    name: "another selector",
    before: { references: ["v/x"] },
    after: { references: ["v/x"], selector: { matchLabels: { app: "y" } } },
    rights: ["get v/x"],
  },
  {
    name: "one namespace of all",
    before: { references: ["v/x"] },
    after: { references: ["v/x"], namespace: "team" },
    rights: [],
  },
  {
    name: "all namespaces instead of one",
    before: { references: ["v/x"], namespace: "team" },
    after: { references: ["v/x"] },
    rights: ["get v/x"],
  },
  {
    name: "another namespace",
    before: { references: ["v/x"], namespace: "team" },
    after: { references: ["v/x"], namespace: "other" },
    rights: ["get v/x"],
  },
  {
    name: "fewer namespaces by labels",
    before: { references: ["v/x"], namespaceSelector: { matchLabels: { a: "1" } } },
    after: { references: ["v/x"], namespaceSelector: { matchLabels: { a: "1", b: "2" } } },
    rights: [],
  },
  {
    name: "narrower, and one reference more",
    before: { references: ["v/x"] },
    after: { references: ["v/x", "v/y"], namespace: "team" },
    rights: ["get v/y"],
  },
  {
    name: "wider, and one reference less",
    before: { references: ["v/x", "v/y"], namespace: "team" },
    after: { references: ["v/x"] },
    rights: ["get v/x"],
  },
];

for (const { name, before, after, rights } of cases) {
  test(`rightsFor: ${name}`, () => {
    const asked = rightsFor(set(after), before && set(before));
    assert.deepEqual(
      asked.map((right) => `${right.verb} ${right.namespace}/${right.name}`),
      rights,
    );
  });
}

test("sources that an annotation names for the day when the original comes need the right today", () => {
  const object = {
    metadata: metadataOf("s", { annotations: { "latchkey.dev/image-pull-secrets": "vault/pull,own" } }),
    spec: { selector: { matchLabels: { app: "x" } }, imagePullSecrets: [{ name: "x" }] },
  };
  const names = (mode: "instead" | "beside") =>
    comparedOf(object, { mode, defaultNamespace: "default" }).references.map(
      ({ namespace, name }) => `${namespace}/${name}`,
    );
  assert.deepEqual(names("instead"), ["default/x", "vault/pull", "default/own"]);
  assert.deepEqual(names("beside"), ["vault/pull", "default/own"]);
});
