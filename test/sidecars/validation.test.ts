import assert from "node:assert/strict";
import { before, test } from "node:test";
import { sidecarSetCrd } from "../../src/api/crds.ts";
import type { Draft } from "../../src/api/objects.ts";
import type { Kube } from "../../src/kube/client.ts";
import { ApiError } from "../../src/kube/errors.ts";
import { installCrds } from "../../src/kube/install-crds.ts";
import { adminKube, uniqueName } from "../../src/testing/cluster.ts";
import {
  changeSidecarSet,
  type SidecarSet,
  type SidecarSetSpec,
  sidecarSets,
  storeSidecarSet,
} from "../../src/testing/sidecars.ts";
import { whenAdmissionListens } from "../../src/testing/syncs.ts";

const selector = { matchLabels: { app: "checked" } };
const image = "registry.example.com/checked:1";
const container = { name: "checked", image };
const valid = { selector, containers: [container] };
const native = { name: "native", image, restartPolicy: "Always" };
const named = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({ name: `${prefix}-${index}`, image }));
const references = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ namespace: "vault", name: `quay-${index}` }));
const volumes = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ name: `volume-${index}`, emptyDir: {} }));
const selecting = (expression: object) => ({ ...valid, selector: { matchExpressions: [expression] } });
const updating = (updateStrategy: object) => ({ ...valid, updateStrategy });
const referring = (...imagePullSecrets: object[]) => ({ ...valid, imagePullSecrets });
const strategied = (upgradeStrategy: object) => ({ ...valid, containers: [{ ...container, upgradeStrategy }] });

let kube: Kube;
before(async () => {
  kube = await adminKube();
  if (!(await kube.serves(sidecarSets))) await installCrds(kube, [sidecarSetCrd]);
});

/** A dry run: validated like any other write, and nothing is left behind. */
function create(spec: unknown, metadata: object = { name: uniqueName("valid") }): Promise<SidecarSet> {
  const draft = { metadata, spec } as Draft<SidecarSet>;
  return whenAdmissionListens(() => kube.create<SidecarSet>(sidecarSets, draft, { dryRun: true }));
}

/** 422, and the words say where and what. */
async function assertInvalid(write: Promise<unknown>, words: RegExp): Promise<void> {
  await assert.rejects(write, (error) => {
    assert.ok(error instanceof ApiError, String(error));
    assert.equal(error.status, 422, error.message);
    assert.equal(error.reason, "Invalid");
    assert.match(error.message, words);
    return true;
  });
}

const names = {
  accepted: { "one letter": "a", "digits first": "0-set", "63 characters": "s".repeat(63) },
  refused: { "a dot": "a.b", capitals: "Logs", "64 characters": "s".repeat(64), "a dash at the end": "logs-" },
} as const;
for (const [name, given] of Object.entries(names.accepted)) {
  test(`a name is accepted with ${name}`, async () => {
    await create(valid, { name: given });
  });
}
for (const [name, given] of Object.entries(names.refused)) {
  test(`a name is refused with ${name}`, () => assertInvalid(create(valid, { name: given }), /metadata\.name/));
}

test("a generated name is judged like any other", async () => {
  await create(valid, { generateName: "logs-" });
  await assertInvalid(create(valid, { generateName: "a.b-" }), /metadata\.name/);
});

