import assert from "node:assert/strict";
import { test } from "node:test";
import { type Container, isEnforcing, type ServiceAccount, type Volume } from "../../api/pods.ts";
import { metadataOf } from "../../testing/sidecar-records.ts";
import { mayName, nameLeftOut, unlistedIn } from "./enforcing.ts";

const account = (enforce: string | undefined, lists: Partial<ServiceAccount> = {}): ServiceAccount => ({
  metadata: metadataOf("robot", {
    namespace: "team-a",
    ...(enforce !== undefined && { annotations: { "kubernetes.io/enforce-mountable-secrets": enforce } }),
  }),
  ...lists,
});

const words = {
  true: true,
  True: true,
  TRUE: true,
  t: true,
  T: true,
  1: true,
  false: false,
  yes: false,
  "": false,
  tRUE: false,
};

for (const [text, enforcing] of Object.entries(words)) {
  test(`isEnforcing: "${text}"`, () => assert.equal(isEnforcing(account(text)), enforcing));
}

test("an account that says nothing does not enforce", () => assert.equal(isEnforcing(account(undefined)), false));

test("only an enforcing account keeps a Pod from naming a pull secret", () => {
  const imagePullSecrets = [{ name: "vault-quay" }];
  assert.equal(mayName(undefined, "vault-hub"), true);
  assert.equal(mayName(account("false", { imagePullSecrets }), "vault-hub"), true);
  assert.equal(mayName(account("true", { imagePullSecrets }), "vault-hub"), false);
  assert.equal(mayName(account("true", { imagePullSecrets }), "vault-quay"), true);
  assert.equal(mayName(account("true", { secrets: [{ name: "vault-hub" }] }), "vault-hub"), false);
  assert.equal(
    nameLeftOut(account("true"), "vault-hub"),
    "pull secret vault-hub is not given to Pods of ServiceAccount team-a/robot: it enforces mountable Secrets and does not list it",
  );
});

const env = (name: string) => [{ name: "X", valueFrom: { secretKeyRef: { name, key: "k" } } }];
const cases: readonly { name: string; containers?: Container[]; volumes?: Volume[]; unlisted?: string }[] = [
  { name: "nothing named", containers: [{ name: "c", env: [{ name: "X", value: "1" }] }] },
  { name: "a variable", containers: [{ name: "c", env: env("db") }], unlisted: "db" },
  { name: "a listed one", containers: [{ name: "c", env: env("listed") }] },
  {
    name: "variables from a whole Secret",
    containers: [{ name: "c", envFrom: [{ secretRef: { name: "db" } }] }],
    unlisted: "db",
  },
  { name: "variables from a ConfigMap", containers: [{ name: "c", envFrom: [{ configMapRef: { name: "db" } }] }] },
  {
    name: "an optional one",
    containers: [{ name: "c", envFrom: [{ secretRef: { name: "db", optional: true } }] }],
    unlisted: "db",
  },
  { name: "a volume", volumes: [{ name: "v", secret: { secretName: "db" } }], unlisted: "db" },
  { name: "a projected volume", volumes: [{ name: "v", projected: { sources: [{ secret: { name: "db" } }] } }] },
  {
    name: "several, each once",
    containers: [
      { name: "c", env: env("db") },
      { name: "d", env: env("db") },
    ],
    volumes: [{ name: "v", secret: { secretName: "tls" } }],
    unlisted: "db, tls",
  },
];

for (const { name, containers = [], volumes = [], unlisted } of cases) {
  test(`unlistedIn: ${name}`, () => {
    const enforcing = account("true", { secrets: [{ name: "listed" }], imagePullSecrets: [{ name: "db" }] });
    const reason = unlisted && `it enforces mountable Secrets and does not list ${unlisted}`;
    assert.equal(unlistedIn(enforcing, containers, volumes), reason);
    assert.equal(unlistedIn(account("false"), containers, volumes), undefined);
  });
}
