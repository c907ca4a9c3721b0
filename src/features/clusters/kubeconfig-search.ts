import { keyOf, type NamespacedRef, type Secret } from "../../api/objects.ts";
import type { ClusterRecord } from "./record.ts";

/** A Secret that may hold the kubeconfig of a cluster. */
export interface Place extends NamespacedRef {
  /** Of these keys the first that is there. */
  readonly keys: readonly string[];
  /** The Secret counts only with this label. */
  readonly label?: readonly [name: string, value: string];
}

/** Groups of places: of the first group with a hit, the hit; two hits in one group cannot be told apart. */
export type Search = readonly (readonly Place[])[];

export type Hit =
  | { readonly kind: "found"; readonly place: Place; readonly text: string }
  | { readonly kind: "missing"; readonly message: string }
  | { readonly kind: "ambiguous"; readonly message: string };

const clusterApiLabel = "cluster.x-k8s.io/cluster-name";

/** Where the kubeconfig of a cluster is looked for. */
export function searchFor(
  { metadata: { name }, wish, status }: Pick<ClusterRecord, "metadata" | "wish" | "status">,
  clusterApiNamespaces: readonly string[],
): Search {
  const { kubeconfig } = wish;
  if (kubeconfig) {
    const { namespace, key } = kubeconfig;
    const keys = key === undefined ? ["kubeconfig", "value"] : [key];
    return [[{ namespace, name: kubeconfig.name ?? `${name}-kubeconfig`, keys }]];
  }
  const namespace = status?.namespaceName ?? `cluster-${name}`;
  const kubermatic = ["internal-admin-kubeconfig", "admin-kubeconfig"];
  return [
    ...kubermatic.map((secret) => [{ namespace, name: secret, keys: ["kubeconfig"] }]),
    clusterApiNamespaces.map(
      (each): Place => ({
        ...{ namespace: each, name: `${name}-kubeconfig`, keys: ["value"] },
        label: [clusterApiLabel, name],
      }),
    ),
  ];
}

/** What came of it, given the Secrets that are there by their keys. */
export function hitIn(search: Search, secrets: ReadonlyMap<string, Secret>): Hit {
  for (const group of search) {
    const hits = group.flatMap((place) => {
      const text = textAt(place, secrets.get(keyOf(place)));
      return text === undefined ? [] : [{ kind: "found", place, text } as const];
    });
    const [first] = hits;
    if (hits.length === 1 && first) return first;
    if (hits.length > 1)
      return { kind: "ambiguous", message: `there is more than one: ${placesIn([hits.map(({ place }) => place)])}` };
  }
  return { kind: "missing", message: `no kubeconfig in ${placesIn(search)}` };
}

function textAt({ keys, label }: Place, secret: Secret | undefined): string | undefined {
  if (!secret || (label && secret.metadata.labels?.[label[0]] !== label[1])) return undefined;
  const data = secret.data ?? {};
  const key = keys.find((each) => data[each] !== undefined);
  return key === undefined ? undefined : Buffer.from(data[key] ?? "", "base64").toString("utf8");
}

const placesIn = (search: Search): string =>
  search
    .flat()
    .map((place) => `Secret ${keyOf(place)} (key ${place.keys.join(" or ")})`)
    .join(", ");
