import assert from "node:assert/strict";
import { test } from "node:test";
import type { ConfigurationRecord, Given } from "./configuration-record.ts";
import { byAge, type Credentials, countingOf, credentialsOf, globalCredentials } from "./credentials.ts";
import { recordOf } from "./record.ts";

const [own, fallback, named] = [
  { namespace: "team", name: "own" },
  { namespace: "platform", name: "fallback" },
  { namespace: "platform", name: "named" },
];
const inline = { namespace: "kubermatic", name: "latchkey-default-pull-secret" };

const global: Credentials = { from: "Global", references: [named] };
const wishes: readonly { name: string; spec: object; credentials: Credentials }[] = [
  { name: "nothing named: the default", spec: {}, credentials: global },
  { name: "an empty list is nothing named", spec: { imagePullSecrets: [] }, credentials: global },
  {
    name: "references are the whole answer",
    spec: { imagePullSecrets: [own] },
    credentials: { from: "Cluster", references: [own] },
  },
  {
    name: "references do not need a default",
    spec: { imagePullSecrets: [own], disableDefaultImagePullSecrets: true },
    credentials: { from: "Cluster", references: [own] },
  },
  {
    name: "no default wanted",
    spec: { disableDefaultImagePullSecrets: true },
    credentials: { from: "None", references: [] },
  },
];
for (const { name, spec, credentials } of wishes) {
  test(`credentialsOf: ${name}`, () => {
    const metadata = { name: "c1", uid: "u", resourceVersion: "1", creationTimestamp: "" };
    assert.deepEqual(credentialsOf(recordOf({ metadata, spec } as never, "instead").wish, global), credentials);
  });
}

test("credentialsOf: what cannot be read does not give way to the default", () => {
  const annotations = { "latchkey.dev/image-pull-secrets": "nowhere" };
  const metadata = { name: "c1", uid: "u", resourceVersion: "1", creationTimestamp: "", annotations };
  const { from, references, objection } = credentialsOf(recordOf({ metadata }, "beside").wish, global);
  assert.deepEqual([from, references, objection?.reason], ["Cluster", [], "InvalidReferences"]);
});

interface Age {
  readonly name?: string;
  readonly namespace?: string;
  readonly created?: string;
}

function configuration(
  given: Given,
  { name = "k", namespace = "kubermatic", created = "2026-01-01T00:00:00Z" }: Age = {},
) {
  const metadata = { name, namespace, uid: `${namespace}/${name}`, resourceVersion: "1", creationTimestamp: created };
  return { metadata, given } satisfies ConfigurationRecord;
}

const text = (kind: "valid" | "not-set" | "no-auths"): Given => ({
  kind: "inline",
  verdict: { kind },
  fingerprint: "",
});
const malformed: Given = { kind: "inline", verdict: { kind: "malformed", line: 1, column: 2 }, fingerprint: "" };
const references: Given = { kind: "references", references: [named] };
const unreadable: Given = { kind: "unreadable", objection: "it is spoiled" };

const globals: readonly {
  name: string;
  configurations: readonly ConfigurationRecord[];
  isInlineHeld?: boolean;
  credentials: Credentials;
}[] = [
  { name: "no configuration: the flag", configurations: [], credentials: { from: "Global", references: [fallback] } },
  {
    name: "one elsewhere is no configuration",
    configurations: [configuration(references, { namespace: "other" })],
    credentials: { from: "Global", references: [fallback] },
  },
  {
    name: "one that says nothing is one: the flag does not count",
    configurations: [configuration(text("not-set"))],
    credentials: { from: "None", references: [] },
  },
  {
    name: "a reference",
    configurations: [configuration(references)],
    credentials: { from: "Global", references: [named] },
  },
  {
    name: "a text: the Secret made of it",
    configurations: [configuration(text("valid"))],
    credentials: { from: "Global", references: [inline] },
  },
  {
    name: "a text that is no JSON: the Secret made of the last one",
    configurations: [configuration(malformed)],
    credentials: { from: "Global", references: [inline] },
  },
  {
    name: "a text without auths as well",
    configurations: [configuration(text("no-auths"))],
    credentials: { from: "Global", references: [inline] },
  },
  {
    name: "somebody else's Secret by that name is not sent anywhere",
    configurations: [configuration(text("valid"))],
    isInlineHeld: true,
    credentials: {
      ...{ from: "Global", references: [] },
      objection: {
        reason: "Collision",
        message: "Secret kubermatic/latchkey-default-pull-secret is there already and is not ours",
      },
    },
  },
  {
    name: "somebody else's Secret is nobody's business where there is a reference",
    configurations: [configuration(references)],
    isInlineHeld: true,
    credentials: { from: "Global", references: [named] },
  },
  {
    name: "an annotation that cannot be read",
    configurations: [configuration(unreadable)],
    credentials: {
      ...{ from: "Global", references: [] },
      objection: { reason: "InvalidReferences", message: "it is spoiled" },
    },
  },
  {
    name: "of several the oldest, be it spoiled",
    configurations: [
      configuration(references, { name: "a", created: "2026-01-02T00:00:00Z" }),
      configuration(malformed),
    ],
    credentials: { from: "Global", references: [inline] },
  },
];
for (const { name, configurations, isInlineHeld = false, credentials } of globals) {
  test(`globalCredentials: ${name}`, () => {
    const given = { configurations, namespace: "kubermatic", fallback, isInlineHeld };
    assert.deepEqual(globalCredentials(given), credentials);
  });
}

test("globalCredentials: neither configuration nor flag", () => {
  const given = { configurations: [], namespace: "kubermatic", fallback: undefined, isInlineHeld: false };
  assert.deepEqual(globalCredentials(given), { from: "None", references: [] });
});

test("of configurations of one second the first by name counts", () => {
  const all = ["b", "a", "c"].map((name) => configuration(references, { name }));
  assert.equal(countingOf(all, "kubermatic")?.metadata.name, "a");
  assert.equal(countingOf(all, "elsewhere"), undefined);
  assert.deepEqual(
    all.toSorted(byAge).map(({ metadata }) => metadata.name),
    ["a", "b", "c"],
  );
});
