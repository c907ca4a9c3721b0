import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "../../src/api/objects.ts";
import { adminKube, kubectl, testNamespaces, uniqueName } from "../../src/testing/cluster.ts";
import { assertRefused } from "../../src/testing/refused.ts";
import {
  configurations,
  createPullSecret,
  createSidecarSet,
  type SidecarSet,
  type SidecarSetSpec,
  sidecarSet,
  sidecarSets,
  storeSidecarSet,
  untilSetCondition,
} from "../../src/testing/sidecars.ts";
import { whenAdmissionListens } from "../../src/testing/syncs.ts";
import { createUser, type Right } from "../../src/testing/users.ts";

const setRights: Right = {
  verbs: ["create", "get", "list", "watch", "update", "patch", "delete"],
  group: "apps.kruise.io",
  resource: "sidecarsets",
};

const mayGet = (namespace: string, name?: string): Right => ({
  verbs: ["get"],
  resource: "secrets",
  namespace,
  ...(name && { name }),
});

const invalid: readonly { readonly name: string; readonly sidecar: object; readonly words: RegExp }[] = [
  {
    name: "a quantity that is none",
    sidecar: { resources: { limits: { cpu: "abc" } } },
    words: /quantities must match the regular expression/,
  },
  { name: "a wrong type", sidecar: { tty: "yes" }, words: /tty/ },
  {
    name: "an unknown field inside",
    sidecar: { env: [{ nam: "A" }] },
    words: /unknown field "spec\.containers\[0\]\.env\[0\]\.nam"/,
  },
  { name: "a port out of range", sidecar: { ports: [{ containerPort: 70_000 }] }, words: /containerPort/ },
  { name: "a mount without a path", sidecar: { volumeMounts: [{ name: "data" }] }, words: /mountPath/ },
];

for (const { name, sidecar, words } of invalid) {
  test(`what the API server would refuse in a Pod is refused in its words: ${name}`, async (t) => {
    const kube = await adminKube();
    const set = uniqueName("set");
    const containers = [{ name: set, image: "registry.example.com/sidecar:1", ...sidecar }];
    await assertRefused(storeSidecarSet(t, kube, { name: set, spec: { containers } }), 422, words);
  });
}

test("containers of one name are refused where both SidecarSets could be for one Pod", async (t) => {
  const kube = await adminKube();
  const first = await createSidecarSet(t, kube);
  const { name } = first.metadata;
  const { containers, selector } = first.spec;
  const words = new RegExp(`container ${name} is also injected by SidecarSet ${name}`);
  const clash = { containers: containers ?? [] };
  await assertRefused(storeSidecarSet(t, kube, { spec: { ...clash, selector } }), 422, words);
  await assertRefused(storeSidecarSet(t, kube, { name: `a-${name}`, spec: { ...clash, selector } }), 422, words);
  const tier = { matchLabels: { tier: "web" } };
  await assertRefused(storeSidecarSet(t, kube, { spec: { ...clash, selector: tier } }), 422, words);
  await createSidecarSet(t, kube, { spec: { ...clash, selector: { matchLabels: { app: uniqueName("other") } } } });
});

test("volumes of one name must have one content", async (t) => {
  const kube = await adminKube();
  const first = await createSidecarSet(t, kube, { spec: { volumes: [{ name: "logs", emptyDir: {} }] } });
  const { selector } = first.spec;
  await createSidecarSet(t, kube, { spec: { selector, volumes: [{ name: "logs", emptyDir: {} }] } });
  await assertRefused(
    storeSidecarSet(t, kube, { spec: { selector, volumes: [{ name: "logs", emptyDir: { medium: "Memory" } }] } }),
    422,
    /volume logs has another content/,
  );
});

test("the annotation for the original's SidecarSets is pointed out", async () => {
  const name = uniqueName("set");
  const annotations = { "latchkey.dev/image-pull-secrets": "vault/pull" };
  const input = JSON.stringify(sidecarSet(name, { annotations }));
  const { code, stderr } = await kubectl(["create", "--dry-run=server", "-f", "-"], { input });
  assert.equal(code, 0, stderr);
  assert.match(
    stderr,
    /Warning: the annotation latchkey\.dev\/image-pull-secrets is ignored: use spec\.imagePullSecrets/,
  );
});

test("who creates a SidecarSet must be able to read its pull secrets himself", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [vault] = namespaces;
  await createPullSecret(kube, `${vault}/one`);
  const user = await createUser(t, setRights, mayGet(vault, "one"));
  const denied = (missing: string) => new RegExp(`user "${user.name}" may not ${missing}: who writes a SidecarSet`);

  const both = { pullSecrets: [`${vault}/one`, `${vault}/two`] };
  await assertRefused(storeSidecarSet(t, user.kube, both), 403, denied(`get Secret ${vault}/two`));
  await assertRefused(
    storeSidecarSet(t, user.kube, { pullSecrets: ["three"] }),
    403,
    denied("get Secret default/three"),
  );
  await createSidecarSet(t, user.kube, { pullSecrets: [`${vault}/one`] });
  await createSidecarSet(t, user.kube);
});

