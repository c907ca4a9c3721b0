import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Secret, secrets } from "../api/objects.ts";
import type { Kube } from "../kube/client.ts";
import { uniqueName } from "./cluster.ts";
import { type Answer, type Asked as AskedAbout, ForeignWebhook } from "./foreign-webhooks.ts";

export type Asked = AskedAbout<Secret>;

/** Says in which words a write of a Secret is refused, or `undefined` to let it pass. */
export type Refuse = (asked: Asked) => string | undefined;

/** The one Secret by which we find out that the API server asks the webhook: always refused, never stored. */
const probeName = "is-the-webhook-asked";

/**
 * A webhook of somebody else that refuses Secrets in these namespaces; removed after the test. Resolves once the API
 * server asks it, with functions that take it away again, or leave it registered and answering nobody.
 */
export async function refuseSecrets(
  t: TestContext,
  kube: Kube,
  namespaces: readonly string[],
  refuse: Refuse,
  status: { readonly code: number; readonly reason?: string } = { code: 403 },
): Promise<{ readonly name: string; stop(): Promise<void>; die(): Promise<void> }> {
  const name = uniqueName("refusals");
  const webhook = await ForeignWebhook.register<Secret>(kube, {
    kind: "validating",
    configuration: name,
    name: "refusals.example.com",
    resource: "secrets",
    operations: ["CREATE", "UPDATE", "DELETE"],
    namespaceSelector: {
      matchExpressions: [{ key: "kubernetes.io/metadata.name", operator: "In", values: namespaces }],
    },
    answer: (asked) => answerOf(asked, refuse, status),
  });
  const stop = () => webhook.unregister();
  // Before the server's end: nobody is to be asked of a webhook that is no longer there.
  t.after(stop);
  t.after(() => webhook[Symbol.asyncDispose]());
  await Promise.all(namespaces.map((namespace) => untilAsked(kube, namespace)));
  return { name, stop, die: () => webhook[Symbol.asyncDispose]() };
}

function answerOf(asked: Asked, refuse: Refuse, status: object): Answer {
  const message = asked.object.metadata.name === probeName ? "asked" : refuse(asked);
  return message === undefined ? { allowed: true } : { allowed: false, status: { ...status, message } };
}

/** The API server reads webhook configurations a moment after they are written, and tells nobody when. */
async function untilAsked(kube: Kube, namespace: string): Promise<void> {
  for (const deadline = performance.now() + 60_000; ; await sleep(100)) {
    try {
      await kube.create(secrets, { metadata: { namespace, name: probeName } }, { dryRun: true });
    } catch (error) {
      if (error instanceof Error && error.message.includes("refusals.example.com")) return;
    }
    if (performance.now() > deadline) throw new Error(`the API server does not ask the webhook about ${namespace}`);
  }
}
