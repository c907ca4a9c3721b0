import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import type { ApiProxy } from "../../src/testing/api-proxy.ts";
import { createNamespace, testEnvironment, uniqueName } from "../../src/testing/cluster.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import {
  changeSidecarSet,
  createInjectedPod,
  createPod,
  createSidecarSet,
  injectedLabel,
  labelsFor,
  type SidecarSet,
  sidecarSet,
  sidecarSets,
  untilSetCondition,
} from "../../src/testing/sidecars.ts";
import { conditionIn } from "../../src/testing/wait.ts";

/** What got in while nobody was there to ask: written before the first operator starts. */
const app = { matchLabels: { app: "shared" } };
const image = "registry.example.com/sidecar:1";
const stored = [
  sidecarSet("fine", { spec: { selector: { matchLabels: { app: "fine" } } } }),
  sidecarSet("broken", { spec: { containers: [{ name: "broken", image, ports: [{ containerPort: 70_000 }] }] } }),
  sidecarSet("undecodable", {
    spec: { containers: [{ name: "undecodable", image, resources: { limits: { cpu: "abc" } } }] },
  }),
  sidecarSet("a-first", { spec: { selector: app, containers: [{ name: "sidecar1", image }] } }),
  sidecarSet("b-second", {
    spec: {
      selector: app,
      containers: [
        { name: "sidecar1", image },
        { name: "sidecar2", image },
      ],
    },
  }),
  sidecarSet("c-third", { spec: { selector: app, containers: [{ name: "sidecar2", image }] } }),
  sidecarSet("elsewhere", {
    spec: { selector: { matchLabels: { app: "other" } }, containers: [{ name: "sidecar1", image }] },
  }),
];

let proxy: ApiProxy;
const own = ownPlane(async (plane) => {
  const kube = await plane.kube;
  for (const draft of stored) await kube.create<SidecarSet>(sidecarSets, draft);
  proxy = await plane.proxy();
  await plane.operator({ through: proxy });
});

const named = (name: string) => ({ metadata: { name } });

/** How often the API server was asked about a Pod that nobody wants. */
async function trials(): Promise<number> {
  const lines = (await readFile(testEnvironment("LATCHKEY_TEST_AUDIT_LOG"), "utf8")).split("\n");
  return lines.filter((line) => line.includes('"ResponseComplete"') && /pods\?.*dryRun=All/.test(line)).length;
}

test("SidecarSets that nobody was asked about are judged by the controller", async () => {
  const kube = await own.kube;
  await untilSetCondition(kube, named("fine"), "Accepted", { status: "True", reason: "Valid" });
  await untilSetCondition(kube, named("elsewhere"), "Accepted", { status: "True", reason: "Valid" });
  const broken = await untilSetCondition(kube, named("broken"), "Accepted", {
    status: "False",
    reason: "InvalidContainers",
    message: /ports\[0\]\.containerPort.*70000/,
  });
  assert.equal(conditionIn(broken, "Ready")?.reason, "InvalidContainers");
  await untilSetCondition(kube, named("undecodable"), "Accepted", { reason: "InvalidContainers", message: /quantit/ });
});

test("what is rejected is put into no Pod, what is accepted is", async (t) => {
  const kube = await own.kube;
  const team = uniqueName("test");
  await createNamespace(t, team);
  for (const name of ["broken", "undecodable"]) {
    await untilSetCondition(kube, named(name), "Accepted", { status: "False" });
    const created = await createPod(t, kube, `${team}/${name}`, { labels: { app: name } });
    assert.equal(created.metadata.labels?.[injectedLabel], undefined);
  }
  await untilSetCondition(kube, named("fine"), "Accepted", { status: "True" });
  await createInjectedPod(t, kube, `${team}/fine`, { labels: { app: "fine" } });
});