const accepted: Readonly<Record<string, object>> = {
  "labels and nothing else": valid,
  "expressions alone": selecting({ key: "app", operator: "In", values: ["a", "b"] }),
  "both of them": { ...valid, selector: { ...selector, matchExpressions: [{ key: "tier", operator: "Exists" }] } },
  "a label of another operator": selecting({ key: "app", operator: "DoesNotExist", values: [] }),
  "a label key with a prefix": { ...valid, selector: { matchLabels: { "example.com/App_1.x": "Value_1.x" } } },
  "the longest label key": selecting({ key: `${"p".repeat(253)}/${"n".repeat(63)}`, operator: "Exists" }),
  "the longest label": { ...valid, selector: { matchLabels: { [`${"p".repeat(253)}/n`]: "v".repeat(63) } } },
  "an empty label value": { ...valid, selector: { matchLabels: { app: "" } } },
  "a namespace": { ...valid, namespace: "team-a" },
  "a selector of namespaces": { ...valid, namespaceSelector: { matchLabels: { sidecars: "on" } } },
  "a namespace and a selector of namespaces": { ...valid, namespace: "team-a", namespaceSelector: selector },
  "initContainers alone": { selector, initContainers: [container] },
  "an empty list beside initContainers": { selector, containers: [], initContainers: [container] },
  "32 containers": { selector, containers: named("a", 16), initContainers: named("b", 16) },
  "a place for containers": { selector, containers: [{ ...container, podInjectPolicy: "AfterAppContainer" }] },
  "a place for initContainers": { selector, initContainers: [{ ...container, podInjectPolicy: "BeforeAppContainer" }] },
  ColdUpgrade: strategied({ upgradeType: "ColdUpgrade" }),
  "a native sidecar with NotUpdate": { selector, initContainers: [native], updateStrategy: { type: "NotUpdate" } },
  "64 volumes": { ...valid, volumes: volumes(64) },
  "no reference": referring(),
  "16 references": referring(...references(16)),
  "a reference without a namespace": referring({ name: "quay" }),
  "a reference with an empty namespace": referring({ name: "quay", namespace: "" }),
  "one name in several namespaces": referring({ name: "quay" }, { name: "quay", namespace: "vault" }),
  "the longest reference": referring({ name: "n".repeat(253), namespace: "v".repeat(63) }),
  "a reference with dots": referring({ name: "quay.io", namespace: "0vault" }),
  "a paused injection": { ...valid, injectionStrategy: { paused: true } },
  "an empty updateStrategy": updating({}),
  "RollingUpdate with all of its fields": updating({
    type: "RollingUpdate",
    paused: true,
    partition: 3,
    maxUnavailable: "20%",
  }),
  "0 everywhere": updating({ partition: 0, maxUnavailable: 0 }),
  "0% everywhere": updating({ partition: "0%", maxUnavailable: "0%" }),
  "100% everywhere": updating({ partition: "100%", maxUnavailable: "100%" }),
  "a selector of Pods to update": updating({ selector }),
  "a selector and a partition of 0": updating({ selector, partition: 0 }),
  "a selector and a partition of 0%": updating({ selector, partition: "0%" }),
  "a selector and a partition under NotUpdate": updating({ type: "NotUpdate", selector, partition: 2 }),
};
for (const [name, spec] of Object.entries(accepted)) {
  test(`accepted: ${name}`, async () => {
    await create(spec);
  });
}

