import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { type LogLevel, logLevels } from "./kube/log.ts";
import { isInPod, serviceAccountDir } from "./kube/pod.ts";
import { choice, type Option, onOff, type Settings, text } from "./options.ts";
import { parseAddress } from "./runtime/address.ts";
import type { ModeFlag } from "./runtime/modes.ts";

const kubeconfig = text({
  name: "kubeconfig",
  value: "<path>",
  about: "kubeconfig of the API server to talk to",
  fallback: undefined,
  fallbackText: "in-cluster, then KUBECONFIG, then ~/.kube/config",
});
const context = text({
  name: "context",
  value: "<name>",
  about: "context of the kubeconfig",
  fallback: undefined,
  fallbackText: "its current one",
});
export const namespace: Option<string | undefined> = {
  name: "namespace",
  value: "<name>",
  about: "where Lease, CA and serving certificate live; created outside a cluster if missing",
  fallback: undefined,
  fallbackText: "latchkey-system, in a Pod its own",
  parse: parseNamespace,
};
export const configFile = text({
  name: "config",
  value: "<path>",
  about: "YAML file with any of these options, e.g. metrics-address: :8080",
  fallback: undefined,
  fallbackText: "",
});

/** Where the API server is, for every command that talks to one. */
export const connectionOptions: readonly Option[] = [kubeconfig, context, namespace, configFile];

const installCrds = onOff({
  name: "install-crds",
  about: "apply our CRDs before starting; never over a foreign one",
  fallback: false,
});
export const metricsAddress = address({
  name: "metrics-address",
  about: "/metrics, /healthz, /readyz; port 0 is any free one",
  fallback: ":8080",
});
const admissionAddress = address({
  name: "admission-address",
  about: "the webhook server; port 0 is any free one",
  fallback: ":9443",
});
export const admissionUrl: Option<string | undefined> = {
  name: "admission-url",
  value: "<url>",
  about:
    "outside a cluster: base URL under which the API server reaches the webhook server; in a cluster the Service is used",
  fallback: undefined,
  fallbackText: "https://127.0.0.1:<port>",
  parse: parseAdmissionUrl,
};
const replicaId = text({
  name: "replica-id",
  value: "<id>",
  about: "name of this replica in the Lease",
  fallback: `${hostname()}_${process.pid}`,
  fallbackText: "host and process id",
});
const leaderElect = onOff({
  name: "leader-elect",
  about: "elect one acting replica by Lease; off only where there is exactly one",
  fallback: true,
});
const referenceCheck = onOff({
  name: "reference-check",
  about: "admission asks whether the writer may read and write the Secrets his object names",
  fallback: true,
});
const logLevel = choice(logLevels, {
  name: "log-level",
  about: "least level that is logged, one line each",
  fallback: "info",
});
const logFormat = choice(["json", "text"], {
  name: "log-format",
  about: "form of a log line",
  fallback: undefined,
  fallbackText: "text on a terminal, else json",
});

export const operatorOptions: readonly Option[] = [
  installCrds,
  metricsAddress,
  admissionAddress,
  admissionUrl,
  replicaId,
  leaderElect,
  referenceCheck,
  logLevel,
  logFormat,
];

const modeFlags = ["auto", "instead", "beside", "off"] as const satisfies readonly ModeFlag[];

/** `--secretsync=auto|instead|beside|off` */
export function modeOption(feature: { readonly name: string; readonly about: string }): Option<ModeFlag> {
  return choice(modeFlags, { name: feature.name, about: feature.about, fallback: "auto" });
}

/** Which API server, and where the operator's own objects are. */
export interface Home {
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  readonly namespace: string;
  /** Latchkey runs in a Pod of the cluster it serves. */
  readonly isInCluster: boolean;
}

export interface Config extends Home {
  readonly installCrds: boolean;
  readonly metricsAddress: string;
  readonly admissionAddress: string;
  readonly admissionUrl: string | undefined;
  readonly replicaId: string;
  readonly leaderElect: boolean;
  readonly referenceCheck: boolean;
  readonly logLevel: LogLevel;
  readonly logFormat: "json" | "text";
  /** For features: their modes and options. */
  readonly settings: Settings;
}

interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly isTerminal: boolean;
  /** Where a Pod finds the credentials of its service account. */
  readonly serviceAccountDir: string;
}

export const surroundings: Surroundings = {
  env: process.env,
  isTerminal: process.stderr.isTTY === true,
  serviceAccountDir,
};

export function homeOf(settings: Settings, { env, serviceAccountDir: dir }: Surroundings): Home {
  const path = settings.get(kubeconfig);
  const name = settings.get(context);
  // As the connection is found: whoever names a kubeconfig or a context does not mean the Pod's own cluster.
  const isInCluster = isInPod(env, dir) && !path && !name;
  return {
    kubeconfig: path,
    context: name,
    namespace: settings.get(namespace) ?? (isInCluster ? podNamespace(dir) : "latchkey-system"),
    isInCluster,
  };
}

export function configOf(settings: Settings, around: Surroundings): Config {
  return {
    ...homeOf(settings, around),
    installCrds: settings.get(installCrds),
    metricsAddress: settings.get(metricsAddress),
    admissionAddress: settings.get(admissionAddress),
    admissionUrl: settings.get(admissionUrl),
    replicaId: settings.get(replicaId),
    leaderElect: settings.get(leaderElect),
    referenceCheck: settings.get(referenceCheck),
    logLevel: settings.get(logLevel),
    logFormat: settings.get(logFormat) ?? (around.isTerminal ? "text" : "json"),
    settings,
  };
}

function address(shape: Pick<Option, "name" | "about"> & { readonly fallback: string }): Option<string> {
  const parse = (given: string): string => {
    parseAddress(given);
    return given;
  };
  return { value: "<address>", ...shape, parse };
}

function podNamespace(dir: string): string {
  return readFileSync(`${dir}/namespace`, "utf8").trim();
}

function parseNamespace(given: string): string {
  if (/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/u.test(given)) return given;
  throw new Error(`${JSON.stringify(given)} is not a name of a namespace`);
}

function parseAdmissionUrl(given: string): string {
  const url = URL.parse(given);
  // The API server refuses anything but https, and a query or a fragment.
  if (url?.protocol !== "https:" || url.search || url.hash || url.username) {
    throw new Error(`${JSON.stringify(given)} is not a plain https URL`);
  }
  return url.href.replace(/\/+$/u, "");
}
