import { keyOf } from "../../api/objects.ts";
import type { Fleet } from "./fleet.ts";
import { refusedWatch } from "./injection/injector.ts";
import type { Link } from "./link.ts";
import { classOf } from "./reachability.ts";
import type { Session } from "./session.ts";
import { leftoverTroubles, standingOf, type Trouble } from "./standing.ts";
import type { Serving, View } from "./status.ts";
import { describeMissingVerb } from "./words.ts";

/** What is to be told about a cluster now; undefined while that is not known yet. */
export function viewOf(link: Link, fleet: Fleet): View | undefined {
  const { state, identity, way, order, session } = link;
  if (state.kind === "connecting") return undefined;
  const rival = fleet.rivalOf(link)?.order.record.metadata.name;
  const isServed = state.kind === "connected" && rival === undefined && !order.record.wish.isPaused;
  const serving = isServed && session && !session.isOver ? servingOf(session) : undefined;
  if (isServed && !serving) return undefined;
  return { link: state, identity, way, credentials: order.credentials, rival, serving };
}

/** Undefined while the caches are filling. */
function servingOf(session: Session): Serving | undefined {
  const { demand, pullSecrets, replication } = session;
  const { copies, namespaces } = replication;
  const failing = [copies, namespaces].flatMap(({ health, isSynced }) => {
    const failure = refusedWatch(health.failing?.error);
    if (failure) return [failure];
    return health.failing && !isSynced ? [{ reason: "Progressing", message: classOf(health.failing.error) }] : [];
  });
  const [blocked] = failing;
  if (!blocked && !(copies.isSynced && namespaces.isSynced)) return undefined;
  const served = demand.served();
  const usual = demand.usualNames();
  // A source may turn out to be missing though all its copies are there.
  const isLookedAt = demand.claims.references.every((reference) => demand.stateOf(reference) !== undefined);
  return {
    standings: demand.claims.references.map((reference, at) =>
      standingOf({
        ...{ reference, served, copyName: usual[at] || demand.nameOf(reference) },
        report: pullSecrets.reportOf(keyOf(reference)),
        state: demand.stateOf(reference),
        copyIn: (namespace) => pullSecrets.copyIn(reference, namespace)?.metadata.name,
      }),
    ),
    strays: [...pullSecrets.reports()].flatMap(([source, report]) =>
      demand.lists(source) ? [] : leftoverTroubles(source, report),
    ),
    total: namespaces.list().filter(({ metadata }) => !metadata.deletionTimestamp).length,
    served,
    injection: isLookedAt || blocked ? session.injection : { kind: "pending" },
    blocked,
    uninspected: lackIn(session.inspectionError),
  };
}

function lackIn(error: unknown): Trouble | undefined {
  const message = describeMissingVerb(error);
  return message === undefined ? undefined : { reason: "Forbidden", message };
}

/** Copies that are simply on their way, or an injection that is being written. */
export const isUnderWay = ({ serving }: View): boolean =>
  serving !== undefined &&
  (serving.injection.kind === "pending" ||
    serving.standings.some(({ places }) => places.some(({ reason }) => reason === "Progressing")));
