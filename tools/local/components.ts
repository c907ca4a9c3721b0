import { copyFileSync } from "node:fs";
import { join } from "node:path";
import type { Binaries } from "./binaries.ts";
import type { Certificates, Credentials } from "./certificates.ts";
import { Component } from "./component.ts";
import { apiServerArgs, controllerManagerArgs, etcdArgs, kwokArgs, schedulerArgs } from "./flags.ts";
import type { BinaryName } from "./go-modules.ts";
import type { Identity } from "./http.ts";
import type { Ports } from "./ports.ts";
import { registryConfig } from "./registry.ts";

export interface Components {
  readonly etcd: Component;
  readonly apiserver: Component;
  readonly controllerManager: Component;
  readonly scheduler?: Component;
  readonly kwok?: Component;
  readonly registry?: Component;
}

export interface Ground {
  readonly dir: string;
  readonly binaries: Partial<Binaries>;
  readonly certificates: Certificates;
  readonly ports: Ports;
  readonly server: string;
  readonly admin: Identity;
  readonly auditLog: string | undefined;
  readonly emulatedVersion: string | undefined;
  readonly featureGates: Readonly<Record<string, boolean>> | undefined;
  readonly hasNodes: boolean;
  readonly hasRegistry: boolean;
  writeKubeconfig(name: string, credentials: Credentials): string;
}

/** The servers of a control plane, none of them started yet. */
export function componentsOf(ground: Ground): Components {
  const { dir, ports, server, admin, certificates, auditLog, hasNodes, hasRegistry, writeKubeconfig } = ground;
  const component = (name: BinaryName, args: readonly string[], readyUrl: string, identity: Identity = {}) =>
    new Component({
      name,
      command: ground.binaries[name] ?? name,
      args,
      logFile: join(dir, "logs", `${name}.log`),
      readyUrl,
      identity,
    });
  if (auditLog) copyFileSync(join(import.meta.dirname, "audit-policy.yaml"), join(dir, "audit-policy.yaml"));

  const plain = (port: number, path: string) => `http://127.0.0.1:${port}${path}`;
  const secure = (port: number, path: string) => `https://127.0.0.1:${port}${path}`;
  const ca = { ca: certificates.ca };
  const etcd = etcdArgs(dir, ports.etcdClient, ports.etcdPeer);
  const apiServer = apiServerArgs({ ...ground, etcdPort: ports.etcdClient, port: ports.api, auditLog });
  const manager = controllerManagerArgs({
    ...ground,
    port: ports.manager,
    kubeconfig: writeKubeconfig("kube-controller-manager", certificates.controllerManager),
  });
  const scheduler = schedulerArgs({
    ...ground,
    port: ports.scheduler,
    kubeconfig: writeKubeconfig("kube-scheduler", certificates.scheduler),
  });
  const kwok = kwokArgs({ port: ports.kwok, kubeconfig: writeKubeconfig("kwok", certificates.kwok) });
  const registry = ["serve", registryConfig(dir, ports.registry)];

  return {
    etcd: component("etcd", etcd, plain(ports.etcdClient, "/health")),
    apiserver: component("kube-apiserver", apiServer, `${server}/readyz`, admin),
    controllerManager: component("kube-controller-manager", manager, secure(ports.manager, "/healthz"), ca),
    ...(hasNodes && {
      scheduler: component("kube-scheduler", scheduler, secure(ports.scheduler, "/healthz"), ca),
      kwok: component("kwok", kwok, plain(ports.kwok, "/healthz")),
    }),
    ...(hasRegistry && { registry: component("registry", registry, plain(ports.registry, "/v2/")) }),
  };
}
