import { Pool } from "undici";
import type { KubeObject } from "../../src/api/objects.ts";
import type { Kube } from "../../src/kube/client.ts";
import { plainPod } from "../lib/pods.ts";
import { mutating, sidecarsConfiguration } from "../lib/sidecars.ts";

export const podHook = "pods.sidecars.latchkey.dev";

/** The operator's webhook for Pods, without an API server in between. */
export interface Webhook extends AsyncDisposable {
  /** The patch it answers with, empty if none. */
  review(namespace: string): Promise<string>;
}

interface Configuration extends KubeObject {
  readonly webhooks: readonly {
    readonly name: string;
    readonly clientConfig: { readonly url: string; readonly caBundle: string };
  }[];
}

/** As the API server is told to reach it. */
export async function openWebhook(kube: Kube): Promise<Webhook> {
  const configuration = await kube.get<Configuration>(mutating, sidecarsConfiguration);
  const config = configuration?.webhooks.find(({ name }) => name === podHook)?.clientConfig;
  if (!config) throw new Error("void: the webhook is not registered");
  const { origin, pathname, search } = new URL(config.url);
  const ca = Buffer.from(config.caBundle, "base64").toString();
  const pool = new Pool(origin, { connections: 1, allowH2: false, connect: { ca } });
  const headers = { "content-type": "application/json" };
  return {
    async review(namespace) {
      const body = JSON.stringify(reviewIn(namespace));
      const { statusCode, body: answer } = await pool.request({
        method: "POST",
        path: pathname + search,
        headers,
        body,
      });
      const { response } = (await answer.json()) as {
        readonly response?: { readonly allowed: boolean; readonly patch?: string };
      };
      if (statusCode !== 200 || !response?.allowed) throw new Error(`void: a review was answered ${statusCode}`);
      return Buffer.from(response.patch ?? "", "base64").toString();
    },
    [Symbol.asyncDispose]: () => pool.close(),
  };
}

function reviewIn(namespace: string): object {
  const { spec, ...marks } = plainPod;
  const resource = { group: "", version: "v1", resource: "pods" };
  const kind = { group: "", version: "v1", kind: "Pod" };
  return {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: {
      ...{ uid: "00000000-0000-0000-0000-000000000000", kind, resource, requestKind: kind, requestResource: resource },
      ...{ name: "pod", namespace, operation: "CREATE", dryRun: false, options: null, oldObject: null },
      userInfo: { username: "bench", groups: ["system:authenticated"] },
      object: { apiVersion: "v1", kind: "Pod", metadata: { name: "pod", namespace, ...marks }, spec },
    },
  };
}