test("a conflict that got in keeps neither from being edited, and gives the loser nothing", async (t) => {
  const kube = await own.kube;
  await untilSetCondition(kube, named("b-second"), "Accepted", { status: "False", reason: "NameConflict" });
  const mended = "registry.example.com/sidecar:2";
  const winner = { spec: { containers: [{ name: "sidecar1", image: mended }] } };
  await untilSetCondition(kube, await changeSidecarSet(kube, named("a-first"), winner), "Accepted", { status: "True" });
  const loser = ["sidecar1", "sidecar2"].map((name) => ({ name, image: mended }));
  const changed = await changeSidecarSet(kube, named("b-second"), { spec: { containers: loser } });
  const team = uniqueName("test");
  await createNamespace(t, team);
  const created = await createInjectedPod(t, kube, `${team}/web`, { labels: { app: "shared" } });
  assert.equal(created.metadata.annotations?.["kruise.io/sidecarset-injected-list"], "a-first,c-third");
  await untilSetCondition(kube, changed, "Accepted", { status: "False", reason: "NameConflict" });

  await t.test("but it does not grow", async () => {
    const other = sidecarSet("d-fourth", { spec: { selector: app, containers: loser.slice(0, 1) } });
    await assert.rejects(
      kube.create<SidecarSet>(sidecarSets, other),
      /sidecar1 is also injected by SidecarSet a-first/,
    );
  });
});

test("of two with the same container the first by name keeps it; the end of one lets the next in", async (t) => {
  const kube = await own.kube;
  await untilSetCondition(kube, named("a-first"), "Accepted", { status: "True" });
  await untilSetCondition(kube, named("b-second"), "Accepted", {
    status: "False",
    reason: "NameConflict",
    message: "container sidecar1 is also injected by SidecarSet a-first",
  });
  // The one before it puts nothing into Pods, so its other container is free.
  await untilSetCondition(kube, named("c-third"), "Accepted", { status: "True" });
  const team = uniqueName("test");
  await createNamespace(t, team);
  const created = await createInjectedPod(t, kube, `${team}/web`, { labels: { app: "shared" } });
  assert.deepEqual(
    created.spec.containers.map(({ name }) => name),
    ["sidecar1", "sidecar2", "app"],
  );

  await kube.delete(sidecarSets, { name: "a-first" });
  await untilSetCondition(kube, named("b-second"), "Accepted", { status: "True" });
  await untilSetCondition(kube, named("c-third"), "Accepted", {
    status: "False",
    message: "container sidecar2 is also injected by SidecarSet b-second",
  });
  await kube.delete(sidecarSets, { name: "b-second" });
  await untilSetCondition(kube, named("c-third"), "Accepted", { status: "True" });
});

test("a mended SidecarSet is judged anew, and a generation is tried once by the controller", async (t) => {
  const kube = await own.kube;
  await untilSetCondition(kube, named("broken"), "Accepted", { status: "False" });
  const spec = { containers: [{ name: "broken", image }] };
  const mended = await changeSidecarSet(kube, named("broken"), { spec });
  await untilSetCondition(kube, mended, "Accepted", { status: "True", generation: 2 });
  const team = uniqueName("test");
  await createNamespace(t, team);
  const before = await trials();
  for (const name of ["one", "two", "three"]) {
    await createInjectedPod(t, kube, `${team}/${name}`, { labels: labelsFor(mended) });
  }
  await untilSetCondition(kube, mended, "Ready", { message: /^3 Pods/ });
  assert.equal(await trials(), before, "Pods and their counting are no reason to try again");
});

test("a source that nobody can look at does not keep the verdict back", async (t) => {
  const kube = await own.kube;
  const source = uniqueName("held");
  const silence = proxy.fault(({ path }) => (path.includes(`/secrets/${source}`) ? { kind: "hold" } : undefined));
  t.after(() => silence.lift());
  const set = await createSidecarSet(t, kube, { pullSecrets: [`default/${source}`] });
  await silence.reached(1);
  assert.equal(conditionIn(set, "PullSecretsReady"), undefined, "nothing is told that is not known");
  silence.lift();
  await untilSetCondition(kube, set, "PullSecretsReady", { reason: "SourceMissing" });
});
