import type { TestContext } from "node:test";
import type { Condition, Resource } from "../api/objects.ts";
import { watchEvents } from "../kube/watch.ts";
import { adminKube } from "./cluster.ts";
import { type SidecarSet, sidecarSets } from "./sidecars.ts";
import { until } from "./wait.ts";

/** On the original's SidecarSets: what is asked of Latchkey, and what it has to say. */
export const referencesAnnotation = "latchkey.dev/image-pull-secrets";
export const statusAnnotation = "latchkey.dev/status";

export interface Told {
  readonly pullSecrets: string;
  readonly imagePullSecrets: readonly { readonly name: string; readonly state: string; readonly copies: number }[];
  readonly conditions: readonly Condition[];
}

export function toldOf(set: SidecarSet | undefined): Told | undefined {
  const text = set?.metadata.annotations?.[statusAnnotation];
  return text === undefined ? undefined : (JSON.parse(text) as Told);
}

export async function untilTold(
  { metadata: { name } }: SidecarSet,
  what: string,
  accept: (told: Told) => boolean,
  resource: Resource = sidecarSets,
): Promise<Told> {
  const found = await until<SidecarSet>(await adminKube(), resource, { name }, what, (set) => {
    const told = toldOf(set);
    return told !== undefined && accept(told);
  });
  return toldOf(found) as Told;
}

/** Everything of a SidecarSet that is not ours to write. */
export function withoutStatus({ metadata, ...rest }: SidecarSet): object {
  const { managedFields: _fields, resourceVersion: _version, annotations = {}, ...others } = metadata;
  const { [statusAnnotation]: _status, ...kept } = annotations;
  return { ...rest, metadata: { ...others, annotations: kept } };
}

/** Every state of a SidecarSet from now on, the present one included, until the end of the test. */
export async function followStates(t: TestContext, { metadata }: SidecarSet): Promise<readonly SidecarSet[]> {
  const kube = await adminKube();
  const stop = new AbortController();
  t.after(() => stop.abort());
  const states: SidecarSet[] = [];
  const selection = { fieldSelector: `metadata.name=${metadata.name}`, sendInitialEvents: true };
  const follow = async () => {
    for await (const { type, object } of watchEvents(kube, sidecarSets, selection, { signal: stop.signal })) {
      if (type !== "BOOKMARK") states.push(object as SidecarSet);
    }
  };
  follow().catch(() => {});
  return states;
}
