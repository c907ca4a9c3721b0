import { stringify } from "yaml";
import type { FeatureEntry } from "../../features/feature.ts";
import type { Call, Kube } from "../../kube/client.ts";
import { installCrds } from "../../kube/install-crds.ts";

/** All CRDs as one YAML stream, for `kubectl apply -f -`. */
export async function printCrds(entries: readonly FeatureEntry[], write: (text: string) => void): Promise<number> {
  for (const entry of entries) {
    for (const crd of await entry.crds()) write(`---\n${stringify(crd, { lineWidth: 0 })}`);
  }
  return 0;
}

/** Never over a CRD that somebody else installed: that throws, naming it. */
export async function applyCrds(
  kube: Kube,
  entries: readonly FeatureEntry[],
  write: (text: string) => void,
  call: Call,
): Promise<number> {
  for (const entry of entries) {
    const crds = await entry.crds();
    await installCrds(kube, crds, call);
    for (const crd of crds) write(`customresourcedefinition.apiextensions.k8s.io/${crd.metadata.name} applied\n`);
  }
  return 0;
}
