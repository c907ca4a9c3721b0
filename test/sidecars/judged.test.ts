import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { ApiProxy } from "../../src/testing/api-proxy.ts";
import { removeQuietly, testNamespaces, uniqueName } from "../../src/testing/cluster.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import {
  changeSidecarSet,
  createInjectedPod,
  labelsFor,
  type Pod,
  type SidecarSet,
  sidecarSet,
  sidecarSets,
  untilSetCondition,
} from "../../src/testing/sidecars.ts";

const own = ownPlane();

/** What the controller finds out is not written down. */
const refuseStatus = (proxy: ApiProxy) =>
  proxy.fault(({ path }) => (/\/sidecarsets\/[^/]+\/status/.test(path) ? forbidden : undefined));
const forbidden = { kind: "answer", status: 403, reason: "Forbidden" } as const;

const badContainer = (name: string) => ({
  name,
  image: "registry.example.com/sidecar:1",
  ports: [{ containerPort: 0 }],
});

/** What the API server does not hear at once it passes over: then nobody has seen a SidecarSet. */
async function untilAdmissionIsAsked(): Promise<void> {
  const kube = await own.kube;
  const name = uniqueName("probe");
  const probe = sidecarSet(name, { spec: { containers: [badContainer(name)] } });
  for (const deadline = performance.now() + 60_000; performance.now() < deadline; await sleep(50)) {
    const isStored = await kube.create(sidecarSets, probe, { dryRun: true }).then(
      () => true,
      () => false,
    );
    if (!isStored) return;
  }
  throw new Error("admission is never asked");
}

const containersOf = ({ spec }: Pod) => spec.containers.map(({ name }) => name);

test("what admission has let pass is injected before any status says so", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [team] = namespaces;
  const proxy = await own.proxy();
  const operator = await own.operator({ through: proxy });
  await untilAdmissionIsAsked();
  const refusal = refuseStatus(proxy);
  t.after(() => refusal.lift());
  const name = uniqueName("set");
  const set = sidecarSet(name);
  await create(t, set);
  const created = await createInjectedPod(t, kube, `${team}/web`, { labels: labelsFor(set) });
  assert.deepEqual(containersOf(created), [name, "app"]);
  const now = await kube.get<SidecarSet>(sidecarSets, { name });
  assert.equal(now?.status, undefined);

  await t.test("the next generation as well", async () => {
    const image = "registry.example.com/sidecar:2";
    await changeSidecarSet(kube, { metadata: { name } }, { spec: { containers: [{ name, image }] } });
    for (let round = 0; ; round++) {
      const next = await createInjectedPod(t, kube, `${team}/next-${round}`, { labels: labelsFor(set) });
      if (next.spec.containers[0]?.image === image) break;
    }
  });
  refusal.lift();
  await operator.stop();
});

async function create(t: TestContext, ...drafts: readonly ReturnType<typeof sidecarSet>[]) {
  const kube = await own.kube;
  return Promise.all(
    drafts.map((draft) => {
      t.after(() => removeQuietly(() => kube.delete(sidecarSets, { name: draft.metadata.name ?? "" })));
      return kube.create<SidecarSet>(sidecarSets, draft);
    }),
  );
}

test("what got in while nobody looked is injected once the controller has judged it", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [team] = namespaces;
  const name = uniqueName("set");
  const selector = { matchLabels: { app: name } };
  const bad = sidecarSet(`${name}-bad`, { spec: { selector, containers: [badContainer(`${name}-bad`)] } });
  await create(t, sidecarSet(name), bad);
  const proxy = await own.proxy();
  const refusal = refuseStatus(proxy);
  t.after(() => refusal.lift());
  const operator = await own.operator({ through: proxy });
  await untilAdmissionIsAsked();
  // Admission lets it pass, and that is enough.
  const [marker] = await create(t, sidecarSet(uniqueName("marker"), { spec: { selector } }));
  const labels = { app: name };
  const early = await createInjectedPod(t, kube, `${team}/early`, { labels });
  assert.deepEqual(containersOf(early), [marker?.metadata.name, "app"]);

  refusal.lift();
  await untilSetCondition(kube, { metadata: { name } }, "Accepted", { status: "True" });
  await untilSetCondition(kube, { metadata: { name: `${name}-bad` } }, "Accepted", { status: "False" });
  const late = await createInjectedPod(t, kube, `${team}/late`, { labels });
  assert.deepEqual(containersOf(late).sort(), [name, marker?.metadata.name, "app"].sort());

  await t.test("one that is rejected can still be paused, but not spread", async () => {
    const rejected = { metadata: { name: `${name}-bad` } };
    await changeSidecarSet(kube, rejected, { spec: { injectionStrategy: { paused: true } } });
    await assert.rejects(
      changeSidecarSet(kube, rejected, { spec: { selector: { matchLabels: { tier: "web" } } } }),
      /spec\.containers\[0\]\.ports/,
    );
  });
  await operator.stop();
});
