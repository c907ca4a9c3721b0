import { mayWe } from "../../kube/access-review.ts";
import { Kube, type RequestSeen } from "../../kube/client.ts";
import type { Connection } from "../../kube/connection.ts";
import { withDeadline } from "../../kube/deadline.ts";
import { countRequest } from "../../kube/metrics.ts";
import { version as ownVersion } from "../../version.ts";
import { type Identity, identify } from "./identity.ts";
import { findPolicyVersion } from "./injection/choose.ts";
import type { PolicyVersion } from "./injection/objects.ts";
import { type Failure, failureOf, unreachableAfterMs } from "./reachability.ts";
import { lackOf } from "./words.ts";

/** A way to a cluster that has answered. */
export interface Line {
  readonly kube: Kube;
  readonly server: string;
  readonly identity: Identity;
  readonly policyVersion: PolicyVersion | undefined;
  readonly isHome: boolean;
}

interface OpenOptions {
  readonly home: Kube;
  readonly homeId: string;
  readonly signal: AbortSignal;
  onRequest(kube: Kube, request: RequestSeen): void;
}

const maxFanOut = 8;

/** A client of its own for this cluster; one that turns out to be the home is spoken to as such. */
export async function openLine(connection: Connection, options: OpenOptions): Promise<Line | Failure> {
  const { home, homeId, signal } = options;
  const onRequest = (request: RequestSeen) => {
    countRequest(request);
    options.onRequest(kube, request);
  };
  const kube = new Kube(connection, { userAgent: `latchkey/${ownVersion}`, maxFanOut, onRequest });
  const answer = await askAlong({ kube, server: new URL(connection.server).origin, isHome: false }, signal);
  if (isLine(answer) && answer.identity.id !== homeId) return answer;
  await kube[Symbol.asyncDispose]();
  if (!isLine(answer)) return answer;
  return (await refusalAtHome(connection, home, signal)) ?? { ...answer, kube: home, isHome: true };
}

/**
 * The home is served with our own rights, and who it is anybody can claim: so the home itself is asked whether the
 * kubeconfig's user may do there what we would do.
 */
async function refusalAtHome(connection: Connection, home: Kube, signal: AbortSignal): Promise<Failure | undefined> {
  await using user = home.as(connection, { userAgent: `latchkey/${ownVersion}` });
  const right = { verb: "create", resource: "secrets", group: "" };
  try {
    const isAllowed = await withDeadline(unreachableAfterMs, signal, (each) => mayWe(user, right, { signal: each }));
    return isAllowed ? undefined : { kind: "forbidden", message: lackOf(right) };
  } catch (error) {
    return failureOf(error, "the home");
  }
}

/** Who is at the other end, and what it serves. */
export async function askAlong(
  way: Pick<Line, "kube" | "server" | "isHome">,
  signal: AbortSignal,
): Promise<Line | Failure> {
  const within = <T>(ask: (signal: AbortSignal) => Promise<T>) => withDeadline(unreachableAfterMs, signal, ask);
  try {
    const identity = await identify(way.kube, within);
    const policyVersion = await within((each) => findPolicyVersion(way.kube, { signal: each }));
    return { kube: way.kube, server: way.server, isHome: way.isHome, identity, policyVersion };
  } catch (error) {
    return failureOf(error, way.server);
  }
}

export const isLine = (answer: Line | Failure): answer is Line => "kube" in answer;
