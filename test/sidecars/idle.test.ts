import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { namespaces as namespaceKind, secrets } from "../../src/api/objects.ts";
import type { Kube } from "../../src/kube/client.ts";
import { createNamespace, uniqueName } from "../../src/testing/cluster.ts";
import { at } from "../../src/testing/objects.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import { deleteSecret, getSecret, setValues, theSecret } from "../../src/testing/secrets.ts";
import {
  createInjectedPod,
  createPod,
  createPullSecret,
  createSidecarSet,
  dockerConfig,
  labelsFor,
  literalName,
  pod,
  pods,
  setPodPhase,
  sidecarSets,
  untilPullSecret,
  untilSetCondition,
} from "../../src/testing/sidecars.ts";
import { untilGone } from "../../src/testing/wait.ts";
import type { Operator } from "../../tools/local/operator.ts";

const idleMs = 2_000;
const args = [`--sidecars-idle-copies=${idleMs}ms`];
let operator: Operator;

const own = ownPlane(async (plane) => {
  operator = await plane.operator({ args });
});

/** A Secret with a copy in one namespace, where a Pod uses it. */
async function served(t: TestContext) {
  const kube = await own.kube;
  const [vault, team] = [uniqueName("vault"), uniqueName("team")];
  for (const name of [vault, team]) await createNamespace(t, name);
  const source = `${vault}/pull`;
  const copy = `${team}/${literalName(source)}`;
  await createPullSecret(kube, source);
  const set = await createSidecarSet(t, kube, { pullSecrets: [source] });
  await createInjectedPod(t, kube, `${team}/web`, { labels: labelsFor(set) });
  await untilPullSecret(kube, copy);
  await untilSetCondition(kube, set, "PullSecretsReady", { message: "1 copy of 1 Secret" });
  return { kube, vault, team, source, copy, set };
}

async function untilGoneAfter(kube: Kube, copy: string, sinceMs: number): Promise<void> {
  await untilGone(kube, secrets, at(copy));
  assert.ok(performance.now() - sinceMs > idleMs - 200, "not before its time");
}

test("after its last Pod a copy stays for a while, equal to its source, and then goes", async (t) => {
  const { kube, source, copy, team, set } = await served(t);
  await kube.delete(pods, at(`${team}/web`));
  const sinceMs = performance.now();
  await setValues(kube, source, dockerConfig("robot", "second"));
  await untilPullSecret(kube, copy, "second");
  await untilGoneAfter(kube, copy, sinceMs);
  await untilSetCondition(kube, set, "Ready", { message: "0 Pods in 0 namespaces, 0 copies" });
  await createInjectedPod(t, kube, `${team}/later`, { labels: labelsFor(set) });
  await untilPullSecret(kube, copy, "second");
});

test("a finished Pod needs no copy", async (t) => {
  const { kube, copy, team } = await served(t);
  await setPodPhase(kube, `${team}/web`, "Succeeded");
  await untilGoneAfter(kube, copy, performance.now());
});

test("a Deployment between two Pods keeps its copy", async (t) => {
  const { kube, copy, team, set } = await served(t);
  const { metadata } = await theSecret(kube, copy);
  await kube.delete(pods, at(`${team}/web`));
  await createInjectedPod(t, kube, `${team}/next`, { labels: labelsFor(set) });
  const other = await served(t);
  await kube.delete(pods, at(`${other.team}/web`));
  await untilGone(kube, secrets, at(other.copy));
  assert.equal((await theSecret(kube, copy)).metadata.uid, metadata.uid);
});

test("a namespace that opts out loses its copy as if its Pods had ended, and gets it back when it opts in", async (t) => {
  const { kube, copy, team, set } = await served(t);
  const label = (value: string | null) => ({ metadata: { labels: { "latchkey.dev/inject": value } } });
  await kube.patch(namespaceKind, { name: team }, { type: "merge", body: label("false") });
  await untilGoneAfter(kube, copy, performance.now());
  await kube.patch(namespaceKind, { name: team }, { type: "merge", body: label(null) });
  await untilPullSecret(kube, copy);
  await untilSetCondition(kube, set, "PullSecretsReady", { message: "1 copy of 1 Secret" });
});

test("a Pod of a user that names the copy keeps it, idle as it is", async (t) => {
  const { kube, copy, team } = await served(t);
  await createPod(t, kube, `${team}/theirs`, { spec: { imagePullSecrets: [{ name: at(copy).name }] } });
  await kube.delete(pods, at(`${team}/web`));
  const other = await served(t);
  await kube.delete(pods, at(`${other.team}/web`));
  await untilGone(kube, secrets, at(other.copy));
  assert.ok(await getSecret(kube, copy));
  await kube.delete(pods, at(`${team}/theirs`));
  await untilGone(kube, secrets, at(copy));
});

test("a Pod that is refused after its review leaves a copy that is collected", async (t) => {
  const { kube, source, set } = await served(t);
  const fresh = uniqueName("fresh");
  await createNamespace(t, fresh);
  const copy = `${fresh}/${literalName(source)}`;
  // Judged by the API server after all webhooks: an app without an image.
  const spec = { containers: [{ name: "app", image: "" }] };
  for (const deadline = performance.now() + 60_000; !(await getSecret(kube, copy)); ) {
    await assert.rejects(kube.create(pods, pod(`${fresh}/web`, { labels: labelsFor(set), spec })));
    assert.ok(performance.now() < deadline, "no copy was made for the Pod");
  }
  await untilGone(kube, secrets, at(copy));
});

test("what happens while nobody is there is made up for", async (t) => {
  const all = [await served(t), await served(t), await served(t), await served(t)] as const;
  const [deleted, revoked, rotated, idle] = all;
  const { kube } = deleted;
  await operator.stop();
  await kube.delete(sidecarSets, { name: deleted.set.metadata.name });
  await kube.delete(pods, at(`${deleted.team}/web`));
  await deleteSecret(kube, revoked.source);
  await setValues(kube, rotated.source, dockerConfig("robot", "second"));
  await kube.delete(pods, at(`${idle.team}/web`));
  const uid = (await theSecret(kube, rotated.copy)).metadata.uid;
  operator = await own.operator({ args });

  await untilGone(kube, secrets, at(deleted.copy));
  await untilGone(kube, secrets, at(revoked.copy));
  await untilSetCondition(kube, revoked.set, "PullSecretsReady", { reason: "SourceMissing" });
  assert.equal((await untilPullSecret(kube, rotated.copy, "second")).metadata.uid, uid);
  await untilGone(kube, secrets, at(idle.copy));
});
