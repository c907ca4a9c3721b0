import type { Home } from "./config.ts";
import { Kube, type KubeOptions } from "./kube/client.ts";
import { loadConnection } from "./kube/kubeconfig.ts";
import { version } from "./version.ts";

/** The client of the operator, or of a command that talks to the API server. */
export async function connect(
  { kubeconfig, context }: Home,
  options: Pick<KubeOptions, "onRequest"> = {},
): Promise<Kube> {
  const connection = await loadConnection({ kubeconfig, context, env: process.env });
  return new Kube(connection, { ...options, userAgent: `latchkey/${version}` });
}
