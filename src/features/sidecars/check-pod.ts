import type { Draft } from "../../api/objects.ts";
import type { Container, Pod, Volume } from "../../api/pods.ts";
import { entriesOf, injectedContainerOf, volumeNamesOf } from "./injected-container.ts";
import type { SidecarSetRecord } from "./record.ts";

/** A Pod with nothing but the containers of a SidecarSet, for asking the API server what it thinks of them. */
export function checkPodOf({ spec }: Pick<SidecarSetRecord, "spec">, namespace: string): Draft<Pod> {
  const containers = spec.containers?.map(injectedContainerOf) ?? [];
  const initContainers = spec.initContainers?.map(injectedContainerOf) ?? [];
  const metadata = { namespace, generateName: "latchkey-check-" };
  return {
    metadata,
    spec: {
      containers: containers.length > 0 ? containers : [placeholderBeside(initContainers)],
      initContainers,
      volumes: [...(spec.volumes ?? []), ...volumesOfThePod(spec.volumes, [...containers, ...initContainers])],
      automountServiceAccountToken: false,
      restartPolicy: "Always",
    },
  };
}

/** A Pod needs a container that is none of its initContainers. */
function placeholderBeside(initContainers: readonly Container[]): Container {
  const taken = new Set(initContainers.map(({ name }) => name));
  const names = ["placeholder", ...initContainers.map((_, index) => `placeholder-${index}`)];
  return { name: names.find((name) => !taken.has(name)) ?? "", image: "placeholder" };
}

/** Stand for what mounts leave to the Pod. */
function volumesOfThePod(own: readonly Volume[] | undefined, containers: readonly Container[]): readonly Volume[] {
  const present = new Set(own?.map(({ name }) => name));
  const missing = new Set(containers.flatMap(volumeNamesOf).filter((name) => !present.has(name)));
  const devices = new Set(containers.flatMap(({ volumeDevices }) => entriesOf(volumeDevices).map(({ name }) => name)));
  return [...missing].map((name) =>
    devices.has(name) ? { name, persistentVolumeClaim: { claimName: "placeholder" } } : { name, emptyDir: {} },
  );
}
