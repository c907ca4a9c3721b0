import assert from "node:assert/strict";
import { test } from "node:test";
import type { Container, Volume } from "../../api/pods.ts";
import { injectedContainerOf, replacementOf, volumeNamesOf } from "./injected-container.ts";

const marker = { name: "IS_INJECTED", value: "true" };

test("what is for Latchkey alone does not go into Pods", () => {
  const sidecar = {
    name: "c",
    image: "c:1",
    podInjectPolicy: "AfterAppContainer",
    upgradeStrategy: {},
    tty: true,
  } as const;
  assert.deepEqual(injectedContainerOf(sidecar), { name: "c", image: "c:1", tty: true, env: [marker] });
});

test("the marker is there exactly once, whatever the SidecarSet says", () => {
  const env = [{ name: "IS_INJECTED", value: "no" }, { name: "A", value: "1" }, marker];
  assert.deepEqual(injectedContainerOf({ name: "c", env }).env, [{ name: "A", value: "1" }, marker]);
});

test("what only the API server can judge is left to it", () => {
  for (const env of [{ A: "1" }, ["A=1"], [null], "x"]) {
    const sidecar = { name: "c", env: env as never };
    assert.deepEqual(injectedContainerOf(sidecar), sidecar);
  }
  assert.deepEqual(injectedContainerOf({ name: "c", env: null as never }).env, [marker]);
  const mounts = [null, "x", {}, { name: 7 }, { name: "v" }] as never;
  assert.deepEqual(volumeNamesOf({ name: "c", volumeMounts: mounts, volumeDevices: "d" as never, env: {} as never }), [
    "v",
  ]);
});

const path = "/var/run/secrets/kubernetes.io/serviceaccount";
const tokenMount = { name: "kube-api-access-x", mountPath: path, readOnly: true };
const tokenVolume: Volume = {
  name: "kube-api-access-x",
  projected: { sources: [{ serviceAccountToken: { path: "token" } }] },
};
const ours: Container = { name: "c", image: "c:1", resources: { limits: { cpu: "1" } }, env: [marker] };

const cases: readonly {
  name: string;
  present: Partial<Container>;
  ours?: Partial<Container>;
  becomes: Partial<Container>;
  volumes?: Volume[];
}[] = [
  { name: "ours as it is", present: ours, becomes: {} },
  {
    name: "a container that was never ours",
    present: {
      env: [],
      command: ["sleep"],
      resources: { limits: { memory: "1Gi" } },
      imagePullPolicy: "Always",
      volumeMounts: [tokenMount],
    },
    becomes: {},
  },
  {
    name: "resources that somebody added",
    present: { resources: { limits: { cpu: "9", memory: "1Gi" }, requests: { cpu: "1" } } },
    becomes: { resources: { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "1" } } },
  },
  {
    name: "a security context that somebody added",
    present: { securityContext: { runAsNonRoot: true } },
    becomes: { securityContext: { runAsNonRoot: true } },
  },
  {
    name: "a security context of ours",
    ours: { securityContext: { runAsNonRoot: false, capabilities: { add: ["NET_ADMIN"] } } },
    present: { securityContext: { runAsNonRoot: true, capabilities: { add: ["ALL"], drop: ["ALL"] } } },
    becomes: { securityContext: { runAsNonRoot: false, capabilities: { add: ["NET_ADMIN"], drop: ["ALL"] } } },
  },
  {
    name: "images always pulled",
    ours: { imagePullPolicy: "IfNotPresent" },
    present: { imagePullPolicy: "Always" },
    becomes: { imagePullPolicy: "Always" },
  },
  { name: "images never pulled", present: { imagePullPolicy: "Never" }, becomes: {} },
  {
    name: "the token of the account",
    present: { volumeMounts: [tokenMount] },
    becomes: { volumeMounts: [tokenMount] },
  },
  {
    name: "the token beside mounts of ours",
    ours: { volumeMounts: [{ name: "tmp", mountPath: "/tmp" }] },
    present: { volumeMounts: [{ name: "tmp", mountPath: "/tmp" }, tokenMount] },
    becomes: { volumeMounts: [{ name: "tmp", mountPath: "/tmp" }, tokenMount] },
  },
  {
    name: "something of ours where the token would be",
    ours: { volumeMounts: [{ name: "tmp", mountPath: path }] },
    present: { volumeMounts: [tokenMount] },
    becomes: { volumeMounts: [{ name: "tmp", mountPath: path }] },
  },
  {
    name: "no token where one would be",
    present: { volumeMounts: [tokenMount] },
    volumes: [{ name: "kube-api-access-x", emptyDir: {} }],
    becomes: {},
  },
  { name: "a mount elsewhere", present: { volumeMounts: [{ ...tokenMount, mountPath: "/etc" }] }, becomes: {} },
  {
    name: "whatever tells what runs",
    present: {
      image: "evil:1",
      command: ["sleep"],
      args: ["1"],
      env: [{ name: "LD_PRELOAD", value: "x" }, marker],
      lifecycle: {},
      ports: [],
    },
    becomes: {},
  },
];

for (const { name, present, becomes, volumes = [tokenVolume], ...more } of cases) {
  test(`replacementOf: ${name}`, () => {
    const wanted = { ...ours, ...more.ours };
    assert.deepEqual(replacementOf({ ...wanted, ...present }, wanted, volumes), { ...wanted, ...becomes });
  });
}

test("mounts, devices and files of variables need a volume", () => {
  const names = volumeNamesOf({
    name: "c",
    volumeMounts: [{ name: "a" }],
    volumeDevices: [{ name: "b" }],
    env: [marker, { name: "X", valueFrom: { fileKeyRef: { volumeName: "c", path: "p", key: "k" } } }],
  });
  assert.deepEqual(names, ["a", "b", "c"]);
});
