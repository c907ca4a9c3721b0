import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodSpec } from "../../api/pods.ts";
import type { SidecarSetSpec } from "../../api/sidecar-set.ts";
import { sidecarRecord } from "../../testing/sidecar-records.ts";
import { checkPodOf } from "./check-pod.ts";

const env = [{ name: "IS_INJECTED", value: "true" }];
const sidecar = { name: "c", image: "c:1" };
const tmp = { name: "tmp", mountPath: "/tmp" };
const shared = { name: "shared", mountPath: "/shared" };

const cases: readonly { name: string; spec: Partial<SidecarSetSpec>; becomes: PodSpec }[] = [
  {
    name: "containers as they go into Pods, in the order of the SidecarSet",
    spec: {
      containers: [
        { ...sidecar, podInjectPolicy: "AfterAppContainer" },
        { ...sidecar, name: "b" },
      ],
      initContainers: [
        { ...sidecar, name: "z", restartPolicy: "Always" },
        { ...sidecar, name: "y" },
      ],
    },
    becomes: {
      containers: [
        { ...sidecar, env },
        { ...sidecar, name: "b", env },
      ],
      initContainers: [
        { ...sidecar, name: "z", restartPolicy: "Always", env },
        { ...sidecar, name: "y", env },
      ],
    },
  },
  {
    name: "initContainers alone need a container beside them",
    spec: { initContainers: [sidecar] },
    becomes: { containers: [{ name: "placeholder", image: "placeholder" }], initContainers: [{ ...sidecar, env }] },
  },
  {
    name: "and that has a name of its own",
    spec: {
      initContainers: [
        { ...sidecar, name: "placeholder" },
        { ...sidecar, name: "placeholder-0" },
      ],
    },
    becomes: {
      containers: [{ name: "placeholder-1", image: "placeholder" }],
      initContainers: [
        { ...sidecar, name: "placeholder", env },
        { ...sidecar, name: "placeholder-0", env },
      ],
    },
  },
  {
    name: "all volumes, mounted or not, and one for each mount that is left to the Pod",
    spec: {
      containers: [
        { ...sidecar, volumeMounts: [tmp, shared], volumeDevices: [{ name: "disk", devicePath: "/dev/x" }] },
      ],
      initContainers: [{ ...sidecar, name: "i", volumeMounts: [shared] }],
      volumes: [
        { name: "tmp", emptyDir: {} },
        { name: "unused", hostPath: { path: 7 } },
      ],
    },
    becomes: {
      containers: [
        { ...sidecar, volumeMounts: [tmp, shared], volumeDevices: [{ name: "disk", devicePath: "/dev/x" }], env },
      ],
      initContainers: [{ ...sidecar, name: "i", volumeMounts: [shared], env }],
      volumes: [
        { name: "tmp", emptyDir: {} },
        { name: "unused", hostPath: { path: 7 } },
        { name: "shared", emptyDir: {} },
        { name: "disk", persistentVolumeClaim: { claimName: "placeholder" } },
      ],
    },
  },
];

for (const { name, spec, becomes } of cases) {
  test(`checkPodOf: ${name}`, () => {
    const pod = checkPodOf(sidecarRecord("a", spec), "latchkey-system");
    assert.deepEqual(pod.metadata, { namespace: "latchkey-system", generateName: "latchkey-check-" });
    assert.deepEqual(pod.spec, {
      initContainers: [],
      volumes: [],
      ...becomes,
      automountServiceAccountToken: false,
      restartPolicy: "Always",
    });
  });
}
