import type { ClusterStatus } from "../../api/cluster.ts";
import type { Condition } from "../../api/objects.ts";
import { cut } from "../../runtime/cut.ts";
import type { Credentials } from "./credentials.ts";
import type { Identity } from "./identity.ts";
import { describeAccounts } from "./injection/accounts.ts";
import type { InjectionState, Way } from "./injection/mode.ts";
import type { LinkState } from "./link.ts";
import type { ClusterRecord } from "./record.ts";
import { gravestOf, type PlaceTrouble, type Standing, type Trouble } from "./standing.ts";
import { counted } from "./words.ts";

/** How a cluster stands that is served. */
export interface Serving {
  readonly standings: readonly Standing[];
  /** Copies that nobody references any more, and that could not be deleted. */
  readonly strays: readonly PlaceTrouble[];
  /** Namespaces there are, without those that are going. */
  readonly total: number;
  /** Names of those that get copies. */
  readonly served: readonly string[];
  readonly injection: InjectionState;
  /** Why its Secrets or namespaces cannot even be looked at. */
  readonly blocked: { readonly reason: string; readonly message: string } | undefined;
  /** Why edits that nobody has watched are not found. */
  readonly uninspected: Trouble | undefined;
}

/** What a pass found out about a cluster. */
export interface View {
  readonly link: Exclude<LinkState, { kind: "connecting" }>;
  readonly identity: Identity | undefined;
  readonly way: Way | undefined;
  readonly credentials: Credentials;
  /** Name of the older Cluster that leads to the same cluster. */
  readonly rival: string | undefined;
  readonly serving: Serving | undefined;
}

type Said = Pick<Condition, "status" | "reason" | "message">;

const maxFailures = 10;
const maxMessage = 2_048;

export function clusterStatusOf(record: ClusterRecord, view: View): ClusterStatus {
  const { identity, way, credentials, serving } = view;
  const before = record.status;
  const said = conditionsOf(record, view);
  const { generation } = record.metadata;
  const conditions = Object.entries(said).flatMap(([type, each]) =>
    each ? [{ type, ...spoken(each), ...at(generation) }] : [],
  );
  const kept = keptConditions(record, view);
  return {
    ...at(generation),
    conditions: conditions.map((each) => kept.find(({ type }) => type === each.type) ?? each),
    ...(identity ? { clusterID: identity.id, serverVersion: identity.version } : identityIn(before)),
    credentialsFrom: credentials.from,
    ...modeOf(way, before),
    ...(serving ? numbersOf(serving) : numbersIn(before)),
  };
}

const at = (generation: number | undefined) => (generation === undefined ? {} : { observedGeneration: generation });

const spoken = (each: Said): Said => ({ ...each, message: cut(each.message, maxMessage) });

function conditionsOf(record: ClusterRecord, view: View) {
  const { isPaused, pauseReason } = record.wish;
  const reachable = reachableOf(view.link);
  const stalled = stalledOf(view);
  const blocker = reachable.status === "False" ? reachable : stalled;
  const pullSecrets = pullSecretsOf(view, blocker);
  const injection = injectionOf(view, blocker);
  const paused = isPaused
    ? yes("SpecSaysPaused", pauseReason || "spec.pause is true")
    : no("SpecSaysUnpaused", "spec.pause is false");
  return {
    Ready: isPaused
      ? no("SpecSaysPaused", paused.message)
      : readyOf(view, [reachable, ...(stalled ? [stalled] : []), pullSecrets, injection]),
    Reachable: reachable,
    PullSecretsReady: pullSecrets,
    Injection: injection,
    Paused: paused,
    Stalled: stalled && yes(stalled.reason, stalled.message),
  };
}

/** While paused nobody looks at copies and injection: what was said of them stays, with the generation it was said for. */
function keptConditions({ wish, status }: ClusterRecord, { serving }: View): readonly Condition[] {
  if (!wish.isPaused || serving) return [];
  return (status?.conditions ?? []).filter(({ type }) => type === "PullSecretsReady" || type === "Injection");
}

const yes = (reason: string, message: string): Said => ({ status: "True", reason, message });
const no = (reason: string, message: string): Said => ({ status: "False", reason, message });
const unknown = (reason: string, message: string): Said => ({ status: "Unknown", reason, message });

function reachableOf(link: View["link"]): Said {
  switch (link.kind) {
    case "connected":
    case "forbidden":
      return yes("Connected", "its API server answers");
    case "no-kubeconfig":
      return no(link.reason, link.message);
    case "unauthorized":
      return no("Unauthorized", link.message);
    case "unreachable":
      return no("Unreachable", link.message);
  }
}

/** Trying again is of no use until somebody changes something. */
function stalledOf({ link, rival }: View): Said | undefined {
  if (link.kind === "no-kubeconfig" && link.reason === "KubeconfigRefused") return no(link.reason, link.message);
  if (rival === undefined) return undefined;
  return no("DuplicateTarget", `Cluster ${rival} leads to the same cluster and is the older one`);
}

