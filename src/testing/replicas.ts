import { request } from "node:https";
import { json } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { ask } from "../../tools/local/http.ts";
import type { Operator } from "../../tools/local/operator.ts";
import { leases } from "../api/objects.ts";
import type { Lease } from "../runtime/lease-move.ts";
import type { ApiProxy } from "./api-proxy.ts";
import { uniqueName } from "./cluster.ts";
import { sampleIn } from "./metrics.ts";
import type { OwnPlane } from "./planes.ts";
import { until } from "./wait.ts";

const leaseRef = { namespace: "latchkey-system", name: "latchkey" };

/** One of several operators of a plane, with a way of its own to the API server. */
export interface Replica {
  readonly name: string;
  readonly proxy: ApiProxy;
  readonly operator: Operator;
}

export class Replicas {
  readonly #own: OwnPlane;
  readonly #all: Replica[] = [];

  constructor(own: OwnPlane) {
    this.#own = own;
  }

  /** `before` may set up faults that it meets from its first request on. */
  async start(name: string, before?: (proxy: ApiProxy) => void): Promise<Replica> {
    const proxy = await this.#own.proxy();
    before?.(proxy);
    const replica = { name, proxy, operator: await this.#own.operator({ through: proxy, replica: name }) };
    this.#all.push(replica);
    return replica;
  }

  /** Looked up anew by each test: on a busy machine the lease may have moved by itself. */
  async roles(): Promise<{ readonly leader: Replica; readonly standby: Replica }> {
    const isHeld = (seen: Lease | undefined) => !!seen?.spec?.holderIdentity;
    const lease = await until<Lease>(await this.#own.kube, leases, leaseRef, "is held", isHeld);
    const running = this.#all.filter(({ operator }) => !operator.ending);
    const leader = running.find(({ name }) => name === lease?.spec?.holderIdentity);
    const standby = running.find((replica) => replica !== leader);
    if (!leader || !standby) throw new Error("there should be two replicas, one of them leading");
    await untilLeads(leader, true);
    return { leader, standby };
  }
}

export async function untilLeads({ name, operator }: Replica, isLeading: boolean): Promise<void> {
  for (const deadline = performance.now() + 90_000; ; await sleep(100)) {
    const { body } = await ask(`${operator.metricsUrl}/metrics`);
    if (sampleIn(body, "latchkey_leader") === (isLeading ? 1 : 0)) return;
    if (performance.now() > deadline) throw new Error(`${name} ${isLeading ? "does not lead" : "still leads"}`);
  }
}

export function writesOf({ proxy }: Replica, { from }: { readonly from: number }): readonly string[] {
  const writes = proxy.requests.slice(from).filter(({ isWrite }) => isWrite);
  return writes.map(({ method, path, status }) => `${method} ${path}: ${status}`);
}

export interface Verdict {
  readonly allowed: boolean;
  readonly status?: { readonly message?: string };
  /** A JSON patch in base64. */
  readonly patch?: string;
}

/** Asks the replica itself, as the API server would, about something that is to be created. */
export async function reviewBy(
  { operator }: Replica,
  path: string,
  asked: {
    readonly object: object;
    readonly namespace?: string | undefined;
    readonly userInfo: { readonly username: string; readonly groups: readonly string[] };
  },
): Promise<Verdict> {
  const asking = { uid: uniqueName("asked"), operation: "CREATE", ...asked };
  const body = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request: asking };
  // Whose certificate it is, other tests look at.
  const options = { method: "POST", agent: false, rejectUnauthorized: false };
  const { promise, resolve, reject } = Promise.withResolvers<{ response: Verdict }>();
  const sent = request(`${operator.admissionUrl}${path}`, options, (answer) => {
    json(answer).then((parsed) => resolve(parsed as { response: Verdict }), reject);
  });
  sent.on("error", reject).end(JSON.stringify(body));
  return (await promise).response;
}
