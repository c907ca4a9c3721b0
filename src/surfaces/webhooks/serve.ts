import type { Call, Kube } from "../../kube/client.ts";
import type { Log } from "../../kube/log.ts";
import { localUrlOf } from "../../runtime/address.ts";
import type { Hook } from "../../runtime/admission.ts";
import type { Check } from "../../runtime/health.ts";
import type { Election } from "../../runtime/lease.ts";
import { hostOf } from "./certificate-plan.ts";
import { Certificates } from "./certificates.ts";
import { Registrar } from "./registration.ts";
import { admissionServiceName, type Reach, registrationsOf } from "./registration-plan.ts";
import { WebhookServer } from "./server.ts";

interface AdmissionConfig {
  readonly namespace: string;
  readonly isInCluster: boolean;
  readonly leaderElect: boolean;
  readonly admissionAddress: string;
  readonly admissionUrl: string | undefined;
}

interface ServeOptions extends Call {
  readonly kube: Kube;
  readonly config: AdmissionConfig;
  /** Names of the webhook configurations of all features, those that are off included. */
  readonly known: readonly string[];
  readonly election: Election;
  readonly log: Log;
}

interface Webhooks extends AsyncDisposable {
  readonly url: string;
  readonly check: Check;
}

/** Everything about admission: certificates, the server, and its registration once there is someone to register. */
export async function serveWebhooks(hooks: readonly Hook[], options: ServeOptions): Promise<Webhooks> {
  const { kube, config, known, election, log, signal } = options;
  const certificates = new Certificates({ kube, namespace: config.namespace, hosts: hostsOf(config), log });
  const { leaf } = await certificates.ensure({ signal });
  const server = await WebhookServer.listen({ hooks, address: config.admissionAddress, leaf, log });
  const localUrl = localUrlOf("https", config.admissionAddress, server.port);
  const reach = reachOf(config, localUrl);
  const role = () => (config.leaderElect ? (election.isLeader() ? "leader" : "standby") : "alone");
  const registrations = registrationsOf(hooks);
  const registrar = new Registrar({ kube, registrations, known, reach, certificates, role, log });
  const stopListening = [
    certificates.onChange((serving) => {
      // A CA that follows another has been trusted for a day by now; only one that replaces a lost one comes as news.
      registrar.wake();
      server.swap(serving.leaf);
    }),
    election.onChange(() => registrar.wake()),
  ];
  certificates.follow();
  registrar.start();

  return {
    url: reach.kind === "url" ? reach.baseUrl : localUrl,
    check: { name: "admission", failing: () => problemOf(server, registrar) },
    [Symbol.asyncDispose]: async () => {
      for (const stop of stopListening) stop();
      await registrar[Symbol.asyncDispose]();
      await certificates[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

function problemOf(server: WebhookServer, registrar: Registrar): string | undefined {
  if (!server.isListening) return "not listening";
  return registrar.isSettled ? undefined : "not registered yet";
}

/** In a cluster the Service leads to all replicas; a URL would lead to one. */
export function reachOf({ isInCluster, namespace, admissionUrl }: AdmissionConfig, localUrl: string): Reach {
  if (isInCluster) return { kind: "service", namespace };
  return { kind: "url", baseUrl: admissionUrl ?? localUrl };
}

/** Names under which the API server may call, for the certificate. */
function hostsOf({ namespace, admissionAddress, admissionUrl }: AdmissionConfig): readonly string[] {
  const service = `${admissionServiceName}.${namespace}.svc`;
  const urls = [admissionUrl, localUrlOf("https", admissionAddress, 443)].filter((url) => url !== undefined);
  const named = urls.map((url) => new URL(url).hostname.replace(/^\[|\]$/gu, ""));
  return [...new Set([service, "localhost", "127.0.0.1", ...named].map(hostOf))];
}
