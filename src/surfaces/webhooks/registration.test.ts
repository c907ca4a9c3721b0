import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { managedByLabel, managedByValue } from "../../api/marks.ts";
import type { KubeObject } from "../../api/objects.ts";
import type { Kube } from "../../kube/client.ts";
import { createLog } from "../../kube/log.ts";
import type { Hook, Review, Verdict } from "../../runtime/admission.ts";
import { Election } from "../../runtime/lease.ts";
import { removeQuietly, testNamespaces, uniqueName } from "../../testing/cluster.ts";
import { configMaps } from "../../testing/objects.ts";
import { until, untilGone } from "../../testing/wait.ts";
import { type WebhookConfiguration, webhookConfigurations } from "./registration-plan.ts";
import { serveWebhooks } from "./serve.ts";

const kinds = ["validating", "mutating"] as const;
const labelling = async ({ dryRun }: Review): Promise<Verdict> => {
  const value = { "seen-by": dryRun ? "dry-run" : "webhook" };
  return { allowed: true, warnings: ["labelled"], patch: [{ op: "add", path: "/metadata/labels", value }] };
};

/** A namespace whose ConfigMaps are reviewed, by hooks under one name that only this test has. */
async function scene(t: TestContext) {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [namespace] = namespaces;
  const configuration = uniqueName("latchkey-test");
  const nameLabel = { key: "kubernetes.io/metadata.name", operator: "In", values: [namespace] };
  const hookOf = (kind: Hook["kind"], review: Hook["review"]): Hook => ({
    ...{ kind, configuration, review, resource: configMaps },
    name: `${kind}.test.latchkey.dev`,
    path: `/${kind}`,
    operations: ["CREATE"],
    failurePolicy: "Ignore",
    sideEffects: "NoneOnDryRun",
    namespaceSelector: { matchExpressions: [nameLabel] },
  });
  t.after(async () => {
    for (const kind of kinds)
      await removeQuietly(() => kube.delete(webhookConfigurations[kind], { name: configuration }));
  });
  return { kube, namespace, configuration, hookOf };
}

async function serve(t: TestContext, kube: Kube, namespace: string, hooks: readonly Hook[], known: string[] = []) {
  const log = createLog({ level: "error", format: "json", write: () => {} });
  const election = new Election({ kube, namespace, name: "test", identity: "me", log, enabled: false });
  const config = {
    ...{ namespace, isInCluster: false, leaderElect: false, admissionUrl: undefined },
    admissionAddress: "127.0.0.1:0",
  };
  const webhooks = await serveWebhooks(hooks, { kube, config, known, election, log });
  let isOpen = true;
  const close = async () => {
    if (isOpen) await webhooks[Symbol.asyncDispose]();
    isOpen = false;
  };
  t.after(close);
  while (webhooks.check.failing() !== undefined) await sleep(20);
  return { url: webhooks.url, close };
}

async function urlsOf(kube: Kube, name: string): Promise<readonly (string | undefined)[]> {
  const found = await Promise.all(
    kinds.map((kind) => kube.get<WebhookConfiguration>(webhookConfigurations[kind], { name })),
  );
  return found.map((each) => each?.webhooks?.[0]?.clientConfig.url);
}

/** The API server hears of a registration a moment after it is stored. */
async function seenBy(kube: Kube, namespace: string, options: { readonly dryRun?: true } = {}): Promise<string> {
  for (const deadline = performance.now() + 60_000; performance.now() < deadline; await sleep(50)) {
    const draft = { metadata: { namespace, name: uniqueName("map") } };
    const { metadata } = await kube.create<KubeObject>(configMaps, draft, options);
    const seen = metadata.labels?.["seen-by"];
    if (seen) return seen;
  }
  throw new Error("the API server does not ask");
}

