import { once } from "node:events";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { KubeObject } from "../api/objects.ts";
import type { JsonPatchOp, Kube } from "../kube/client.ts";
import { issueCa, issueLeaf } from "../kube/x509.ts";
import { removeQuietly } from "./cluster.ts";
import { base64 } from "./objects.ts";
import { configurations } from "./sidecars.ts";

/** What a webhook is asked about. */
export interface Asked<T extends KubeObject> {
  readonly operation: "CREATE" | "UPDATE" | "DELETE";
  /** As it would be; of a deletion what is there now. */
  readonly object: T;
  readonly oldObject?: T | undefined;
  readonly namespace: string;
  readonly username: string;
}

export type Answer =
  | { readonly allowed: true; readonly patch?: readonly JsonPatchOp[] }
  | { readonly allowed: false; readonly status: object };

export interface ForeignWebhookOptions<T extends KubeObject> {
  readonly kind: "mutating" | "validating";
  /** Name of the configuration it is registered in. */
  readonly configuration: string;
  /** Its own; a refusal quotes it. */
  readonly name: string;
  /** Plural, of the core group. */
  readonly resource: string;
  readonly operations: readonly Asked<T>["operation"][];
  readonly namespaceSelector?: object;
  answer(asked: Asked<T>): Answer | Promise<Answer>;
}

/** A webhook of somebody else: a real server, and its registration. */
export class ForeignWebhook<T extends KubeObject> implements AsyncDisposable {
  readonly #kube: Kube;
  readonly #options: ForeignWebhookOptions<T>;
  readonly #server: Server;

  private constructor(kube: Kube, options: ForeignWebhookOptions<T>, server: Server) {
    this.#kube = kube;
    this.#options = options;
    this.#server = server;
  }

  /** The API server hears of it a moment later, and tells nobody when. */
  static async register<T extends KubeObject>(
    kube: Kube,
    options: ForeignWebhookOptions<T>,
  ): Promise<ForeignWebhook<T>> {
    const { server, clientConfig } = await serveReviews((body) => answerOf(body, options.answer));
    const webhook = new ForeignWebhook(kube, options, server);
    const { kind, configuration, name, resource, operations, namespaceSelector } = options;
    const draft = {
      metadata: { name: configuration },
      webhooks: [
        {
          ...{ name, clientConfig },
          rules: [{ apiGroups: [""], apiVersions: ["v1"], resources: [resource], operations }],
          ...(namespaceSelector && { namespaceSelector }),
          ...{ admissionReviewVersions: ["v1"], sideEffects: "None", timeoutSeconds: 10, failurePolicy: "Fail" },
        },
      ],
    };
    try {
      await kube.create<KubeObject & { webhooks: unknown }>(configurations[kind], draft);
      return webhook;
    } catch (error) {
      await webhook[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The server answers on, for reviews that are on their way. */
  async unregister(): Promise<void> {
    const { kind, configuration: name } = this.#options;
    await removeQuietly(() => this.#kube.delete(configurations[kind], { name }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

async function serveReviews(answer: (body: string) => Promise<object>) {
  const ca = await issueCa({ commonName: "somebody", days: 1 });
  const leaf = await issueLeaf(ca, { commonName: "somebody", ips: ["127.0.0.1"], usages: ["server"], days: 1 });
  const server = createServer({ cert: leaf.certificatePem, key: leaf.keyPem }, (request, response) => {
    const answered = text(request).then(async (body) => response.end(JSON.stringify(await answer(body))));
    answered.catch(() => response.destroy());
  });
  // The API server keeps idle connections for 90 s and would otherwise meet a closed one.
  server.keepAliveTimeout = 120_000;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return { server, clientConfig: { url, caBundle: base64(ca.certificatePem) } };
}

interface Review<T> {
  readonly request: {
    readonly uid: string;
    readonly operation: Asked<KubeObject>["operation"];
    readonly namespace?: string;
    readonly object: T | null;
    readonly oldObject: T | null;
    readonly userInfo: { readonly username: string };
  };
}

async function answerOf<T extends KubeObject>(
  body: string,
  answer: ForeignWebhookOptions<T>["answer"],
): Promise<object> {
  const { uid, operation, namespace = "", object, oldObject, userInfo } = (JSON.parse(body) as Review<T>).request;
  const shown = object ?? (oldObject as T);
  const asked = { operation, object: shown, oldObject: oldObject ?? undefined, namespace, ...userInfo };
  const answered = await answer(asked);
  const response = { uid, ...answered, ...("patch" in answered && encoded(answered.patch)) };
  return { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response };
}

const encoded = (patch: readonly JsonPatchOp[] | undefined) => ({
  patchType: "JSONPatch",
  patch: base64(JSON.stringify(patch)),
});
