import { existsSync } from "node:fs";
import { join } from "node:path";

/** Where a Pod finds the credentials of its service account. */
export const serviceAccountDir = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Whether we run in a Pod that may talk to its cluster. */
export function isInPod(env: Readonly<Record<string, string | undefined>>, dir: string): boolean {
  return Boolean(env.KUBERNETES_SERVICE_HOST) && existsSync(join(dir, "ca.crt"));
}
