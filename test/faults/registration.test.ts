import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { type KubeObject, type Resource, type Secret, secrets } from "../../src/api/objects.ts";
import type { JsonPatchOp } from "../../src/kube/client.ts";
import { issueCa } from "../../src/kube/x509.ts";
import { testNamespaces, uniqueName } from "../../src/testing/cluster.ts";
import { base64, secretSync, secretSyncs } from "../../src/testing/objects.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import { deleteSecret, patchSecret, theSecret } from "../../src/testing/secrets.ts";
import { createUser, syncRights, type User } from "../../src/testing/users.ts";
import { until } from "../../src/testing/wait.ts";

const own = ownPlane(async (plane) => {
  await plane.operator();
});

const webhookConfigurations: Resource = {
  group: "admissionregistration.k8s.io",
  version: "v1",
  plural: "validatingwebhookconfigurations",
  kind: "ValidatingWebhookConfiguration",
  namespaced: false,
};
const registration = { name: "latchkey-secretsync" };
const certificates = "latchkey-system/latchkey-admission";

interface Configuration extends KubeObject {
  readonly webhooks?: readonly { readonly clientConfig: { readonly caBundle?: string } }[];
}

const untilRegistered = async (what: string, accept: (found: Configuration) => boolean) =>
  (await until<Configuration>(await own.kube, webhookConfigurations, registration, what, (found) => {
    return found !== undefined && accept(found);
  })) as Configuration;

/** The API server asks Latchkey, and Latchkey says no. It hears of a new registration a moment after it is stored. */
async function untilDenied({ kube }: User, vault: string): Promise<void> {
  const draft = secretSync(uniqueName("denied"), `${vault}/db`, { to: [`${vault}/copy`] });
  for (const deadline = performance.now() + 60_000; ; await sleep(100)) {
    const answer = await kube.create(secretSyncs, draft, { dryRun: true }).then(
      () => "allowed",
      (error: Error) => error.message,
    );
    if (/may not get Secret/.test(answer)) return;
    if (performance.now() > deadline) throw new Error(`admission does not work: ${answer}`);
  }
}

const at = (path: string) => `/webhooks/0/${path}`;
const edits: readonly { readonly name: string; readonly edit: () => JsonPatchOp[] | Promise<JsonPatchOp[]> }[] = [
  { name: "its caBundle is blanked", edit: () => [{ op: "replace", path: at("clientConfig/caBundle"), value: "" }] },
  {
    name: "it trusts another CA",
    edit: async () => {
      const { certificatePem } = await issueCa({ commonName: "another", days: 1 });
      return [{ op: "replace", path: at("clientConfig/caBundle"), value: base64(certificatePem) }];
    },
  },
  {
    name: "it leads elsewhere",
    edit: () => [{ op: "replace", path: at("clientConfig/url"), value: "https://127.0.0.1:1/validate/secretsyncs" }],
  },
  {
    name: "it lets pass what nobody judged",
    edit: () => [{ op: "replace", path: at("failurePolicy"), value: "Ignore" }],
  },
  { name: "it asks about nothing", edit: () => [{ op: "remove", path: at("rules") }] },
  {
    name: "a condition is added that never holds",
    edit: () => [{ op: "add", path: at("matchConditions/-"), value: { name: "never", expression: "false" } }],
  },
  { name: "it has no webhooks any more", edit: () => [{ op: "remove", path: "/webhooks" }] },
  { name: "its label is taken off", edit: () => [{ op: "remove", path: "/metadata/labels" }] },
];

test("the registration is put right whatever somebody does to it", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const user = await createUser(t, syncRights);
  const { metadata, webhooks } = await untilRegistered("is registered", () => true);
  await untilDenied(user, namespaces[0]);
  const isRight = (found: Configuration) =>
    isDeepStrictEqual(found.webhooks, webhooks) && isDeepStrictEqual(found.metadata.labels, metadata.labels);

  for (const { name, edit } of edits) {
    await t.test(name, async () => {
      const body = await edit();
      const edited = await kube.patch<Configuration>(webhookConfigurations, registration, { type: "json", body });
      assert.ok(!isRight(edited), "something was changed");
      await untilRegistered("is as before", isRight);
      await untilDenied(user, namespaces[0]);
    });
  }

  await t.test("it is deleted", async () => {
    await kube.delete(webhookConfigurations, registration);
    await untilRegistered("is as before", isRight);
    await untilDenied(user, namespaces[0]);
  });
});

const losses = [
  { name: "is deleted", lose: async () => void (await deleteSecret(await own.kube, certificates)) },
  { name: "is emptied", lose: async () => void (await patchSecret(await own.kube, certificates, { data: null })) },
  {
    name: "has a serving certificate nobody can read",
    lose: async () => void (await patchSecret(await own.kube, certificates, { data: { "tls.crt": base64("?") } })),
  },
] as const;

for (const { name, lose } of losses) {
  test(`the Secret with the certificates ${name}: there are new ones, and admission works`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 1);
    const user = await createUser(t, syncRights);
    const before = await theSecret(kube, certificates);
    await lose();
    const stored = await until<Secret>(
      kube,
      secrets,
      { namespace: "latchkey-system", name: "latchkey-admission" },
      "has a new serving certificate",
      (found) => !!found?.data?.["tls.crt"] && ![before.data?.["tls.crt"], base64("?")].includes(found.data["tls.crt"]),
    );
    const ca = stored?.data?.["ca.crt"];
    await untilRegistered("trusts the CA in the Secret", ({ webhooks }) => webhooks?.[0]?.clientConfig.caBundle === ca);
    await untilDenied(user, namespaces[0]);
  });
}
