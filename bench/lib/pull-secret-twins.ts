import { type BareClient, metadataOnly } from "./bare.ts";
import { configType, pullSecretData } from "./sidecars.ts";
import { twinAnnotations, twinPatch } from "./twins.ts";

const pathOf = (namespace: string) => `/api/v1/namespaces/${namespace}/secrets`;

/** What a bare client makes in place of a copy; resolves with its resource version. */
export async function createTwin(bare: BareClient, namespace: string, name: string, mark: string): Promise<string> {
  const labels = {
    bench: "bare",
    "bench.example.com/owner-uid": "0".repeat(36),
    "bench.example.com/source-hash": "0".repeat(10),
  };
  const metadata = { namespace, name, labels, annotations: twinAnnotations(mark) };
  const body = { metadata, type: configType, data: pullSecretData(mark) };
  return versionIn(await bare.send("POST", pathOf(namespace), body, metadataOnly));
}

export async function changeTwin(
  bare: BareClient,
  namespace: string,
  name: string,
  { mark, resourceVersion }: { readonly mark: string; readonly resourceVersion: string },
): Promise<string> {
  const patch = twinPatch({ type: configType, data: pullSecretData(mark) }, mark, resourceVersion);
  return versionIn(await bare.send("PATCH", `${pathOf(namespace)}/${name}`, patch, metadataOnly));
}

const versionIn = (answer: string): string => JSON.parse(answer).metadata.resourceVersion;
