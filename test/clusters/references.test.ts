import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { secrets } from "../../src/api/objects.ts";
import { watchEvents } from "../../src/kube/watch.ts";
import { untilGiven, untilRecord } from "../../src/testing/injection.ts";
import { at } from "../../src/testing/objects.ts";
import { deleteSecret, theSecret } from "../../src/testing/secrets.ts";
import {
  changeSpec,
  copiesIn,
  copyAt,
  recordedIn,
  refer,
  served,
  untilStatus,
} from "../../src/testing/served-clusters.ts";
import {
  createPullSecret,
  literalName,
  type Pod,
  pods,
  pullSecretsOf,
  untilPullSecret,
} from "../../src/testing/sidecars.ts";
import {
  createUserNamespace,
  createUserPod,
  type UserCluster,
  untilCluster,
  userCluster,
} from "../../src/testing/user-clusters.ts";
import { untilGone } from "../../src/testing/wait.ts";

const user = userCluster();

/** What happens to the record and to the copies, in the order in which the API server did it. */
function follow(t: TestContext, { kube }: UserCluster): { readonly goneAtMs: Map<string, number> } {
  const stop = new AbortController();
  const goneAtMs = new Map<string, number>();
  const selection = { labelSelector: "app.kubernetes.io/managed-by=latchkey", sendInitialEvents: true };
  const listen = async () => {
    for await (const { type, object } of watchEvents(kube, secrets, selection, { signal: stop.signal })) {
      const { namespace, name } = object.metadata;
      if (type === "DELETED") goneAtMs.set(`${namespace}/${name}`, performance.now());
    }
  };
  const listening = listen().catch(() => {});
  t.after(async () => {
    stop.abort();
    await listening;
  });
  return { goneAtMs };
}

test("a reference that is removed changes the injection first; its copies go 3 s later, and running Pods stay as they are", async (t) => {
  const serving = await served(t, user, { sources: ["quay", "hub"] });
  const [quay = "", hub = ""] = serving.sources;
  const app = await createUserNamespace(t, user);
  await untilPullSecret(user.kube, copyAt(app, quay));
  await untilGiven(user.kube, app, [literalName(quay), literalName(hub)]);
  const running = await createUserPod(t, user, `${app}/web`);
  assert.deepEqual(pullSecretsOf(running), [literalName(quay), literalName(hub)]);
  const kept = await theSecret(user.kube, copyAt(app, hub));
  const { goneAtMs } = follow(t, user);

  await refer(serving, [hub]);
  await untilRecord(user.kube, "leaves it out", ({ names }) => names === literalName(hub));
  const changedAtMs = performance.now();
  assert.equal(goneAtMs.size, 0, "no copy goes before the injection has changed");
  await untilGiven(user.kube, app, [literalName(hub)]);
  for (const namespace of [app, "kube-system", "default"]) {
    await untilGone(user.kube, secrets, at(copyAt(namespace, quay)));
  }
  for (const atMs of goneAtMs.values()) assert.ok(atMs - changedAtMs > 2_500, `${atMs - changedAtMs} ms later`);
  assert.deepEqual(await theSecret(user.kube, copyAt(app, hub)), kept);
  const { spec, metadata } = (await user.kube.get<Pod>(pods, at(`${app}/web`))) as Pod;
  assert.equal(metadata.uid, running.metadata.uid);
  assert.deepEqual(pullSecretsOf({ spec, metadata }), [literalName(quay), literalName(hub)]);
  await untilCluster(serving.kube, serving.name, "Ready", { status: "True", message: /^1 reference / });
  await theSecret(serving.kube, quay);
});