test("a mutating hook changes what is created, in a dry run too", async (t) => {
  const { kube, namespace, hookOf } = await scene(t);
  await serve(t, kube, namespace, [
    hookOf("mutating", labelling),
    hookOf("validating", async () => ({ allowed: true })),
  ]);
  assert.equal(await seenBy(kube, namespace), "webhook");
  assert.equal(await seenBy(kube, namespace, { dryRun: true }), "dry-run");
});

test("the validating hook sees what the mutating one has made of it", async (t) => {
  const { kube, namespace, hookOf } = await scene(t);
  const refusing = async ({ object }: Review): Promise<Verdict> => {
    const isSeen = (object as KubeObject).metadata.labels?.["seen-by"] !== undefined;
    return isSeen ? { allowed: false, code: 422, message: "it was labelled" } : { allowed: true };
  };
  await serve(t, kube, namespace, [hookOf("mutating", labelling), hookOf("validating", refusing)]);
  // The API server may hear of the two registrations one after the other.
  const answer = async () => await seenBy(kube, namespace).catch((error: Error) => error.message);
  for (const deadline = performance.now() + 60_000; !(await answer()).includes("it was labelled"); await sleep(50)) {
    assert.ok(performance.now() < deadline, "the validating hook is not asked");
  }
});

for (const kind of kinds) {
  test(`a ${kind} registration is put right when it is edited or deleted, and the other one stays`, async (t) => {
    const { kube, namespace, configuration: name, hookOf } = await scene(t);
    await serve(t, kube, namespace, [hookOf("mutating", labelling), hookOf("validating", labelling)]);
    const get = (each: Hook["kind"]) => kube.get<WebhookConfiguration>(webhookConfigurations[each], { name });
    const [before, other] = await Promise.all([get(kind), get(kind === "mutating" ? "validating" : "mutating")]);
    const { webhooks } = before ?? {};
    const isRight = (found: WebhookConfiguration | undefined) =>
      JSON.stringify(found?.webhooks) === JSON.stringify(webhooks);

    const body = { webhooks: [] };
    await kube.patch(webhookConfigurations[kind], { name }, { type: "merge", body });
    await until<WebhookConfiguration>(kube, webhookConfigurations[kind], { name }, "is as before", isRight);
    await kube.delete(webhookConfigurations[kind], { name });
    await until<WebhookConfiguration>(kube, webhookConfigurations[kind], { name }, "is as before", isRight);
    const afterwards = await get(kind === "mutating" ? "validating" : "mutating");
    assert.equal(afterwards?.metadata.resourceVersion, other?.metadata.resourceVersion);
  });
}

test("another replica leaves both registrations of a live one, and takes both of a dead one", async (t) => {
  const { kube, namespace, configuration, hookOf } = await scene(t);
  const hooks = kinds.map((kind) => hookOf(kind, labelling));
  const first = await serve(t, kube, namespace, hooks);
  const second = await serve(t, kube, namespace, hooks);
  assert.deepEqual(await urlsOf(kube, configuration), [`${first.url}/validating`, `${first.url}/mutating`]);

  await second.close();
  await first.close();
  const third = await serve(t, kube, namespace, hooks);
  assert.deepEqual(await urlsOf(kube, configuration), [`${third.url}/validating`, `${third.url}/mutating`]);
});

test("what is registered of a kind in which the feature has no hook any more is swept", async (t) => {
  const { kube, namespace, configuration: name, hookOf } = await scene(t);
  const labels = { [managedByLabel]: managedByValue };
  const other = uniqueName("latchkey-test");
  t.after(() => removeQuietly(() => kube.delete(webhookConfigurations.mutating, { name: other })));
  await kube.create(webhookConfigurations.validating, { metadata: { name, labels } });
  await kube.create(webhookConfigurations.mutating, { metadata: { name: other, labels } });
  await serve(t, kube, namespace, [hookOf("mutating", labelling)], [name, other]);
  await untilGone(kube, webhookConfigurations.validating, { name });
  await untilGone(kube, webhookConfigurations.mutating, { name: other });
  assert.ok(await kube.getMetadata(webhookConfigurations.mutating, { name }));
});
