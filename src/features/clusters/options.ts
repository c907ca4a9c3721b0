import { isDnsLabel, isDnsSubdomain } from "../../api/dns-names.ts";
import { type NamespacedRef, refOfKey } from "../../api/objects.ts";
import { duration, type Option, onOff } from "../../options.ts";

export const kubermaticNamespace: Option<string> = {
  name: "kubermatic-namespace",
  value: "<name>",
  about: "where a KubermaticConfiguration counts",
  fallback: "kubermatic",
  parse: parseNamespace,
};

export const defaultPullSecret: Option<NamespacedRef | undefined> = {
  name: "default-pull-secret",
  value: "<namespace>/<name>",
  about: "pull secret of Clusters that name none, where there is no KubermaticConfiguration",
  fallback: undefined,
  fallbackText: "",
  parse(given) {
    const { namespace = "", name } = refOfKey(given);
    if (!isDnsLabel(namespace) || !isDnsSubdomain(name)) throw new Error(`${JSON.stringify(given)} names no Secret`);
    return { namespace, name };
  },
};

export const clusterApiNamespaces: Option<readonly string[]> = {
  name: "cluster-api-namespaces",
  value: "<name>,…",
  about: "namespaces in which the kubeconfigs of Cluster API are looked for",
  fallback: [],
  fallbackText: "none",
  parse: (given) => given.split(",").map((name) => parseNamespace(name.trim())),
};

export const allowInsecureClusters = onOff({
  name: "allow-insecure-clusters",
  about: "accept kubeconfigs with insecure-skip-tls-verify",
  fallback: false,
});

export const clusterCleanupTimeout = duration({
  name: "cluster-cleanup-timeout",
  about: "how long the deletion of a Cluster waits for one that does not answer",
  fallback: 60_000,
  fallbackText: "1m",
});

export const clusterOptions: readonly Option[] = [
  kubermaticNamespace,
  defaultPullSecret,
  clusterApiNamespaces,
  allowInsecureClusters,
  clusterCleanupTimeout,
];

function parseNamespace(given: string): string {
  if (isDnsLabel(given)) return given;
  throw new Error(`${JSON.stringify(given)} is not a name of a namespace`);
}
