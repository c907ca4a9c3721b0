import type { Crd } from "../../api/crds.ts";
import { sidecarSets } from "../../api/kinds.ts";
import { crdNameOf, crds, type Resource } from "../../api/objects.ts";
import type { Call, Kube } from "../../kube/client.ts";

/** Those of the original that we know, the newest first; our own CRD has the last. */
const versions = ["v1beta1", sidecarSets.version];

/** The kind in the newest version that is served; undefined without a CRD. Asked of the CRD: discovery lags behind it. */
export async function findServedKind(kube: Kube, call: Call): Promise<Resource | undefined> {
  const crd = await kube.get<Crd>(crds, { name: crdNameOf(sidecarSets) }, call);
  const isServed = (version: string) => crd?.spec.versions.some(({ name, served }) => name === version && served);
  const version = versions.find(isServed);
  return version === undefined ? undefined : { ...sidecarSets, version };
}
