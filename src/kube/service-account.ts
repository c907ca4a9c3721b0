import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Connection } from "./connection.ts";
import { tokenFileCredentials } from "./credentials.ts";
import { isInPod, serviceAccountDir } from "./pod.ts";

/** The cluster of the Pod we run in; undefined where we run in none. */
export async function inClusterConnection(
  env: Readonly<Record<string, string | undefined>>,
  dir: string = serviceAccountDir,
): Promise<Connection | undefined> {
  if (!isInPod(env, dir)) return undefined;
  const { KUBERNETES_SERVICE_HOST: host = "", KUBERNETES_SERVICE_PORT: port = "443" } = env;
  const credentials = tokenFileCredentials(join(dir, "token"));
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    tls: { ca: await readFile(join(dir, "ca.crt"), "utf8") },
    authorization: credentials.authorization,
    renewCredentials: credentials.renew,
  };
}
