import { clusters } from "../../api/kinds.ts";
import { type KubeObject, keyOf, type Secret, secrets } from "../../api/objects.ts";
import type { AccessAttributes } from "../../kube/access-review.ts";
import type { Call, Kube } from "../../kube/client.ts";
import { type Hook, webhookConfigurationOf } from "../../runtime/admission.ts";
import { reviewRights, secretRight } from "../../runtime/writer-rights.ts";
import { hitIn, type Place, type Search, searchFor } from "./kubeconfig-search.ts";
import { clusterSendsFurther } from "./match-conditions.ts";
import { type ClusterRecord, type ClustersMode, recordOf } from "./record.ts";

interface ReferenceHookOptions {
  readonly kube: Kube;
  readonly mode: ClustersMode;
  readonly clusterApiNamespaces: readonly string[];
}

/** Whoever writes a Cluster could have any pull secret sent to a cluster of his own: he must be able to read it himself. */
export function clusterReferenceHook({ kube, mode, clusterApiNamespaces }: ReferenceHookOptions): Hook {
  return {
    kind: "validating",
    name: "references.clusters.latchkey.dev",
    path: "/validate/clusters/references",
    configuration: webhookConfigurationOf("clusters"),
    resource: clusters,
    operations: ["CREATE", "UPDATE"],
    failurePolicy: "Fail",
    sideEffects: "None",
    matchConditions: clusterSendsFurther(mode),
    review: async ({ object, oldObject, user }, { signal }) => {
      const after = comparedOf(object as KubeObject, mode);
      const before = oldObject ? comparedOf(oldObject as KubeObject, mode) : undefined;
      const { references, searches, isHome } = planRights(after, before, { mode, clusterApiNamespaces });
      const looked = await Promise.all(searches.map((search) => worthAsking(search, kube, { signal })));
      const wanted: AccessAttributes[] = [
        ...references.map((reference) => secretRight("get", reference)),
        ...looked.flat().map(({ namespace, name }) => secretRight("get", { namespace, name })),
        ...(isHome ? [{ verb: "create", group: "", resource: "secrets" }] : []),
      ];
      return reviewRights(kube, user, wanted, { kind: clusters.kind, signal });
    },
  };
}

interface Compared {
  readonly record: ClusterRecord;
  /** The annotations count on the day that the original comes: nobody asks about them then. */
  readonly annotated: ClusterRecord;
  readonly project: string;
}

export function comparedOf(object: KubeObject, mode: ClustersMode): Compared {
  return {
    record: recordOf(object, mode),
    annotated: recordOf({ metadata: object.metadata }, "beside"),
    project: object.metadata.labels?.["project-id"] ?? "",
  };
}

interface RightsPlan {
  readonly references: readonly { readonly namespace: string; readonly name: string }[];
  /** For the Secret that holds the kubeconfig. */
  readonly searches: readonly Search[];
  readonly isHome: boolean;
}

/** What this write adds. One that leads elsewhere sends everything there. */
export function planRights(
  after: Compared,
  before: Compared | undefined,
  { mode, clusterApiNamespaces }: Pick<ReferenceHookOptions, "mode" | "clusterApiNamespaces">,
): RightsPlan {
  const leadsElsewhere = !before || !isSameTarget(after, before);
  const known = leadsElsewhere ? new Set<string>() : new Set(referencesOf(before).map(keyOf));
  const references = referencesOf(after).filter((reference) => !known.has(keyOf(reference)));
  const { isHome } = after.record.wish;
  return {
    references: [...new Map(references.map((reference) => [keyOf(reference), reference])).values()],
    searches: leadsElsewhere && !isHome ? searchesOf(after, mode, clusterApiNamespaces) : [],
    isHome: isHome && leadsElsewhere,
  };
}

const referencesOf = ({ record, annotated }: Compared) => [...record.wish.references, ...annotated.wish.references];

const targetOf = ({ record, annotated, project }: Compared): string =>
  JSON.stringify([record.wish.isHome, record.wish.kubeconfig, annotated.wish.kubeconfig, project]);

const isSameTarget = (a: Compared, b: Compared): boolean => targetOf(a) === targetOf(b);

/** Beside the original, what it keeps itself is its own business. */
function searchesOf(
  { record, annotated }: Compared,
  mode: ClustersMode,
  clusterApiNamespaces: readonly string[],
): readonly Search[] {
  const isGiven = record.wish.kubeconfig !== undefined;
  const own = mode === "instead" || isGiven ? [searchFor(record, clusterApiNamespaces)] : [];
  const later = mode === "instead" && annotated.wish.kubeconfig ? [searchFor(annotated, [])] : [];
  return [...own, ...later];
}

/** The one that is found; where none is, each that would be looked for. */
async function worthAsking(search: Search, kube: Kube, call: Call): Promise<readonly Place[]> {
  const places = search.flat();
  if (places.length < 2) return places;
  const found = await Promise.all(places.map((place) => kube.get<Secret>(secrets, place, call)));
  const there = found.flatMap((secret) => (secret ? [[keyOf(secret.metadata), secret] as const] : []));
  const hit = hitIn(search, new Map(there));
  return hit.kind === "found" ? [hit.place] : places;
}
