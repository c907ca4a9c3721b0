import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodSpec, ServiceAccount } from "../../api/pods.ts";
import type { SidecarSetSpec } from "../../api/sidecar-set.ts";
import { metadataOf, reviewedPod, sidecarRecord } from "../../testing/sidecar-records.ts";
import { choose } from "./skip.ts";

const container = (name: string, ...volumes: string[]) => ({
  name,
  image: "i",
  ...(volumes.length > 0 && { volumeMounts: volumes.map((volume) => ({ name: volume, mountPath: `/${volume}` })) }),
});
const there = "not injected into Pods of namespace team-a";
const byAccount =
  "not injected into Pods of ServiceAccount team-a/robot: it enforces mountable Secrets and does not list";

const enforcing: ServiceAccount = {
  metadata: metadataOf("robot", {
    namespace: "team-a",
    annotations: { "kubernetes.io/enforce-mountable-secrets": "true" },
  }),
  secrets: [{ name: "listed" }],
};
const secretVolume = (name: string, secretName: string) => ({ name, secret: { secretName } });

interface Case {
  readonly name: string;
  readonly pod?: PodSpec;
  readonly account?: ServiceAccount;
  /** By name, in order. */
  readonly sets: Readonly<Record<string, Partial<SidecarSetSpec>>>;
  readonly skipped: Readonly<Record<string, string>>;
}

const resized = { ...container("c"), resizePolicy: [{ resourceName: "cpu", restartPolicy: "RestartContainer" }] };

const cases: readonly Case[] = [
  {
    name: "nothing speaks against it",
    sets: { a: { containers: [container("c")] }, b: { initContainers: [container("d")] } },
    skipped: {},
  },
  {
    name: "a container that the Pod has, in the same list",
    pod: { containers: [container("c")] },
    sets: { a: { containers: [container("c")] } },
    skipped: {},
  },
  {
    name: "a container that is an initContainer of the Pod",
    pod: { initContainers: [container("c")] },
    sets: { a: { containers: [container("c")] }, b: { containers: [container("d")] } },
    skipped: { a: `${there}: c is an initContainer there` },
  },
  {
    name: "an initContainer that is a container of the Pod",
    pod: { containers: [container("c")] },
    sets: { a: { initContainers: [container("c")] } },
    skipped: { a: `${there}: c is no initContainer there` },
  },
  { name: "a restart when resized, of a Pod that may", sets: { a: { containers: [resized] } }, skipped: {} },
  {
    name: "a restart when resized, of a Pod that must not",
    pod: { restartPolicy: "Never" },
    sets: {
      a: { initContainers: [resized] },
      b: {
        containers: [{ ...resized, name: "d", resizePolicy: [{ resourceName: "cpu", restartPolicy: "NotRequired" }] }],
      },
    },
    skipped: { a: `${there}: c restarts when it is resized, which is not allowed there` },
  },
  {
    name: "a name that an earlier one has",
    sets: {
      a: { containers: [container("c")] },
      b: { containers: [container("d"), container("c")] },
      c: { initContainers: [container("c")] },
    },
    skipped: {
      b: `${there}: container c is also injected by SidecarSet a`,
      c: `${there}: container c is also injected by SidecarSet a`,
    },
  },
  {
    name: "a volume that an earlier one has with another content",
    sets: {
      a: { containers: [container("c", "v")], volumes: [{ name: "v", emptyDir: {} }] },
      b: { containers: [container("d", "v")], volumes: [{ name: "v", emptyDir: {} }] },
      c: { containers: [container("e", "v")], volumes: [{ name: "v", hostPath: {} }] },
    },
    skipped: { c: `${there}: volume v has another content in SidecarSet a` },
  },
  {
    name: "a volume of its own",
    sets: { a: { containers: [container("c", "v")], volumes: [{ name: "v", emptyDir: {} }] } },
    skipped: {},
  },
  {
    name: "a volume of the Pod",
    pod: { volumes: [{ name: "v", emptyDir: {} }] },
    sets: { a: { containers: [container("c", "v")] } },
    skipped: {},
  },
  {
    name: "a volume of another one",
    sets: {
      a: { containers: [container("c", "v")] },
      b: { containers: [container("d")], volumes: [{ name: "v", emptyDir: {} }] },
    },
    skipped: {},
  },
  {
    name: "a volume that nobody has",
    sets: { a: { containers: [container("c"), container("d", "v")] }, b: { initContainers: [container("e", "w")] } },
    skipped: {
      a: `${there}: container d mounts volume v, which is not there`,
      b: `${there}: container e mounts volume w, which is not there`,
    },
  },
  {
    name: "a volume of one that is left out for another volume",
    sets: {
      a: { containers: [container("c", "v")] },
      b: { containers: [container("d", "w")], volumes: [{ name: "v", emptyDir: {} }] },
    },
    skipped: {
      b: `${there}: container d mounts volume w, which is not there`,
      a: `${there}: container c mounts volume v, which is not there`,
    },
  },
  {
    name: "an enforcing account that lists all",
    account: enforcing,
    sets: { a: { containers: [container("c", "v")], volumes: [secretVolume("v", "listed")] } },
    skipped: {},
  },
  {
    name: "an enforcing account that lists less",
    account: enforcing,
    sets: {
      a: { containers: [container("c", "v")], volumes: [secretVolume("v", "db-password")] },
      b: { initContainers: [{ ...container("d"), envFrom: [{ secretRef: { name: "tls" } }] }] },
      c: { containers: [container("e")] },
    },
    skipped: { a: `${byAccount} db-password`, b: `${byAccount} tls` },
  },
  {
    name: "an enforcing account, and a volume that is not put into the Pod",
    account: enforcing,
    pod: { volumes: [{ name: "w", emptyDir: {} }] },
    sets: { a: { containers: [container("c", "w")], volumes: [secretVolume("v", "db"), secretVolume("w", "db")] } },
    skipped: {},
  },
  {
    name: "an enforcing account, and a volume that only another one mounts",
    account: enforcing,
    sets: {
      a: { containers: [container("c", "v")] },
      b: { containers: [container("d")], volumes: [secretVolume("v", "db")] },
    },
    skipped: { b: `${byAccount} db`, a: `${there}: container c mounts volume v, which is not there` },
  },
  {
    name: "an account that does not enforce",
    account: { metadata: metadataOf("robot") },
    sets: { a: { containers: [container("c", "v")], volumes: [secretVolume("v", "db")] } },
    skipped: {},
  },
];

for (const { name, pod, account, sets, skipped } of cases) {
  test(`choose: ${name}`, () => {
    const records = Object.entries(sets).map(([set, spec]) => sidecarRecord(set, spec));
    const choice = choose(reviewedPod(pod), records, { namespace: "team-a", account });
    assert.deepEqual(Object.fromEntries(choice.skipped.map(({ set, why }) => [set.metadata.name, why])), skipped);
    const chosen = Object.keys(sets).filter((set) => !(set in skipped));
    assert.deepEqual(
      choice.chosen.map(({ metadata }) => metadata.name),
      chosen,
    );
  });
}