function pullSecretsOf({ link, credentials, serving }: View, blocker: Said | undefined): Said {
  if (credentials.objection) return no(credentials.objection.reason, credentials.objection.message);
  if (link.kind === "forbidden") return no("Forbidden", link.message);
  if (blocker) return unknown(blocker.reason, "not known while the cluster is not served");
  if (!serving) return unknown("Progressing", "not looked at yet");
  if (serving.blocked) return no(serving.blocked.reason, serving.blocked.message);

  const { standings, uninspected } = serving;
  const places = troublesIn(serving);
  const troubles = [...standings.map(({ trouble }) => trouble), uninspected].filter((each) => each !== undefined);
  const gravest = gravestOf([...troubles, ...places]);
  if (!gravest) {
    if (standings.length === 0) return yes("NothingToCopy", "no pull secrets are named");
    return yes("AllCopied", `${counted(standings.length, "pull secret")} in ${summaryOf(serving)} namespaces`);
  }
  return no(gravest.reason, [...troubles.map(({ message }) => message), ...describePlaces(places, serving)].join("; "));
}

/** Those that are only under way are counted, the others named. */
function describePlaces(places: readonly PlaceTrouble[], serving: Serving): readonly string[] {
  const stuck = [...new Set(places.filter(({ reason }) => reason !== "Progressing").map(({ message }) => message))];
  const named = stuck.slice(0, maxFailures);
  const more = stuck.length - named.length;
  const isUnderWay = places.some(({ reason }) => reason === "Progressing");
  return [
    ...named,
    ...(more > 0 ? [`and ${more} more`] : []),
    ...(isUnderWay ? [`${summaryOf(serving)} namespaces`] : []),
  ];
}

function injectionOf({ link, way, serving }: View, blocker: Said | undefined): Said {
  if (link.kind === "forbidden") return no("Forbidden", link.message);
  if (blocker) return unknown(blocker.reason, "not known while the cluster is not served");
  const state = serving?.injection ?? { kind: "pending" };
  switch (state.kind) {
    case "pending":
      return unknown("Progressing", "being written");
    case "disabled":
      return no("Disabled", "mode None: Pods are given nothing");
    case "failed":
      return no(state.reason, state.message);
    case "active": {
      const { suffixed, exempt, contested } = state;
      if (contested.length > 0) {
        return yes("ServiceAccountsContested", `somebody else takes our entries out of ${describeAccounts(contested)}`);
      }
      const details = [
        `mode ${way?.kind}`,
        ...(suffixed > 0
          ? [`${counted(suffixed, "namespace")} with names of ${suffixed === 1 ? "its" : "their"} own`]
          : []),
        ...(exempt > 0 ? [`${counted(exempt, "ServiceAccount")} exempt, enforcing mountable Secrets`] : []),
      ];
      return yes("Active", details.join("; "));
    }
  }
}

/** The gravest reason, and all there is to say. Mode None is no problem. */
function readyOf({ way, serving }: View, conditions: readonly Said[]): Said {
  const problems = conditions.filter(({ status, reason }) => status !== "True" && reason !== "Disabled");
  const causes = problems.filter(({ status }) => status === "False");
  const isStuck = ({ reason }: Said) => reason !== "Progressing";
  const gravest = causes.find(isStuck) ?? causes[0] ?? problems[0];
  if (!gravest) {
    const references = counted(serving?.standings.length ?? 0, "reference");
    return yes("Served", `${references} in ${serving ? summaryOf(serving) : "0/0"} namespaces, mode ${way?.kind}`);
  }
  const messages = causes.length > 0 ? causes.map(({ message }) => message) : [gravest.message];
  return no(gravest.reason, [...new Set(messages)].join("; "));
}

function summaryOf(serving: Serving): string {
  const count = serving.served.length;
  return `${count - failedIn(serving)}/${count}`;
}

const troublesIn = ({ standings, strays }: Serving): readonly PlaceTrouble[] => [
  ...standings.flatMap(({ places }) => places),
  ...strays,
];

function failedIn(serving: Serving): number {
  const troubled = new Set(troublesIn(serving).map(({ namespace }) => namespace));
  return serving.served.filter((namespace) => troubled.has(namespace)).length;
}

function numbersOf(serving: Serving): Partial<ClusterStatus> {
  const { standings, total } = serving;
  const served = serving.served.length;
  const failures = troublesIn(serving).filter(({ reason }) => reason !== "Progressing");
  return {
    namespaces: { total, served, excluded: total - served, failed: failedIn(serving), summary: summaryOf(serving) },
    imagePullSecrets: standings.map(({ reference, copyName, state, copies, suffixed }) => ({
      ...{ namespace: reference.namespace, name: reference.name, copyName, state, copies },
      ...(suffixed.length > 0 && { suffixed: suffixed.length }),
    })),
    ...(failures.length > 0 && {
      failures: failures.slice(0, maxFailures).map(({ namespace, source, reason, message }) => ({
        ...{ namespace, source, reason, message: cut(message, maxMessage) },
      })),
    }),
  };
}

/** What is not looked at now stays as it was last seen; its conditions tell that. */
function numbersIn(before: ClusterStatus | undefined): Partial<ClusterStatus> {
  const { namespaces, imagePullSecrets, failures } = before ?? {};
  return {
    ...(namespaces && { namespaces }),
    ...(imagePullSecrets && { imagePullSecrets }),
    ...(failures && { failures }),
  };
}

function identityIn(before: ClusterStatus | undefined): Partial<ClusterStatus> {
  const { clusterID, serverVersion } = before ?? {};
  return { ...(clusterID && { clusterID }), ...(serverVersion && { serverVersion }) };
}

function modeOf(way: Way | undefined, before: ClusterStatus | undefined): Partial<ClusterStatus> {
  if (way) return { injection: { mode: way.kind === "unavailable" ? "Policy" : way.kind } };
  return before?.injection ? { injection: before.injection } : {};
}