test("a reference that comes back within 3 s finds its copies", async (t) => {
  const serving = await served(t, user);
  const [quay = ""] = serving.sources;
  const before = await copiesIn(user);
  await refer(serving, []);
  await untilRecord(user.kube, "leaves it out", ({ names }) => names === "");
  await refer(serving, [quay]);
  await untilRecord(user.kube, "has it again", ({ names }) => names === literalName(quay));
  // Longer than they would have had: nothing else tells that they stay.
  await new Promise((resolve) => setTimeout(resolve, 4_000));
  const after = await copiesIn(user);
  assert.deepEqual([...after.values()], [...before.values()], "not even written to");
});

test("copies that outlived their source go 3 s after their reference, not at once", async (t) => {
  const serving = await served(t, user, { spec: { onSourceDeleted: "Retain" } });
  const [quay = ""] = serving.sources;
  await deleteSecret(serving.kube, quay);
  await untilCluster(serving.kube, serving.name, "PullSecretsReady", { status: "False", reason: "SourceMissing" });
  // Longer than a revocation waits.
  await new Promise((resolve) => setTimeout(resolve, 3_500));
  const { goneAtMs } = follow(t, user);
  await refer(serving, []);
  await untilRecord(user.kube, "leaves it out", ({ names }) => names === "");
  const changedAtMs = performance.now();
  await untilGone(user.kube, secrets, at(copyAt("default", quay)));
  for (const atMs of goneAtMs.values()) assert.ok(atMs - changedAtMs > 2_500, `${atMs - changedAtMs} ms later`);
});

test("one reference swapped for another: the new copies are there and named before the old ones go", async (t) => {
  const serving = await served(t, user);
  const { kube, vault, name } = serving;
  const [quay = ""] = serving.sources;
  const hub = `${vault}/hub`;
  await createPullSecret(kube, hub, "two");
  const { goneAtMs } = follow(t, user);
  await refer(serving, [hub]);
  await untilPullSecret(user.kube, copyAt("kube-system", hub), "two");
  await untilRecord(user.kube, "names the new one", ({ names }) => names === literalName(hub));
  assert.equal(goneAtMs.size, 0);
  await untilGiven(user.kube, "default", [literalName(hub)]);
  await untilGone(user.kube, secrets, at(copyAt("default", quay)));
  await untilGone(user.kube, secrets, at(copyAt("kube-system", quay)));
  const status = await untilStatus(
    { kube, name },
    "tells of the new one",
    ({ imagePullSecrets }) => imagePullSecrets?.[0]?.name === "hub",
  );
  assert.equal(status.imagePullSecrets?.length, 1);
});

test("sixteen references, in their order", async (t) => {
  const names = Array.from({ length: 16 }, (_, index) => `registry-${15 - index}`);
  const serving = await served(t, user, { sources: names });
  const literals = serving.sources.map(literalName);
  for (const source of serving.sources) await untilPullSecret(user.kube, copyAt("kube-public", source));
  assert.deepEqual(await recordedIn(user), { names: literals.join("\n") });
  await untilGiven(user.kube, "default", literals);
  const app = await createUserNamespace(t, user);
  await untilGiven(user.kube, app, literals);
  for (const source of serving.sources) await untilPullSecret(user.kube, copyAt(app, source));
  await untilCluster(serving.kube, serving.name, "Ready", { message: "16 references in 5/5 namespaces, mode Policy" });
});

test("nothing to copy is nothing wrong", async (t) => {
  const serving = await served(t, user, { spec: { disableDefaultImagePullSecrets: true } });
  const { kube, name } = serving;
  const [quay = ""] = serving.sources;
  await changeSpec(serving, { imagePullSecrets: [] });
  await untilCluster(kube, name, "PullSecretsReady", { status: "True", reason: "NothingToCopy" });
  const ready = await untilCluster(kube, name, "Ready", {
    status: "True",
    reason: "Served",
    message: /^0 references in /,
  });
  assert.equal(ready.status?.credentialsFrom, "None");
  assert.deepEqual(ready.status?.imagePullSecrets ?? [], []);
  await untilGiven(user.kube, "default", []);
  await untilGone(user.kube, secrets, at(copyAt("default", quay)));
  await theSecret(kube, quay);
});
