import { once } from "node:events";
import { get } from "node:https";
import type { Call } from "../../kube/client.ts";
import { within } from "../../kube/deadline.ts";

const probeTimeoutMs = 3000;

/** Whether a webhook server of this installation answers there: only one with a certificate of the registered CA counts. */
export async function probe(baseUrl: string, ca: string, { signal }: Call = {}): Promise<"alive" | "dead" | "silent"> {
  const deadline = within(probeTimeoutMs, signal);
  try {
    const request = get(`${baseUrl}/healthz`, { ca, agent: false, signal: deadline });
    const [response] = await once(request, "response", { signal: deadline });
    response.resume();
    return response.statusCode === 200 ? "alive" : "dead";
  } catch {
    signal?.throwIfAborted();
    return deadline.aborted ? "silent" : "dead";
  }
}
