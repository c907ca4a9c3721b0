import { setTimeout as sleep } from "node:timers/promises";
import type { Crd, CrdDraft } from "../api/crds.ts";
import { standInLabel } from "../api/marks.ts";
import { crdNameOf, crds, type KubeObject, type Resource } from "../api/objects.ts";
import type { Call, Kube } from "./client.ts";
import { crdStateOf } from "./crd-state.ts";
import { within } from "./deadline.ts";
import { isReason, isTransient } from "./errors.ts";

const servedWithinMs = 30_000;
const lookEveryMs = 100;

/**
 * Installs our CRDs and returns once their kinds are served. One of that name that does not carry our label belongs to
 * the original project: then this throws, and none is written.
 */
export async function installCrds(kube: Kube, wanted: readonly CrdDraft[], call: Call = {}): Promise<void> {
  const found = await Promise.all(wanted.map((crd) => kube.getMetadata(crds, refOf(crd), call)));
  const foreign = found.filter((crd) => crdStateOf(crd) === "foreign");
  if (foreign.length > 0) {
    const names = foreign.map((crd) => crd?.metadata.name).join(", ");
    throw new Error(`not installed over what is there: ${names} exists and is not Latchkey's`);
  }
  await Promise.all(wanted.map((crd, index) => applyCrd(kube, crd, found[index], call)));
  const deadline = within(servedWithinMs, call.signal);
  await Promise.all(wanted.map((crd) => waitUntilServed(kube, crd, { signal: deadline }, call)));
}

/**
 * Where there is one it must still be that one, and we take back whatever of it others changed. Where there was none
 * we do not force: if somebody else's appears in between, the conflict refuses ours.
 */
async function applyCrd(kube: Kube, crd: CrdDraft, existing: KubeObject | undefined, call: Call): Promise<void> {
  const labels = { ...crd.metadata.labels, [standInLabel]: "true" };
  const metadata = { ...crd.metadata, labels, ...(existing && { uid: existing.metadata.uid }) };
  await kube.apply<Crd>(crds, { ...crd, metadata }, { ...call, force: existing !== undefined, metadataOnly: true });
}

async function waitUntilServed(kube: Kube, crd: CrdDraft, wait: { signal: AbortSignal }, call: Call): Promise<void> {
  const { name } = refOf(crd);
  try {
    while (!(await isServed(kube, crd, wait))) await sleep(lookEveryMs, undefined, wait);
  } catch (cause) {
    call.signal?.throwIfAborted();
    if (!wait.signal.aborted) throw cause;
    throw new Error(`CustomResourceDefinition ${name} was not served within ${servedWithinMs / 1000} s`);
  }
}

async function isServed(kube: Kube, crd: CrdDraft, call: Call): Promise<boolean> {
  const current = await kube.get<Crd>(crds, refOf(crd), call);
  const conditionOf = (type: string) => current?.status?.conditions?.find((condition) => condition.type === type);
  const names = conditionOf("NamesAccepted");
  if (names?.status === "False") throw new Error(`CustomResourceDefinition ${refOf(crd).name}: ${names.message}`);
  if (conditionOf("Established")?.status !== "True") return false;
  const served = await Promise.all(resourcesOf(crd).map((resource) => answersLists(kube, resource, call)));
  return served.every(Boolean);
}

/** Discovery and the storage behind it come up one after the other. */
async function answersLists(kube: Kube, resource: Resource, call: Call): Promise<boolean> {
  if (!(await kube.serves(resource, call))) return false;
  try {
    await kube.page(resource, { limit: 1, metadataOnly: true }, call);
    return true;
  } catch (error) {
    if (isReason(error, "Forbidden")) return true;
    if (isReason(error, "NotFound") || isTransient(error)) return false;
    throw error;
  }
}

function resourcesOf({ spec }: CrdDraft): Resource[] {
  const { group, names, scope, versions } = spec;
  return versions
    .filter((version) => version.served)
    .map(({ name }) => ({
      group,
      version: name,
      plural: names.plural,
      kind: names.kind,
      namespaced: scope === "Namespaced",
    }));
}

function refOf({ spec }: CrdDraft): { readonly name: string } {
  return { name: crdNameOf({ plural: spec.names.plural, group: spec.group }) };
}
