import { join } from "node:path";
import type { Certificates } from "./certificates.ts";

const loopback = "127.0.0.1";

/** Named one by one: the controllers we do not need would cost memory and write things no test expects. */
const controllers = [
  "garbage-collector-controller",
  "namespace-controller",
  "serviceaccount-controller",
  "serviceaccount-token-controller",
  "root-ca-certificate-publisher-controller",
  "clusterrole-aggregation-controller",
  "deployment-controller",
  "replicaset-controller",
  "statefulset-controller",
  "daemonset-controller",
  "job-controller",
];

export interface SharedFlags {
  readonly dir: string;
  readonly certificates: Certificates;
  readonly emulatedVersion: string | undefined;
  readonly featureGates: Readonly<Record<string, boolean>> | undefined;
}

export interface ClientFlags {
  readonly port: number;
  readonly kubeconfig: string;
}

export function etcdArgs(dir: string, clientPort: number, peerPort: number): string[] {
  const client = `http://${loopback}:${clientPort}`;
  const peer = `http://${loopback}:${peerPort}`;
  return [
    `--data-dir=${join(dir, "etcd")}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
    "--unsafe-no-fsync",
    "--quota-backend-bytes=8589934592",
    "--log-level=warn",
  ];
}

export function apiServerArgs(
  flags: SharedFlags & {
    readonly etcdPort: number;
    readonly port: number;
    readonly auditLog: string | undefined;
  },
): string[] {
  const { dir, certificates } = flags;
  return [
    `--etcd-servers=http://${loopback}:${flags.etcdPort}`,
    `--bind-address=${loopback}`,
    `--advertise-address=${loopback}`,
    `--secure-port=${flags.port}`,
    `--tls-cert-file=${certificates.serverCertFile}`,
    `--tls-private-key-file=${certificates.serverKeyFile}`,
    `--client-ca-file=${certificates.caFile}`,
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${certificates.serviceAccountPublicFile}`,
    `--service-account-signing-key-file=${certificates.serviceAccountKeyFile}`,
    "--service-cluster-ip-range=10.0.0.0/24",
    "--authorization-mode=RBAC",
    "--allow-privileged=true",
    `--cert-dir=${join(dir, "apiserver-certs")}`,
    ...emulationArgs(flags),
    ...featureGateArgs(flags),
    ...(flags.auditLog
      ? [`--audit-log-path=${flags.auditLog}`, `--audit-policy-file=${join(dir, "audit-policy.yaml")}`]
      : []),
  ];
}

export function controllerManagerArgs(flags: SharedFlags & ClientFlags): string[] {
  return [
    ...clientArgs(flags),
    `--controllers=${controllers.join(",")}`,
    `--service-account-private-key-file=${flags.certificates.serviceAccountKeyFile}`,
    `--root-ca-file=${flags.certificates.caFile}`,
    "--use-service-account-credentials=true", // without it namespaces never finish deleting
  ];
}

export function schedulerArgs(flags: SharedFlags & ClientFlags): string[] {
  return clientArgs(flags);
}

export function kwokArgs({ port, kubeconfig }: ClientFlags): string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    "--manage-all-nodes",
    `--config=${join(import.meta.dirname, "kwok-stages.yaml")}`,
    `--server-address=${loopback}:${port}`,
    "--node-ip=127.0.0.1",
    "--node-lease-duration-seconds=0", // nobody reads them, and each is a write
  ];
}

function clientArgs(flags: SharedFlags & ClientFlags): string[] {
  return [
    `--kubeconfig=${flags.kubeconfig}`,
    "--leader-elect=false",
    `--bind-address=${loopback}`,
    `--secure-port=${flags.port}`,
    `--tls-cert-file=${flags.certificates.serverCertFile}`,
    `--tls-private-key-file=${flags.certificates.serverKeyFile}`,
    ...emulationArgs(flags),
  ];
}

function emulationArgs({ emulatedVersion }: SharedFlags): string[] {
  return emulatedVersion ? [`--emulated-version=${emulatedVersion}`] : [];
}

function featureGateArgs({ featureGates = {} }: SharedFlags): string[] {
  const gates = Object.entries(featureGates).map(([name, isOn]) => `${name}=${isOn}`);
  return gates.length > 0 ? [`--feature-gates=${gates.join(",")}`] : [];
}
