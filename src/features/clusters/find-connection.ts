import { X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { keyOf, type Secret, secrets } from "../../api/objects.ts";
import type { Call, Kube } from "../../kube/client.ts";
import type { Connection } from "../../kube/connection.ts";
import { connectionOfKubeconfig, KubeconfigError } from "../../kube/kubeconfig.ts";
import { describeError } from "../../kube/log.ts";
import { cut } from "../../runtime/cut.ts";
import { hitIn, type Place, searchFor } from "./kubeconfig-search.ts";
import type { ClusterRecord } from "./record.ts";

export interface SearchOptions {
  readonly clusterApiNamespaces: readonly string[];
  readonly allowInsecure: boolean;
}

export interface NoConnection {
  readonly kind: "no-kubeconfig";
  readonly reason: "KubeconfigMissing" | "AmbiguousKubeconfig" | "KubeconfigRefused";
  readonly message: string;
}

interface Looked {
  /** By the Secrets that were looked at: the version that was there. */
  readonly versions: ReadonlyMap<string, string | undefined>;
  /** Those that can change the answer. */
  readonly decisive: readonly Place[];
  readonly result: { readonly kind: "found"; readonly connection: Connection } | NoConnection;
}

const maxMessage = 512;

/** Reads the kubeconfig of a cluster. It is data: whoever wrote it reaches neither our files nor our programs. */
export async function findConnection(
  record: ClusterRecord,
  home: Kube,
  { clusterApiNamespaces, allowInsecure }: SearchOptions,
  { signal }: Call,
): Promise<Looked> {
  const search = searchFor(record, clusterApiNamespaces);
  const places = search.flat();
  const found = await Promise.all(places.map((place) => home.get<Secret>(secrets, place, { signal })));
  const versions = new Map(places.map((place, at) => [keyOf(place), found[at]?.metadata.resourceVersion]));
  const there = found.flatMap((secret) => (secret ? [[keyOf(secret.metadata), secret] as const] : []));
  const hit = hitIn(search, new Map(there));
  const at = hit.kind === "found" ? search.findIndex((group) => group.includes(hit.place)) : search.length;
  const decisive = search.slice(0, at + 1).flat();
  if (hit.kind === "found") {
    return { versions, decisive, result: await connectionIn(hit.text, hit.place, allowInsecure) };
  }
  const reason = hit.kind === "missing" ? "KubeconfigMissing" : "AmbiguousKubeconfig";
  return { versions, decisive, result: { kind: "no-kubeconfig", reason, message: hit.message } };
}

async function connectionIn(text: string, place: Place, allowInsecure: boolean): Promise<Looked["result"]> {
  try {
    const connection = await connectionOfKubeconfig(text, { allowFiles: false, allowExec: false, allowInsecure });
    checkCertificates(connection);
    return { kind: "found", connection };
  } catch (error) {
    if (!(error instanceof KubeconfigError)) throw error;
    const message = `Secret ${keyOf(place)}: ${cut(describeError(error), maxMessage)}`;
    return { kind: "no-kubeconfig", reason: "KubeconfigRefused", message };
  }
}

/** What cannot be read here would fail at every connection, as if the network were to blame. */
function checkCertificates({ tls: { ca, cert, key } }: Connection): void {
  // Node takes any text for authorities, and then trusts nobody.
  if (ca !== undefined) checkReadable("certificate-authority-data", () => new X509Certificate(ca));
  checkReadable("client-certificate-data", () => createSecureContext({ cert }));
  checkReadable("client-key-data", () => createSecureContext({ cert, key }));
}

function checkReadable(entry: string, read: () => unknown): void {
  try {
    read();
  } catch {
    throw new KubeconfigError(`${entry} cannot be read`);
  }
}