const refused: Readonly<Record<string, readonly [spec: unknown, words: RegExp]>> = {
  "no spec": [undefined, /spec.*Required/],
  "no selector": [{ containers: [container] }, /spec\.selector.*Required/],
  "an empty selector": [{ ...valid, selector: {} }, /spec\.selector.*must not be empty/],
  "a selector with empty parts": [
    { ...valid, selector: { matchLabels: {}, matchExpressions: [] } },
    /spec\.selector.*must not be empty/,
  ],
  "an empty selector of namespaces": [
    { ...valid, namespaceSelector: {} },
    /spec\.namespaceSelector.*must not be empty/,
  ],
  "an empty selector of Pods to update": [
    updating({ selector: { matchLabels: {} } }),
    /spec\.updateStrategy\.selector.*must not be empty/,
  ],
  "a label key with a space": [
    { ...valid, selector: { matchLabels: { "a b": "c" } } },
    /spec\.selector\.matchLabels.*must be a label key/,
  ],
  "a label key with two slashes": [
    { ...valid, selector: { matchLabels: { "a/b/c": "d" } } },
    /spec\.selector\.matchLabels.*must be a label key/,
  ],
  "a label key that is too long": [
    { ...valid, selector: { matchLabels: { ["n".repeat(64)]: "v" } } },
    /spec\.selector\.matchLabels.*must be a label key/,
  ],
  "a label key with a prefix that is too long": [
    { ...valid, selector: { matchLabels: { [`${"p".repeat(254)}/n`]: "v" } } },
    /spec\.selector\.matchLabels.*must be a label key/,
  ],
  "a label value with a space": [
    { ...valid, selector: { matchLabels: { app: "a b" } } },
    /spec\.selector\.matchLabels\.app/,
  ],
  "a label value that is too long": [
    { ...valid, selector: { matchLabels: { app: "v".repeat(64) } } },
    /spec\.selector\.matchLabels\.app/,
  ],
  "a label value that is a number": [{ ...valid, selector: { matchLabels: { app: 1 } } }, /matchLabels\.app.*string/],
  "an expression without a key": [selecting({ operator: "Exists" }), /matchExpressions\[0\]\.key.*Required/],
  "an expression with a bad key": [selecting({ key: "-a", operator: "Exists" }), /matchExpressions\[0\]\.key/],
  "an expression with a prefix that is too long": [
    selecting({ key: `${"p".repeat(254)}/n`, operator: "Exists" }),
    /matchExpressions\[0\].*prefix/,
  ],
  "an expression without an operator": [selecting({ key: "app" }), /matchExpressions\[0\]\.operator.*Required/],
  "another operator": [selecting({ key: "app", operator: "Gt", values: ["1"] }), /operator.*Unsupported value.*"In"/],
  "In without values": [selecting({ key: "app", operator: "In" }), /matchExpressions\[0\].*In and NotIn need values/],
  "NotIn with an empty list": [selecting({ key: "app", operator: "NotIn", values: [] }), /In and NotIn need values/],
  "Exists with values": [selecting({ key: "app", operator: "Exists", values: ["a"] }), /Exists.*take no values/],
  "DoesNotExist with values": [
    selecting({ key: "app", operator: "DoesNotExist", values: ["a"] }),
    /DoesNotExist take no values/,
  ],
  "a bad value in an expression": [selecting({ key: "app", operator: "In", values: ["a b"] }), /values\[0\]/],
  "an empty namespace": [{ ...valid, namespace: "" }, /spec\.namespace/],
  "a namespace in capitals": [{ ...valid, namespace: "Team" }, /spec\.namespace/],
  "a namespace of 64 characters": [{ ...valid, namespace: "t".repeat(64) }, /spec\.namespace/],
  "no container": [{ selector }, /spec.*at least one of containers and initContainers/],
  "two empty lists": [{ selector, containers: [], initContainers: [] }, /spec.*at least one/],
  "33 containers": [{ selector, containers: named("a", 33) }, /spec\.containers.*32/],
  "33 containers together": [
    { selector, containers: named("a", 17), initContainers: named("b", 16) },
    /spec.*together.*at most 32/,
  ],
  "one name twice": [{ selector, containers: [container, container] }, /spec\.containers\[1\].*Duplicate/],
  "one name twice in initContainers": [
    { selector, initContainers: [container, container] },
    /spec\.initContainers\[1\].*Duplicate/,
  ],
  "one name in both lists": [{ ...valid, initContainers: [container] }, /spec.*must not be both/],
  "a container without a name": [{ selector, containers: [{ image }] }, /spec\.containers\[0\]\.name.*Required/],
  "a container without an image": [{ selector, containers: [{ name: "a" }] }, /spec\.containers\[0\]\.image.*Required/],
  "an empty image": [{ selector, containers: [{ name: "a", image: "" }] }, /spec\.containers\[0\]\.image/],
  "a container in capitals": [{ selector, containers: [{ name: "A", image }] }, /spec\.containers\[0\]\.name/],
  "a container of 64 characters": [
    { selector, initContainers: [{ name: "a".repeat(64), image }] },
    /spec\.initContainers\[0\]\.name/,
  ],
  "another place": [
    { selector, containers: [{ ...container, podInjectPolicy: "Somewhere" }] },
    /podInjectPolicy.*Unsupported value.*"BeforeAppContainer", "AfterAppContainer"/,
  ],
  HotUpgrade: [
    strategied({ upgradeType: "HotUpgrade" }),
    /spec\.containers\[0\]\.upgradeStrategy\.upgradeType.*HotUpgrade is not supported/,
  ],
  "HotUpgrade of an initContainer": [
    { selector, initContainers: [{ ...container, upgradeStrategy: { upgradeType: "HotUpgrade" } }] },
    /spec\.initContainers\[0\].*HotUpgrade is not supported/,
  ],
  "a native sidecar": [{ selector, initContainers: [native] }, /restartPolicy Always needs.*NotUpdate/],
  "a native sidecar with an empty updateStrategy": [
    { selector, initContainers: [native], updateStrategy: {} },
    /restartPolicy Always needs.*NotUpdate/,
  ],
  "a native sidecar with RollingUpdate": [
    { selector, initContainers: [{ name: "plain", image }, native], updateStrategy: { type: "RollingUpdate" } },
    /restartPolicy Always needs.*NotUpdate/,
  ],
  "65 volumes": [{ ...valid, volumes: volumes(65) }, /spec\.volumes.*64/],
  "a volume twice": [{ ...valid, volumes: [...volumes(1), ...volumes(1)] }, /spec\.volumes\[1\].*Duplicate/],
  "a volume without a name": [{ ...valid, volumes: [{ emptyDir: {} }] }, /spec\.volumes\[0\]\.name.*Required/],
  "17 references": [referring(...references(17)), /spec\.imagePullSecrets.*16/],
  "a reference twice": [referring(...references(1), ...references(1)), /imagePullSecrets\[1\].*Duplicate/],
  "a reference twice, once with an empty namespace": [
    referring({ name: "quay" }, { name: "quay", namespace: "" }),
    /imagePullSecrets\[1\].*Duplicate/,
  ],
  "a reference without a name": [referring({ namespace: "vault" }), /imagePullSecrets\[0\]\.name.*Required/],
  "a reference with an empty name": [referring({ name: "" }), /imagePullSecrets\[0\]\.name/],
  "a reference in capitals": [referring({ name: "Quay" }), /imagePullSecrets\[0\]\.name/],
  "a reference with a slash": [referring({ name: "vault/quay" }), /imagePullSecrets\[0\]\.name/],
  "a reference of 254 characters": [referring({ name: "n".repeat(254) }), /imagePullSecrets\[0\]\.name/],
  "a reference into a namespace with a dot": [
    referring({ name: "quay", namespace: "a.b" }),
    /imagePullSecrets\[0\]\.namespace/,
  ],
  "a reference into a namespace of 64 characters": [
    referring({ name: "quay", namespace: "v".repeat(64) }),
    /imagePullSecrets\[0\]\.namespace/,
  ],
  "a paused injection in words": [{ ...valid, injectionStrategy: { paused: "yes" } }, /injectionStrategy\.paused/],
  "another updateStrategy": [updating({ type: "Recreate" }), /updateStrategy\.type.*"RollingUpdate", "NotUpdate"/],
  "a partition below 0": [updating({ partition: -1 }), /updateStrategy\.partition/],
  "a partition above 100%": [updating({ partition: "101%" }), /updateStrategy\.partition/],
  "a partition below 0%": [updating({ partition: "-1%" }), /updateStrategy\.partition/],
  "a partition in words": [updating({ partition: "half" }), /updateStrategy\.partition/],
  "a number in quotes": [updating({ partition: "3" }), /updateStrategy\.partition/],
  "a broken partition": [updating({ partition: 1.5 }), /updateStrategy\.partition/],
  "a percentage with leading zeros": [updating({ partition: "00%" }), /updateStrategy\.partition/],
  "maxUnavailable below 0": [updating({ maxUnavailable: -1 }), /updateStrategy\.maxUnavailable/],
  "maxUnavailable above 100%": [updating({ maxUnavailable: "200%" }), /updateStrategy\.maxUnavailable/],
  "a selector and a partition": [
    updating({ type: "RollingUpdate", selector, partition: 2 }),
    /spec\.updateStrategy.*selector and a partition other than 0/,
  ],
  "a selector and a percentage": [updating({ selector, partition: "1%" }), /selector and a partition other than 0/],
};
for (const [name, [spec, words]] of Object.entries(refused)) {
  test(`refused with 422: ${name}`, () => assertInvalid(create(spec), words));
}