interface Change {
  readonly name: string;
  readonly spec: (before: SidecarSetSpec, vault: string) => object;
  /** Names of the Secrets that the writer must be able to read. */
  readonly needs: readonly string[];
}

const references = (vault: string, ...names: readonly string[]) => ({
  imagePullSecrets: names.map((name) => ({ namespace: vault, name })),
});

const changes: readonly Change[] = [
  {
    name: "another image",
    spec: ({ containers }) => ({ containers: containers?.map((c) => ({ ...c, image: "i:2" })) }),
    needs: [],
  },
  { name: "pausing", spec: () => ({ injectionStrategy: { paused: true } }), needs: [] },
  { name: "a reference less", spec: (_, vault) => references(vault, "one"), needs: [] },
  { name: "no reference any more", spec: () => ({ imagePullSecrets: null }), needs: [] },
  { name: "a reference more", spec: (_, vault) => references(vault, "one", "two", "three"), needs: ["three"] },
  { name: "a narrower selector", spec: () => ({ selector: { matchLabels: { tier: "web" } } }), needs: [] },
  {
    name: "another selector",
    spec: () => ({ selector: { matchLabels: { app: "another" } } }),
    needs: ["one", "two"],
  },
  {
    name: "a narrower namespace rule",
    spec: () => ({ namespaceSelector: { matchLabels: { team: "a", tier: "web" } } }),
    needs: [],
  },
  { name: "all namespaces", spec: () => ({ namespaceSelector: null }), needs: ["one", "two"] },
  { name: "a namespace instead of the labels", spec: () => ({ namespace: "anywhere" }), needs: ["one", "two"] },
  {
    name: "wider, and a reference less",
    spec: (_, vault) => ({ namespaceSelector: null, ...references(vault, "two") }),
    needs: ["two"],
  },
];

for (const { name, spec, needs } of changes) {
  test(`what sends a credential no further needs no right: ${name}`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 1);
    const [vault] = namespaces;
    const set = await storeSidecarSet(t, kube, {
      spec: { ...references(vault, "one", "two"), namespaceSelector: { matchLabels: { team: "a" } } },
    });
    const body = { spec: spec(set.spec, vault) };
    const change = (by: typeof kube) =>
      whenAdmissionListens(() =>
        by.patch<SidecarSet>(sidecarSets, set.metadata, { type: "merge", body }, { dryRun: true }),
      );

    const user = await createUser(t, setRights);
    const words = needs.map((secret) => `get Secret ${vault}/${secret}`).join(", ");
    if (needs.length === 0) await change(user.kube);
    else await assertRefused(change(user.kube), 403, new RegExp(`may not ${words}: `));
    await user.grant(...needs.map((secret) => mayGet(vault, secret)));
    await change(user.kube);
  });
}

test("labels and finalizers can be written by anybody who may write the object", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [vault] = namespaces;
  const set = await createSidecarSet(t, kube, { pullSecrets: [`${vault}/pull`] });
  const user = await createUser(t, setRights);
  const body = { metadata: { labels: { a: "b" }, finalizers: [] } };
  await user.kube.patch(sidecarSets, set.metadata, { type: "merge", body });
  await untilSetCondition(kube, set, "PullSecretsReady", { reason: "SourceMissing" });
});

interface Configuration extends KubeObject {
  readonly webhooks?: readonly {
    readonly name: string;
    readonly failurePolicy: string;
    readonly timeoutSeconds: number;
    readonly sideEffects: string;
    readonly reinvocationPolicy?: string;
    readonly namespaceSelector?: { readonly matchExpressions?: readonly object[] };
    readonly rules: readonly { readonly resources: readonly string[]; readonly operations: readonly string[] }[];
  }[];
}

test("only the check of references fails closed; Pods are created without us", async () => {
  const kube = await adminKube();
  const ref = { name: "latchkey-sidecars" };
  const mutating = await kube.get<Configuration>(configurations.mutating, ref);
  const validating = await kube.get<Configuration>(configurations.validating, ref);
  const [onPods, ...more] = mutating?.webhooks ?? [];
  assert.deepEqual(more, []);
  assert.deepEqual(
    [onPods?.failurePolicy, onPods?.sideEffects, onPods?.reinvocationPolicy, onPods?.rules[0]?.operations],
    ["Ignore", "NoneOnDryRun", "IfNeeded", ["CREATE"]],
  );
  assert.deepEqual(onPods?.namespaceSelector?.matchExpressions, [
    { key: "kubernetes.io/metadata.name", operator: "NotIn", values: ["latchkey-system"] },
    { key: "latchkey.dev/inject", operator: "NotIn", values: ["false"] },
  ]);
  const policies = validating?.webhooks?.map(({ name, failurePolicy }) => [name, failurePolicy]);
  assert.deepEqual(Object.fromEntries(policies ?? []), {
    "references.sidecarsets.latchkey.dev": "Fail",
    "check.sidecarsets.latchkey.dev": "Ignore",
  });
  for (const hook of [onPods, ...(validating?.webhooks ?? [])]) assert.equal(hook?.timeoutSeconds, 3);
});
