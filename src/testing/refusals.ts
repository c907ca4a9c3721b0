import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type KubeObject, type Resource, type Secret, secrets } from "../api/objects.ts";
import type { Kube } from "../kube/client.ts";
import { issueCa, issueLeaf } from "../kube/x509.ts";
import { removeQuietly, uniqueName } from "./cluster.ts";

const configurations: Resource = {
  group: "admissionregistration.k8s.io",
  version: "v1",
  plural: "validatingwebhookconfigurations",
  kind: "ValidatingWebhookConfiguration",
  namespaced: false,
};

export interface Asked {
  readonly operation: "CREATE" | "UPDATE" | "DELETE";
  /** As it would be; of a deletion what is there now. */
  readonly object: Secret;
  readonly oldObject?: Secret | undefined;
  readonly username: string;
}

/** Says in which words a write of a Secret is refused, or `undefined` to let it pass. */
export type Refuse = (asked: Asked) => string | undefined;

/** The one Secret by which we find out that the API server asks the webhook: always refused, never stored. */
const probeName = "is-the-webhook-asked";

/**
 * A webhook of somebody else that refuses Secrets in these namespaces; removed after the test. Resolves once the API
 * server asks it, with a function that takes it away again.
 */
export async function refuseSecrets(
  t: TestContext,
  kube: Kube,
  namespaces: readonly string[],
  refuse: Refuse,
  status: { readonly code: number; readonly reason?: string } = { code: 403 },
): Promise<{ readonly name: string; stop(): Promise<void> }> {
  const name = uniqueName("refusals");
  const stop = () => removeQuietly(() => kube.delete(configurations, { name }));
  // Before the server's end: nobody is to be asked of a webhook that is no longer there.
  t.after(stop);
  const { url, caPem } = await serveReviews(t, (body) => answerOf(body, refuse, status));
  await kube.create<KubeObject & { webhooks: unknown }>(configurations, {
    metadata: { name },
    webhooks: [
      {
        name: "refusals.example.com",
        clientConfig: { url, caBundle: Buffer.from(caPem).toString("base64") },
        rules: [
          { apiGroups: [""], apiVersions: ["v1"], resources: ["secrets"], operations: ["CREATE", "UPDATE", "DELETE"] },
        ],
        namespaceSelector: {
          matchExpressions: [{ key: "kubernetes.io/metadata.name", operator: "In", values: namespaces }],
        },
        admissionReviewVersions: ["v1"],
        sideEffects: "None",
        timeoutSeconds: 10,
        failurePolicy: "Fail",
      },
    ],
  });
  await Promise.all(namespaces.map((namespace) => untilAsked(kube, namespace)));
  return { name, stop };
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

async function serveReviews(t: TestContext, answer: (body: string) => object): Promise<{ url: string; caPem: string }> {
  const ca = await issueCa({ commonName: "refusals", days: 1 });
  const leaf = await issueLeaf(ca, { commonName: "refusals", ips: ["127.0.0.1"], usages: ["server"], days: 1 });
  const server = createServer({ cert: leaf.certificatePem, key: leaf.keyPem }, (request, response) => {
    const answered = text(request).then((body) => response.end(JSON.stringify(answer(body))));
    answered.catch(() => response.destroy());
  });
  // The API server keeps idle connections for 90 s and would otherwise meet a closed one.
  server.keepAliveTimeout = 120_000;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/`, caPem: ca.certificatePem };
}

function answerOf(body: string, refuse: Refuse, status: object): object {
  const { uid, operation, object, oldObject, userInfo } = (JSON.parse(body) as Review).request;
  const shown = object ?? (oldObject as Secret);
  const asked = { operation, object: shown, oldObject: oldObject ?? undefined, username: userInfo.username };
  const message = shown.metadata.name === probeName ? "asked" : refuse(asked);
  const response = { uid, allowed: message === undefined, ...(message && { status: { ...status, message } }) };
  return { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response };
}

interface Review {
  readonly request: {
    readonly uid: string;
    readonly operation: Asked["operation"];
    readonly object: Secret | null;
    readonly oldObject: Secret | null;
    readonly userInfo: { readonly username: string };
  };
}