test("defaults: where containers stand, how they are updated, an omitted namespace", async () => {
  const initContainer = { name: "first", image, upgradeStrategy: {} };
  const given = { ...valid, initContainers: [initContainer], imagePullSecrets: [{ name: "quay" }] };
  const { spec } = await create({ ...given, updateStrategy: {}, injectionStrategy: {} });
  assert.deepEqual(spec, {
    selector,
    containers: [{ ...container, podInjectPolicy: "BeforeAppContainer" }],
    initContainers: [
      { ...initContainer, podInjectPolicy: "AfterAppContainer", upgradeStrategy: { upgradeType: "ColdUpgrade" } },
    ],
    imagePullSecrets: [{ name: "quay", namespace: "" }],
    updateStrategy: { type: "RollingUpdate", paused: false, partition: 0, maxUnavailable: 1 },
    injectionStrategy: { paused: false },
  });
});

interface Update {
  readonly name: string;
  readonly from?: Partial<SidecarSetSpec>;
  readonly to: object;
  readonly refusal?: RegExp;
}
const two = { containers: named("two", 2) };
const added = /spec.*may remove containers but not add/;
const updates: readonly Update[] = [
  { name: "another image", to: { containers: [{ ...container, image: `${image}.1` }] } },
  { name: "the largest one", from: { containers: named("a", 32) }, to: { containers: named("a", 32).reverse() } },
  { name: "one of two removed", from: two, to: { containers: named("two", 1) } },
  { name: "another order", from: two, to: { containers: named("two", 2).reverse() } },
  { name: "moved to the other list", to: { containers: null, initContainers: [container] } },
  {
    name: "other volumes, references and labels",
    to: { volumes: volumes(1), imagePullSecrets: references(1), selector: { matchLabels: { app: "other" } } },
  },
  { name: "one more", to: { containers: [container, { name: "more", image }] }, refusal: added },
  { name: "one more initContainer", to: { initContainers: [{ name: "more", image }] }, refusal: added },
  { name: "renamed", to: { containers: [{ name: "renamed", image }] }, refusal: added },
  { name: "one replaced by another", from: two, to: { containers: [...named("two", 1), container] }, refusal: added },
  { name: "the last one removed", to: { containers: [] }, refusal: /at least one of containers/ },
];
for (const { name, from, to, refusal } of updates) {
  test(`an update is ${refusal ? "refused" : "accepted"}: ${name}`, async (t) => {
    const set = await storeSidecarSet(t, kube, { spec: { containers: [container], ...from } });
    const change = changeSidecarSet(kube, set, { spec: to });
    if (refusal) await assertInvalid(change, refusal);
    else await change;
  });
}

test("a container that was removed does not come back", async (t) => {
  const set = await storeSidecarSet(t, kube, { spec: two });
  await changeSidecarSet(kube, set, { spec: { containers: named("two", 1) } });
  await assertInvalid(changeSidecarSet(kube, set, { spec: two }), added);
});
