import assert from "node:assert/strict";
import { test } from "node:test";
import type { Hook } from "../../runtime/admission.ts";
import {
  configurationOf,
  isRegistered,
  planRegistration,
  type Registration,
  registeredCaOf,
  registeredUrlOf,
  registrationsOf,
  type Sight,
  type WebhookConfiguration,
} from "./registration-plan.ts";

const hook: Hook = {
  kind: "validating",
  name: "secretsyncs.latchkey.dev",
  path: "/validate/secretsyncs",
  configuration: "latchkey-secretsync",
  resource: {
    group: "package-operator.run",
    version: "v1alpha1",
    plural: "secretsyncs",
    kind: "SecretSync",
    namespaced: false,
  },
  operations: ["CREATE", "UPDATE"],
  failurePolicy: "Fail",
  sideEffects: "None",
  matchConditions: [{ name: "adds", expression: "true" }],
  review: async () => ({ allowed: true }),
};
const registration = registrationsOf([hook])[0] as Registration;
const mine = { kind: "url", baseUrl: "https://127.0.0.1:9443" } as const;
const peers = { kind: "url", baseUrl: "https://127.0.0.1:9444/base" } as const;

function stored(reach: Parameters<typeof configurationOf>[1], ca = "PEM"): WebhookConfiguration {
  const { metadata, webhooks } = configurationOf(registration, reach, ca);
  const filled = { name: "", uid: "u", resourceVersion: "1", creationTimestamp: "", ...metadata };
  return { metadata: filled, ...(webhooks && { webhooks }) };
}

test("hooks of one kind and configuration are one registration", () => {
  const other = { ...hook, name: "b", configuration: "latchkey-sidecars" };
  const hooks = [hook, other, { ...hook, name: "c" }, { ...other, kind: "mutating" as const, name: "d" }];
  assert.deepEqual(
    registrationsOf(hooks).map(({ kind, name, hooks: own }) => [kind, name, own.map((each) => each.name).join()]),
    [
      ["validating", "latchkey-secretsync", "secretsyncs.latchkey.dev,c"],
      ["validating", "latchkey-sidecars", "b"],
      ["mutating", "latchkey-sidecars", "d"],
    ],
  );
});

test("outside a cluster the configuration names the URL", () => {
  assert.deepEqual(configurationOf(registration, mine, "PEM").webhooks, [
    {
      name: "secretsyncs.latchkey.dev",
      admissionReviewVersions: ["v1"],
      clientConfig: { url: "https://127.0.0.1:9443/validate/secretsyncs", caBundle: "UEVN" },
      failurePolicy: "Fail",
      matchPolicy: "Equivalent",
      namespaceSelector: {},
      objectSelector: {},
      rules: [
        {
          apiGroups: ["package-operator.run"],
          apiVersions: ["v1alpha1"],
          operations: ["CREATE", "UPDATE"],
          resources: ["secretsyncs"],
          scope: "*",
        },
      ],
      sideEffects: "None",
      timeoutSeconds: 3,
      matchConditions: [{ name: "adds", expression: "true" }],
    },
  ]);
});

const notOptedOut = { matchExpressions: [{ key: "latchkey.dev/inject", operator: "NotIn", values: ["false"] }] };
const particulars: readonly { name: string; changed: Partial<Hook>; entry: object }[] = [
  { name: "a validating hook", changed: {}, entry: { sideEffects: "None", namespaceSelector: {} } },
  {
    name: "a mutating hook is asked again after later changes",
    changed: { kind: "mutating" },
    entry: { sideEffects: "None", namespaceSelector: {}, reinvocationPolicy: "IfNeeded" },
  },
  {
    name: "side effects",
    changed: { sideEffects: "NoneOnDryRun" },
    entry: { sideEffects: "NoneOnDryRun", namespaceSelector: {} },
  },
  {
    name: "some namespaces only",
    changed: { namespaceSelector: notOptedOut },
    entry: { sideEffects: "None", namespaceSelector: notOptedOut },
  },
];
for (const { name, changed, entry } of particulars) {
  test(`what a hook says about itself is registered: ${name}`, () => {
    const [own] = registrationsOf([{ ...hook, ...changed }]);
    const [written] = configurationOf(own as Registration, mine, "PEM").webhooks ?? [];
    const { sideEffects, namespaceSelector, reinvocationPolicy } = written ?? {};
    const said = { sideEffects, namespaceSelector, ...(reinvocationPolicy && { reinvocationPolicy }) };
    assert.deepEqual(said, entry);
  });
}

test("in a cluster it names the Service", () => {
  const [entry] = configurationOf(registration, { kind: "service", namespace: "ns" }, "PEM").webhooks ?? [];
  assert.deepEqual(entry?.clientConfig.service, {
    namespace: "ns",
    name: "latchkey-admission",
    path: "/validate/secretsyncs",
    port: 443,
  });
  assert.equal(entry?.clientConfig.url, undefined);
});

test("what was registered can be read back", () => {
  assert.equal(registeredUrlOf(stored(peers), registration), peers.baseUrl);
  assert.equal(registeredCaOf(stored(peers)), "PEM");
  assert.equal(registeredUrlOf(stored({ kind: "service", namespace: "ns" }), registration), undefined);
});

test("a lost label and an added condition are differences", () => {
  const desired = configurationOf(registration, mine, "PEM");
  const whole = stored(mine);
  assert.ok(isRegistered(whole, desired));
  assert.ok(!isRegistered({ ...whole, metadata: { ...whole.metadata, labels: {} } }, desired));
  const webhooks = (whole.webhooks ?? []).map((entry) => ({
    ...entry,
    matchConditions: [...(entry.matchConditions ?? []), { name: "never", expression: "false" }],
  }));
  assert.ok(!isRegistered({ ...whole, webhooks }, desired));
});

const cases: readonly (Partial<Sight> & { name: string; step: string })[] = [
  { name: "absent: anyone writes", actual: undefined, role: "standby", step: "write" },
  { name: "mine: kept", actual: stored(mine), step: "keep" },
  {
    name: "the leader takes it from a standby",
    actual: stored(peers),
    role: "leader",
    isHeldByPeer: true,
    step: "write",
  },
  { name: "the leader mends an old CA", actual: stored(mine, "OLD"), role: "leader", step: "write" },
  { name: "a standby asks first", actual: stored(peers), role: "standby", isHeldByPeer: true, step: "probe" },
  { name: "a standby leaves a live one", actual: stored(peers), role: "standby", peer: "alive", step: "leave" },
  { name: "a standby takes a dead one", actual: stored(peers), role: "standby", peer: "dead", step: "write" },
  { name: "alone: mends an edit", actual: stored(mine, "OLD"), role: "alone", step: "write" },
  {
    name: "alone: leaves another's live one",
    actual: stored(peers),
    role: "alone",
    isHeldByPeer: true,
    peer: "alive",
    step: "leave",
  },
  {
    name: "alone: takes a dead one",
    actual: stored(peers),
    role: "alone",
    isHeldByPeer: true,
    peer: "dead",
    step: "write",
  },
];
for (const { name, step, ...sight } of cases) {
  test(`planRegistration: ${name}`, () => {
    const desired = configurationOf(registration, mine, "PEM");
    const actual = undefined;
    assert.equal(
      planRegistration({ actual, desired, role: "standby", isHeldByPeer: false, peer: "unknown", ...sight }),
      step,
    );
  });
}
